//! `windlass spool printer`, `class` and `move`: changes that an administrator makes while a
//! spool runs. They also work with CUPS.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_spool::{OnError, OnPartial, OnRefusal};
use windlass_wire::ipp::{
    Attribute, CharKind, Group, GroupTag, Message, Operation, OutOfBand, PrinterState, Status,
    Value,
};
use windlass_wire::status_source::{StatusSource, StatusSourceError};

use super::ServerArgs;
use super::done::{ControlReport, with_each};
use super::server::Server;
use crate::arguments::one_of;
use crate::commands::spool::serve::{DevicePatience, job_value};

/// Fates of the jobs of a removed printer.
const LEFTOVERS: [(&str, &str, &str); 2] = [
    ("keep", "Keep them until they are moved, or a printer of that name is added again", "keep"),
    ("cancel", "Cancel them", "cancel"),
];

/// Ability of a printer.
#[derive(Clone, Copy, Debug)]
pub enum PrinterAbility {
    /// The printer has it, or has it not.
    Is(bool),
    /// The device is asked.
    Ask,
}

const WHETHER: [(&str, &str, PrinterAbility); 3] = [
    ("yes", "The printer can", PrinterAbility::Is(true)),
    ("no", "The printer cannot", PrinterAbility::Is(false)),
    ("ask", "Ask the device by IPP; a device without IPP counts as no", PrinterAbility::Ask),
];

/// The arguments of `windlass spool move`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool move 17 18 lab            move jobs 17 and 18 to the printer lab
  windlass spool move office lab           move all jobs of office to lab")]
pub struct MoveArgs {
    /// Numbers of jobs, or names of printers whose jobs are moved
    #[arg(value_name = "JOB|PRINTER", required = true, num_args = 1..)]
    pub what: Vec<String>,

    /// Printer or class that gets the jobs
    #[arg(value_name = "DESTINATION", required = true)]
    pub to: String,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Action on a printer or a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Add one.
    Add,
    /// Change its settings.
    Set,
    /// Remove it.
    Remove,
    /// Make it the default printer.
    Default,
}

const OF_PRINTERS: [(&str, &str, Action); 4] = [
    ("add", "Add a printer: NAME DEVICE", Action::Add),
    ("set", "Change a printer: NAME and the settings to change", Action::Set),
    ("remove", "Remove printers", Action::Remove),
    ("default", "Choose the default printer", Action::Default),
];

const OF_CLASSES: [(&str, &str, Action); 3] = [
    ("add", "Add a class: NAME MEMBER…", Action::Add),
    ("set", "Change a class: NAME, settings, and the new members if they change", Action::Set),
    ("remove", "Remove classes", Action::Remove),
];

/// The arguments of `windlass spool printer`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool printer add lab socket://192.0.2.9 --raw 127.0.0.1:9101
                                           add a printer, with a port for raw data
  windlass spool printer set lab --device ipp://192.0.2.9/ipp/print --location 2.14
                                           print to it by IPP, and note its location
  windlass spool printer remove lab --move-to office
                                           remove it, and move its jobs to office
  windlass spool printer default office    make office the default printer

A change survives restarts. It holds until the server's settings of that printer change. Devices
that are files or commands need allow-devices in the server's settings.")]
pub struct ChangePrinterArgs {
    /// Action
    #[arg(value_name = "ACTION", value_parser = one_of(&OF_PRINTERS))]
    pub action: Action,

    /// Name of the printer; add: its name and device; remove: one or more names
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// Device: socket:, lpd:, ipp:, ipps: or drop; file: and exec: if the server allows them
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,

    /// Its other settings.
    #[command(flatten)]
    pub told: QueueSettings,

    /// Fate of its jobs.
    #[command(flatten)]
    pub leftover: LeftoverArgs,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of `windlass spool class`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool class add floor2 left right
                                           add a class; its jobs go to idle members in turn
  windlass spool class set floor2 left right spare
                                           add the member spare
  windlass spool class remove floor2       remove it; its jobs are kept until they are moved")]
pub struct ChangeClassArgs {
    /// Action
    #[arg(value_name = "ACTION", value_parser = one_of(&OF_CLASSES))]
    pub action: Action,

