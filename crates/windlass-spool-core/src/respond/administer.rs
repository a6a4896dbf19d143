//! What an administrator changes while the server runs: printers and classes that come, go
//! and are told other things, the default, and jobs that are moved. These are CUPS's
//! operations, as `lpadmin` and `lpmove` ask for them.

use std::net::SocketAddr;
use std::time::Duration;

use windlass_wire::escape;
use windlass_wire::ipp::server::No;
use windlass_wire::ipp::{Attribute, GroupTag, Message, PrinterState, Status, Value};
use windlass_wire::status_source::StatusSourceError;

use super::operations::Asked;
use crate::device::Device;
use crate::formats::SUPPORTED;
use crate::job::{JobId, Stored};
use crate::printer::{OnError, OnPartial, OnRefusal, PrinterSettings, is_printer_name};
use crate::table::{Leftover, Rules};
use crate::users::Users;

/// The most that is kept of a text about a printer: so many octets have the attributes
/// (RFC 8011, sections 5.4.5 to 5.4.9).
const MAX_TEXT: usize = 127;

/// The most kinds of documents that a printer is told to take.
const MAX_FORMATS: usize = 100;

/// The ports for raw data that a request gives a printer.
///
/// # Errors
/// Where one of them is no address.
pub fn raw_ports(request: &Message) -> Result<Option<Vec<SocketAddr>>, No> {
    let group = request.group(GroupTag::PRINTER);
    let Some(said) = group.and_then(|group| group.attribute("windlass-raw")) else {
        return Ok(None);
    };
    let address = |value: &Value| value.text().and_then(|text| text.parse().ok());
    let all: Option<Vec<SocketAddr>> = match said.values.first() {
        // An empty word takes them all away.
        Some(value) if value.text().is_some_and(|text| text.is_empty()) => Some(Vec::new()),
        _ => said.values.iter().map(address).collect(),
    };
    let why = "windlass-raw is an address and a port, as 127.0.0.1:9100";
    all.map(Some).ok_or_else(|| No::of(Status::NOT_SUPPORTED, why, Some(said)))
}

/// What a printer is to be, as far as a request says it, beside its settings.
#[derive(Default)]
struct State {
    is_stopped: Option<bool>,
    is_accepting: Option<bool>,
    why: Option<String>,
}