    /// Name of the class, followed by its members; remove: one or more names
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// Its other settings.
    #[command(flatten)]
    pub told: QueueSettings,

    /// Fate of its jobs.
    #[command(flatten)]
    pub leftover: LeftoverArgs,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Fate of the jobs of a removed printer or class.
#[derive(Args, Clone, Debug)]
pub struct LeftoverArgs {
    /// Action on the jobs of a removed printer or class [default: keep]
    #[arg(long, value_name = "WHAT", value_parser = one_of(&LEFTOVERS))]
    #[arg(conflicts_with = "move_to")]
    pub jobs: Option<&'static str>,

    /// Move the jobs of a removed printer or class to this printer
    #[arg(long, value_name = "PRINTER")]
    pub move_to: Option<String>,
}

/// Settings of a printer or a class beside its device or members.
#[derive(Args, Clone, Debug, Default)]
pub struct QueueSettings {
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub info: Option<String>,

    /// Location
    #[arg(long, value_name = "TEXT")]
    pub location: Option<String>,

    /// Make and model, for clients without a driver
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,

    /// Accepted media type of documents; may be given again
    #[arg(long, value_name = "TYPE")]
    pub format: Vec<String>,

    /// Action when the device fails: retry-job, abort-job or stop-printer
    #[arg(long, value_name = "POLICY", value_parser = crate::commands::spool::serve::on_error)]
    pub on_error: Option<OnError>,

    /// Action when the device refuses a job for good: abort-job or hold-job
    #[arg(long, value_name = "POLICY", value_parser = crate::commands::spool::serve::on_refusal)]
    pub on_refusal: Option<OnRefusal>,

    /// Action when the device may have printed a part of the job: retry-job, hold-job or abort-job
    #[arg(long, value_name = "POLICY", value_parser = crate::commands::spool::serve::on_partial)]
    pub on_partial: Option<OnPartial>,

    /// Reset the connection to a device that answers TCP but makes no progress for this long; none
    /// waits without limit. Also applies to the current job
    #[arg(long, value_name = "TIME|none")]
    #[arg(value_parser = crate::commands::spool::serve::device_patience)]
    pub device_patience: Option<DevicePatience>,

    /// Give up connecting to the device after this long
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub contact: Option<Span>,

    /// Source of the device's state during a job: snmp, snmp:COMMUNITY, snmp:COMMUNITY@PORT,
    /// pjl (socket: only), or none; for devices of socket: and lpd:
    #[arg(long, value_name = "SOURCE", value_parser = status_source)]
    pub status: Option<DeviceStatus>,

    /// Let only this user print, or all users; may be given again
    #[arg(long, value_name = "USER", conflicts_with = "deny_user")]
    pub allow_user: Vec<String>,

    /// Forbid this user to print, or none; may be given again
    #[arg(long, value_name = "USER")]
    pub deny_user: Vec<String>,

    /// Default attribute of jobs, such as sides=two-sided-long-edge; NAME= removes the default;
    /// may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = a_default)]
    pub default: Vec<(String, String)>,

    /// Maximum number of unfinished jobs; 0 means no limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(i32::MAX)))]
    pub max_jobs: Option<u32>,

    /// Listen here for raw data for this printer; may be given again
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub raw: Vec<SocketAddr>,

    /// Colour printing: yes, no, or ask, which asks the device by IPP
    #[arg(long, value_name = "WHETHER", value_parser = one_of(&WHETHER))]
    pub colour: Option<PrinterAbility>,

    /// Two-sided printing: yes, no, or ask
    #[arg(long, value_name = "WHETHER", value_parser = one_of(&WHETHER))]
    pub duplex: Option<PrinterAbility>,

    /// Stop the printer: it starts no job
    #[arg(long)]
    pub stopped: bool,
}

/// The source of a device's state, or none.
#[derive(Clone, Debug)]
pub struct DeviceStatus(Option<StatusSource>);

fn status_source(text: &str) -> Result<DeviceStatus, String> {
    match text {
        "none" => Ok(DeviceStatus(None)),
        text => text
            .parse()
            .map(|source| DeviceStatus(Some(source)))
            .map_err(|error: StatusSourceError| format!("{error}; or none")),
    }
}

fn a_default(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("write NAME=VALUE, such as sides=two-sided-long-edge")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl QueueSettings {
    /// Returns the settings as attributes of a printer.
    fn attributes(&self) -> Group {
        let mut group = Group::new(GroupTag::PRINTER);
        let texts = [
            ("printer-info", &self.info),
            ("printer-location", &self.location),
            ("printer-make-and-model", &self.model),
        ];
        for (name, said) in texts {
            if let Some(said) = said {
                group = group.with(name, Value::chars(CharKind::Text, said));
            }
        }
        let mut several = |name: &str, kind, said: Vec<String>| {
            let values: Vec<Value> = said.iter().map(|one| Value::chars(kind, one)).collect();
            if !values.is_empty() {
                group.attributes.push(Attribute { name: name.to_owned(), values });
            }
        };
        several("document-format-supported", CharKind::MediaType, self.format.clone());
        let raw = self.raw.iter().map(ToString::to_string).collect();
        several("windlass-raw", CharKind::Text, raw);
        several("requesting-user-name-allowed", CharKind::Name, self.allow_user.clone());
        several("requesting-user-name-denied", CharKind::Name, self.deny_user.clone());
        for (name, word) in &self.default {
            let value = match word.as_str() {
                "" => Value::OutOfBand(OutOfBand::NoValue),
                word => job_value(name, word),
            };
            group = group.with(&format!("{name}-default"), value);
        }
        if let Some(on_error) = self.on_error {
            let word = Value::chars(CharKind::Name, on_error.keyword());
            group = group.with("printer-error-policy", word);
        }
        if let Some(on_refusal) = self.on_refusal {
            group = group.with("windlass-on-refusal", Value::keyword(on_refusal.keyword()));
        }
        if let Some(on_partial) = self.on_partial {
            group = group.with("windlass-on-partial", Value::keyword(on_partial.keyword()));
        }
        let millis = |time: Duration| {
            Value::Integer(i32::try_from(time.as_millis()).unwrap_or(i32::MAX).max(1))
        };
        if let Some(DevicePatience(patience)) = self.device_patience {
            let value = patience.map_or(Value::OutOfBand(OutOfBand::NoValue), millis);
            group = group.with("windlass-patience", value);
        }
        if let Some(contact) = self.contact {
            group = group.with("windlass-contact", millis(contact.to_duration()));
        }
        if let Some(DeviceStatus(status)) = &self.status {
            let value = match status {
                Some(status) => Value::chars(CharKind::Text, status.to_string()),
                None => Value::OutOfBand(OutOfBand::NoValue),
            };
            group = group.with("windlass-status", value);
        }
        for (name, said) in [("windlass-colour", self.colour), ("windlass-duplex", self.duplex)] {
            if let Some(said) = said {
                let value = match said {
                    PrinterAbility::Is(yes) => Value::Boolean(yes),
                    PrinterAbility::Ask => Value::OutOfBand(OutOfBand::NoValue),
                };
                group = group.with(name, value);
            }
        }
        if let Some(most) = self.max_jobs {
            let most = i32::try_from(most).unwrap_or(i32::MAX);
            group = group.with("windlass-max-jobs", Value::Integer(most));
        }
        group
    }

    fn is_empty(&self) -> bool {
        self.attributes().attributes.is_empty() && !self.stopped
    }
}

/// Refuses settings that do not fit the action.
fn fitting(
    action: Action,
    names: &[String],
    told: bool,
    leftover: &LeftoverArgs,
) -> Result<(), Failure> {
    let no = |wrong: &str| {
        Err(Failure::usage(format!("cannot change {:?}", names[0]), wrong.to_owned())
            .advise("--help has examples."))
    };
    let has_leftover = leftover.jobs.is_some() || leftover.move_to.is_some();
    match action {
        Action::Add | Action::Set if has_leftover => no("--jobs and --move-to go with remove only"),
        Action::Set if names.len() == 1 && !told => no("there is nothing to change"),
        Action::Remove | Action::Default if told => no("remove and default take no settings"),
        Action::Default if names.len() > 1 || has_leftover => {
            no("default takes one printer and no other option")
        }
        _ => Ok(()),
    }
}

/// Adds, changes or removes a printer.
pub(super) fn printer(args: &ChangePrinterArgs) -> Result<ControlReport, Failure> {
    let server = &Server::new(&args.server)?;
    let ChangePrinterArgs { action, names, device, told, leftover, .. } = args;
    fitting(*action, names, device.is_some() || !told.is_empty(), leftover)?;
    let operation = Operation::CUPS_ADD_MODIFY_PRINTER;
    let with = |group: Group, device: &Option<String>| match device {
        Some(device) => group.with("device-uri", Value::chars(CharKind::Uri, device)),
        None => group,
    };
    let uri = server.printer(&names[0]);
    let named = (names[0].as_str(), uri.as_str());
    match action {
        Action::Add => {
            let device = match (&names[1..], device) {
                ([], Some(device)) | ([device], None) => Some(device.clone()),
                _ => {
                    let doing = format!("cannot add the printer {:?}", names[0]);
                    return Err(Failure::usage(doing, "a printer has exactly one device")
                        .advise("Write it after the name, such as socket://HOST."));
                }
            };
            let group = begun(with(told.attributes(), &device), told.stopped);
            put(server, operation, "printers", named, &group, true)
        }
        Action::Set if names.len() > 1 => {
            let doing = format!("cannot change the printer {:?}", names[0]);
            Err(Failure::usage(doing, format!("{:?} is one argument too many", names[1]))
                .advise("Give the device with --device."))
        }
        Action::Set => {
            put(server, operation, "printers", named, &with(changed(told), device), false)
        }
        Action::Remove => {
            let operation = Operation::CUPS_DELETE_PRINTER;
            remove(server, operation, "printers", (names, leftover), Server::printer)
        }
        Action::Default => {
            let doing = format!("cannot choose the default of {}", server.authority());
            let report = ControlReport::new(server, "made the default", "printers");
            with_each(server, report, doing, [names[0].clone()], |asker, name| {
                asker.request(Operation::CUPS_SET_DEFAULT, &server.printer(name))
            })
        }
    }
}

/// Adds, changes or removes a class.
pub(super) fn class(args: &ChangeClassArgs) -> Result<ControlReport, Failure> {
    let server = &Server::new(&args.server)?;
    let ChangeClassArgs { action, names, told, leftover, .. } = args;
    fitting(*action, names, !told.is_empty(), leftover)?;
    let operation = Operation::CUPS_ADD_MODIFY_CLASS;
    let with = |mut group: Group| {
        let members = names[1..].iter();
        let values: Vec<Value> =
            members.map(|name| Value::chars(CharKind::Uri, server.printer(name))).collect();
        if !values.is_empty() {
            group.attributes.push(Attribute { name: "member-uris".to_owned(), values });
        }
        group
    };
    let uri = server.class(&names[0]);
    let named = (names[0].as_str(), uri.as_str());
    match action {
        Action::Add => {
            let group = begun(with(told.attributes()), told.stopped);
            put(server, operation, "classes", named, &group, true)
        }
        Action::Set => put(server, operation, "classes", named, &with(changed(told)), false),
        // A class is no default here; its word is not among those that are taken.
        Action::Remove | Action::Default => {
            let operation = Operation::CUPS_DELETE_CLASS;
            remove(server, operation, "classes", (names, leftover), Server::class)
        }
    }
}

/// Returns the group of a new printer: accepting, and idle unless it is to be stopped. Without
/// these attributes a server would leave it stopped.
fn begun(group: Group, is_stopped: bool) -> Group {
    let state = if is_stopped { PrinterState::Stopped } else { PrinterState::Idle };
    group
        .with("printer-state", Value::Enum(state.number()))
        .with("printer-is-accepting-jobs", Value::Boolean(true))
}

/// Returns the group of a changed printer: its state stays unless it is to be stopped.
fn changed(told: &QueueSettings) -> Group {
    let group = told.attributes();
    if told.stopped {
        group.with("printer-state", Value::Enum(PrinterState::Stopped.number()))
    } else {
        group
    }
}

/// Adds or changes a printer or a class. CUPS has one operation for both, so the server is first
/// asked if it exists.
fn put(
    server: &Server,
    operation: Operation,
    of: &'static str,
    (name, uri): (&str, &str),
    group: &Group,
    is_new: bool,
) -> Result<ControlReport, Failure> {
    let (deed, verb) = if is_new { ("added", "add") } else { ("set", "change") };
    let doing = format!("cannot {verb} {name:?} on {}", server.authority());
    let is_there = server.asking(|asker| {
        let mut request = asker.request(Operation::GET_PRINTER_ATTRIBUTES, uri);
        request.want(&["printer-name"]);
        match asker.ask(&request) {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(Status::NOT_FOUND) => Ok(false),
            Err(error) => Err(super::failed(doing.clone(), &error)),
        }
    })?;
    if is_there == is_new {
        let (wrong, advice) = if is_new {
            ("the name is already in use", "Change it with set, or give another name.")
        } else {
            ("the name does not exist", "Add it with add; windlass spool printers lists all names.")
        };
        return Err(Failure::new(doing, wrong).advise(advice));
    }
    let report = ControlReport::new(server, deed, of);
    with_each(server, report, doing, [name.to_owned()], |asker, _| {
        let mut request: Message = asker.request(operation, uri);
        request.groups.push(group.clone());
        request
    })
}

fn remove(
    server: &Server,
    operation: Operation,
    of: &'static str,
    (names, leftover): (&[String], &LeftoverArgs),
    uri: impl Fn(&Server, &str) -> String,
) -> Result<ControlReport, Failure> {
    let doing = format!("cannot remove {of} of {}", server.authority());
    let report = ControlReport::new(server, "removed", of);
    with_each(server, report, doing, names.to_vec(), |asker, name| {
        let mut request = asker.request(operation, &uri(server, name));
        match &leftover.move_to {
            Some(to) => {
                let to = Value::chars(CharKind::Uri, server.printer(to));
                request.add("job-printer-uri", to);
            }
            None => {
                let jobs = Value::keyword(leftover.jobs.unwrap_or("keep"));
                request.add("windlass-jobs", jobs);
            }
        }
        request
    })
}

/// Moves jobs to another printer.
pub(super) fn move_jobs(args: &MoveArgs) -> Result<ControlReport, Failure> {
    let server = &Server::new(&args.server)?;
    let doing = format!("cannot move jobs to {:?} on {}", args.to, server.authority());
    let to = server.printer(&args.to);
    let are_jobs = args.what.iter().all(|one| one.parse::<u32>().is_ok());
    let of = if are_jobs { "jobs" } else { "printers" };
    let report = ControlReport::new(server, "moved", of);
    with_each(server, report, doing, args.what.clone(), |asker, what| {
        let operation = Operation::CUPS_MOVE_JOB;
        let mut request = match what.parse::<u32>() {
            Ok(_) => asker.request_of_job(operation, &server.job(what)),
            Err(_) => asker.request(operation, &server.printer(what)),
        };
        let group = Group::new(GroupTag::JOB);
        request.groups.push(group.with("job-printer-uri", Value::chars(CharKind::Uri, &to)));
        request
    })
}