impl<D: Stored> Asked<'_, D> {
    /// The name in the path of a printer's URI.
    fn named(&self) -> Result<String, No> {
        let uri = self.request.said("printer-uri");
        let uri =
            uri.ok_or_else(|| No::new(Status::BAD_REQUEST, "the request has no printer-uri"))?;
        let name = uri.rsplit('/').next().map(escape::undone).unwrap_or_default();
        let has_path = ["/printers/", "/classes/"].iter().any(|path| uri.contains(path));
        if has_path && is_printer_name(&name) {
            return Ok(name);
        }
        let why =
            format!("{name:?} is no name of a printer: it has no spaces, slashes or dots first");
        Err(No::new(Status::NOT_POSSIBLE, why))
    }

    /// Adds a printer, or changes one. All is looked at before anything is done.
    pub(super) fn add_or_modify(&mut self, is_class: bool) -> Result<(), No> {
        let now = self.context.now;
        let name = self.named()?;
        let old = self.table.place(&name).ok().map(|place| &self.table.printers()[place]);
        let kind = |is_class| if is_class { "class" } else { "printer" };
        if let Some(old) = old.filter(|old| old.is_class() != is_class) {
            let why = format!("{name:?} is a {}", kind(old.is_class()));
            return Err(No::new(Status::NOT_POSSIBLE, why));
        }
        let is_new = old.is_none();
        let mut settings = old.map_or_else(
            || match is_class {
                true => PrinterSettings::class(name.clone(), Vec::new()),
                false => PrinterSettings::new(name.clone(), Device::Drop),
            },
            |old| old.settings.clone(),
        );
        let mut state = State::default();
        let mut has_device = false;
        let groups = self.request.groups.iter().filter(|group| group.tag == GroupTag::PRINTER);
        // CUPS's clients say a driver of the request, and not of the printer.
        let driver = self.request.asked("ppd-name");
        for said in groups.flat_map(|group| &group.attributes).chain(driver) {
            has_device |= said.name == "device-uri";
            self.take(said, &mut settings, &mut state)?;
        }
        let refused = |why: String| Err(No::new(Status::NOT_POSSIBLE, why));
        match &settings.members {
            Some(members) if members.is_empty() => {
                return refused(format!(
                    "class {name:?} has no members: name printers that there are"
                ));
            }
            None if is_new && !has_device => {
                return refused(format!("printer {name:?} is new: say its device-uri"));
            }
            _ => {}
        }
        if let Err(error) = settings.check_status() {
            // Another device may have no such source; whoever asks for it is told.
            let group = self.request.group(GroupTag::PRINTER);
            if let Some(said) = group.and_then(|group| group.attribute("windlass-status")) {
                return Err(No::of(Status::NOT_SUPPORTED, error.to_string(), Some(said)));
            }
            settings.status = None;
        }
        if let Some(raw) = raw_ports(self.request)? {
            settings.raw = raw;
        }
        // CUPS begins a new one so, until it is told otherwise.
        let (stopped, accepts) = if is_new { (Some(true), Some(false)) } else { (None, None) };
        settings.is_stopped = state.is_stopped.or(stopped).unwrap_or(settings.is_stopped);
        let place = self.table.set_printer(settings, now)?;
        match state.is_stopped.or(stopped) {
            Some(true) => {
                let why = state.why.as_deref().unwrap_or("Paused");
                self.table.stop(place, why, now);
            }
            Some(false) => self.table.start(place, now),
            None => {}
        }
        if let Some(accepts) = state.is_accepting.or(accepts) {
            self.table.accept(place, accepts, now);
        }
        Ok(())
    }

    /// Takes an attribute of a printer.
    fn take(
        &self,
        said: &Attribute,
        settings: &mut PrinterSettings,
        state: &mut State,
    ) -> Result<(), No> {
        let no = |why: String| No::of(Status::NOT_SUPPORTED, why, Some(said));
        let first = said.values.first();
        let text = first.and_then(Value::text).unwrap_or_default();
        let words = || said.values.iter().filter_map(Value::text).map(std::borrow::Cow::into_owned);
        let short = |text: &str| {
            let text: String = text.chars().filter(|one| !one.is_control()).collect();
            windlass_wire::ipp::server::cut(&text, MAX_TEXT).to_owned()
        };
        match said.name.as_str() {
            "device-uri" if settings.members.is_none() => {
                let device = device(&text).map_err(no)?;
                if device != settings.device {
                    allowed(&device, self.table.rules())
                        .map_err(|why| No::of(Status::FORBIDDEN, why, Some(said)))?;
                    settings.device = device;
                }
            }
            "member-names" if settings.members.is_some() => {
                settings.members = Some(self.members(words())?);
            }
            "member-uris" if settings.members.is_some() => {
                let names = words()
                    .map(|uri| uri.rsplit('/').next().map(escape::undone).unwrap_or_default());
                settings.members = Some(self.members(names)?);
            }
            "printer-info" => settings.info = short(&text),
            "printer-location" => settings.location = short(&text),
            "printer-make-and-model" => settings.model = short(&text),
            "printer-error-policy" => {
                settings.on_error = OnError::new(&text).ok_or_else(|| {
                    no(format!("{text:?}: retry-job, abort-job and stop-printer are known"))
                })?;
            }
            "windlass-on-refusal" => {
                settings.on_refusal = OnRefusal::new(&text)
                    .ok_or_else(|| no(format!("{text:?}: abort-job and hold-job are known")))?;
            }
            "windlass-on-partial" => {
                settings.on_partial = match first {
                    Some(Value::OutOfBand(_)) => None,
                    _ => Some(OnPartial::new(&text).ok_or_else(|| {
                        no(format!("{text:?}: retry-job, hold-job and abort-job are known"))
                    })?),
                };
            }
            "windlass-patience" => {
                settings.patience = match first {
                    Some(Value::OutOfBand(_)) => None,
                    value => Some(millis(value).ok_or_else(|| no(MILLIS.to_owned()))?),
                };
            }
            "windlass-contact" => {
                settings.contact = millis(first).ok_or_else(|| no(MILLIS.to_owned()))?;
            }
            "windlass-status" => {
                settings.status = match first {
                    Some(Value::OutOfBand(_)) => None,
                    _ => Some(
                        text.parse().map_err(|error: StatusSourceError| no(error.to_string()))?,
                    ),
                };
            }
            "windlass-max-jobs" => {
                let most =
                    first.and_then(Value::number).and_then(|most| usize::try_from(most).ok());
                let most = most.ok_or_else(|| no("windlass-max-jobs is a number".to_owned()))?;
                settings.max_jobs = Some(most).filter(|most| *most > 0);
            }
            SUPPORTED => {
                let formats: Vec<String> =
                    words().take(MAX_FORMATS).map(|one| short(&one)).collect();
                settings.formats = formats;
            }
            "windlass-colour" => {
                settings.colour = yes(first).ok_or_else(|| no(WORDS.to_owned()))?;
            }
            "windlass-duplex" => {
                settings.duplex = yes(first).ok_or_else(|| no(WORDS.to_owned()))?;
            }
            "printer-state" => {
                let number = first.and_then(Value::number).and_then(PrinterState::new);
                state.is_stopped = match number {
                    Some(PrinterState::Idle) => Some(false),
                    Some(PrinterState::Stopped) => Some(true),
                    _ => {
                        return Err(no(
                            "a printer is told to be idle (3) or stopped (5)".to_owned()
                        ));
                    }
                };
            }
            "printer-state-message" => state.why = Some(short(&text)),
            "printer-is-accepting-jobs" => match first {
                Some(Value::Boolean(yes)) => state.is_accepting = Some(*yes),
                _ => return Err(no("printer-is-accepting-jobs is true or false".to_owned())),
            },
            // Taken where a request has its ports.
            "windlass-raw" => {}
            // What a spool without drivers, banners and shares has anyway.
            "ppd-name" if ["raw", "everywhere"].contains(&&*text) => {}
            "ppd-name" => {
                return Err(no(format!(
                    "there are no drivers here, so there is no {text:?}: raw and everywhere are \
                     known"
                )));
            }
            "requesting-user-name-allowed" => {
                settings.users =
                    Users::allowed(words().collect()).map_err(|why| no(why.to_string()))?;
            }
            "requesting-user-name-denied" => {
                settings.users =
                    Users::denied(words().collect()).map_err(|why| no(why.to_string()))?;
            }
            "printer-is-shared" if first == Some(&Value::Boolean(true)) => {}
            "printer-op-policy" if text == "default" => {}
            "port-monitor" if text == "none" => {}
            "printer-name" if text == settings.name => {}
            other if other.ends_with(DEFAULT) => {
                let name = other.trim_end_matches(DEFAULT);
                settings.set_default(name, said.values.clone()).map_err(no)?;
            }
            other => {
                let value = if text.is_empty() { String::new() } else { format!(" to {text:?}") };
                return Err(no(format!("{other} of a printer cannot be set{value} here")));
            }
        }
        Ok(())
    }

    /// Names of printers that a class may have.
    fn members(&self, names: impl Iterator<Item = String>) -> Result<Vec<String>, No> {
        let mut members = Vec::new();
        for name in names {
            let place = self.table.place(&name)?;
            if self.table.printers()[place].is_class() {
                let why = format!("{name:?} is a class: a class has printers");
                return Err(No::new(Status::NOT_POSSIBLE, why));
            }
            if !members.contains(&name) {
                members.push(name);
            }
        }
        Ok(members)
    }

    /// Removes a printer or a class. What becomes of its jobs may be said; else they are
    /// kept.
    pub(super) fn delete(&mut self) -> Result<(), No> {
        let place = self.one_place()?;
        let word = self.request.said("windlass-jobs");
        let leftover = match (word.as_deref(), self.destination()) {
            (_, Some(to)) => Leftover::Move(to?),
            (None | Some("keep"), None) => Leftover::Keep,
            (Some("cancel"), None) => Leftover::Cancel,
            (Some(other), None) => {
                let why = format!("jobs are to keep, to cancel or to move, and not to {other:?}");
                let said = self.request.asked("windlass-jobs");
                return Err(No::of(Status::NOT_SUPPORTED, why, said));
            }
        };
        Ok(self.table.remove_printer(place, leftover, self.context.now)?)
    }

    /// The printer that jobs are to go to, where the request names one.
    fn destination(&self) -> Option<Result<usize, No>> {
        let of = |tag| self.request.text(tag, "job-printer-uri");
        let uri = of(GroupTag::JOB).or_else(|| of(GroupTag::OPERATION))?;
        let name = uri.rsplit('/').next().map(escape::undone).unwrap_or_default();
        Some(self.table.place(&name).map_err(No::from))
    }

    /// Moves a job, or all of a printer.
    pub(super) fn move_jobs(&mut self) -> Result<(), No> {
        let no =
            || No::new(Status::BAD_REQUEST, "the request does not say where to (job-printer-uri)");
        let to = self.destination().ok_or_else(no)??;
        let now = self.context.now;
        let number = self.request.number(GroupTag::OPERATION, "job-id").filter(|id| *id != 0);
        if self.request.said("job-uri").is_some() || number.is_some() {
            let id: JobId = self.job()?;
            return Ok(self.table.move_job(id, to, now)?);
        }
        let from = self.place()?.ok_or_else(|| {
            No::new(Status::BAD_REQUEST, "the request names neither a job nor a printer")
        })?;
        Ok(self.table.move_all(from, to, now)?)
    }

    /// Makes a printer the one of who names none.
    pub(super) fn set_default(&mut self) -> Result<(), No> {
        let place = self.one_place()?;
        self.table.set_default(place);
        Ok(())
    }
}

/// The end of the name of a printer's default (RFC 8011, section 5.2).
const DEFAULT: &str = "-default";

/// What may be said of what a device can do.
const WORDS: &str = "it is true, false, or no-value where the device is to be asked";

/// The form of a device's time.
const MILLIS: &str =
    "it is a number of milliseconds above 0, or no-value for a patience without end";

fn millis(value: Option<&Value>) -> Option<Duration> {
    let millis = value.and_then(Value::number).and_then(|millis| u64::try_from(millis).ok())?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// Yes, no, or that nothing is said.
#[allow(clippy::option_option, reason = "a word that is none is not the same as no word")]
const fn yes(value: Option<&Value>) -> Option<Option<bool>> {
    match value {
        Some(Value::Boolean(yes)) => Some(Some(*yes)),
        Some(Value::OutOfBand(_)) => Some(None),
        _ => None,
    }
}

/// A device of a URI as CUPS writes it.
fn device(uri: &str) -> Result<Device, String> {
    if ["file:///dev/null", "file:/dev/null"].contains(&uri) {
        return Ok(Device::Drop);
    }
    uri.parse().map_err(|error: crate::device::DeviceError| error.to_string())
}

/// Whether a printer may be given a device at run time. Whoever gives it a command runs
/// that here, and whoever gives it a file overwrites that.
fn allowed(device: &Device, rules: &Rules) -> Result<(), String> {
    let (kind, is_allowed) = match device {
        Device::Drop | Device::Target(_) => return Ok(()),
        Device::File(_) => ("file", rules.allows_files),
        Device::Command(_) => ("exec", rules.allows_commands),
    };
    if is_allowed {
        return Ok(());
    }
    Err(format!(
        "devices of {kind}: cannot be given at run time: put the printer into the settings, or \
         {kind:?} into allow-devices there"
    ))
}
