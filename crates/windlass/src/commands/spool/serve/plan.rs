//! Plan of a server: from the command line, a file and defaults.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Failure, Span};
use windlass_print::load::names;
use windlass_print::{Protocol, StatusSource};
use windlass_spool::store::{Durability, Settings};
use windlass_spool::{
    CommandSettings, Device, History, Limits, ListenAddresses, LogSettings, MAX_NAME, Network,
    PrinterSettings, Rules, RunAs, SpoolerSettings, UncountedPolicy, Users, is_printer_name,
};

use super::access;
use super::accounting;
use super::args::{
    self, DeviceKind, DevicePatience, IppAddress, ServeArgs, address, device_patience, history,
    job_value, lpr, mode, on_error, on_partial, on_refusal, repeats_copies,
};
use super::config::{Choice, Config, Number, PrinterConfig, UncountedConfig};
use super::observe::KernelObserver;
use super::values::{all, read, wrong};

/// Size at which the log is rotated, and number of rotated logs to keep.
const LOG_SIZE: u64 = 10_000_000;
const LOG_FILES: u32 = 5;

/// Plan of a server.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) folder: PathBuf,
    pub(super) durability: Durability,
    pub(super) spooler: SpoolerSettings,
    /// The network, without the certificate, which is read later.
    pub(super) network: Network,
    /// Files of the certificate and its key, for TLS.
    pub(super) certificate: Option<(PathBuf, PathBuf)>,
    pub(super) announce: bool,
    pub(super) log: LogSettings,
    /// User that the server switches to.
    pub(super) user: Option<String>,
    /// Users of commands, if there are any.
    pub(super) run_as: Option<RunAs>,
}

impl Plan {
    /// Returns the plan of the command line and of its file.
    pub(super) fn new(args: &ServeArgs) -> Result<Self, Failure> {
        let config = args.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let durability = args.durability.or(config.durability).unwrap_or(Durability::Cache);
        let max_spool = args.max_spool.or(read("max-spool", config.max_spool.as_ref(), bytes)?);
        let max_document =
            args.max_document.or(read("max-document", config.max_document.as_ref(), bytes)?);
        let log_size = args.log_size.or(read("log-size", config.log_size.as_ref(), bytes)?);
        let patience = args.patience.or(read("patience", config.patience.as_ref(), span)?);
        let patience = patience.map_or(Duration::from_secs(60), Span::to_duration);
        let raw_wait = args.raw_wait.or(read("raw-wait", config.raw_wait.as_ref(), span)?);
        let of_file = config.history.as_ref().map(|said| match said {
            Number::Number(number) => Ok(History::Last(*number)),
            Number::Word(word) => history(word).map_err(|error| wrong("history", error)),
        });
        let kinds = [&args.allow_devices[..], &config.allow_devices].concat();
        let allows = |kind| kinds.contains(&kind);
        let rules = Rules {
            history: args.history.or(of_file.transpose()?).unwrap_or(Rules::default().history),
            keeps_documents: args.keep_documents || config.keep_documents,
            max_jobs: args.max_jobs.or(config.max_jobs),
            max_attempts: args.attempts.or(config.attempts),
            allows_files: allows(DeviceKind::File),
            allows_commands: allows(DeviceKind::Exec),
            uncounted: match config.uncounted_pages {
                UncountedConfig::CountBytes => UncountedPolicy::CountBytes,
                UncountedConfig::Refuse => UncountedPolicy::Refuse,
            },
            ..Rules::default()
        };
        let printers = printers(args, &config)?;
        let account = accounting::settings(args, &config)?;
        for quota in &account.quotas {
            if let Some(name) = &quota.printer
                && !printers.iter().any(|one| one.name == *name)
            {
                return Err(wrong("quota", format!("there is no printer {name:?}")));
            }
        }
        let mut commands = commands(args, &config)?;
        let user = args.user.clone().or(config.user.clone());
        let run_as = commands
            .settle(&printers, user.as_deref(), config.filters.unwrap_or(true))
            .map_err(|error| wrong("user of the server or of commands", error))?;
        let raw_of = |one: &PrinterSettings| {
            let name = one.name.clone();
            one.raw.iter().map(move |at| (*at, name.clone())).collect::<Vec<_>>()
        };
        let raw = printers.iter().flat_map(raw_of).collect();
        let access = access::access(args, &config)?;
        let (mut ipp, mut sockets) = (Vec::new(), Vec::new());
        for at in all("listen", &args.listen, &config.listen, args::ipp)? {
            match at {
                IppAddress::Network(at) => ipp.push(at),
                IppAddress::Socket(path) => sockets.push(path),
            }
        }
        let tls = all("tls", &args.tls, &config.tls, args::tls)?;
        let socket_mode = read("socket-mode", config.socket_mode.as_ref(), mode)?;
        let lpr = all("lpr", &args.lpr, &config.lpr, lpr)?;
        let connections = args.connections.or(config.connections);
        let usual = Limits::default();
        let limits = Limits {
            connections: connections.map_or(usual.connections, |most| most as usize),
            patience,
            raw_wait: raw_wait.map_or(usual.raw_wait, Span::to_duration),
            ..usual
        };
        let listen = ListenAddresses { ipp, tls, sockets, socket_mode, lpr, raw };
        let names = access::names(args, &config);
        let certificate = access::certificate_files(args, &config)?;
        let passwords = access::passwords(args, &config)?;
        let device_logins = access::device_logins(&config)?;
        let settings = Settings { durability, most: max_spool.map(Bytes::get) };
        let folder = match args.spool.clone().or(config.spool) {
            Some(folder) => folder,
            None => usual_folder(durability)?,
        };
        Ok(Self {
            folder,
            durability,
            spooler: SpoolerSettings {
                printers,
                rules,
                store: settings,
                max_document: max_document.map(Bytes::get),
                observer: Some(Arc::new(KernelObserver)),
                account,
                commands,
                device_logins,
                converts: config.filters.unwrap_or(true),
            },
            user,
            run_as,
            certificate,
            network: Network {
                listen,
                limits,
                access,
                names,
                certificate: None,
                passwords,
                plain_passwords: config.passwords_without_tls,
            },
            log: LogSettings {
                file: args.log.clone().or(config.log),
                size: log_size.map_or(LOG_SIZE, Bytes::get),
                files: args.log_files.or(config.log_files).unwrap_or(LOG_FILES),
            },
            announce: args.announce || config.announce,
        })
    }
}

/// Returns the limits of commands.
fn commands(args: &ServeArgs, config: &Config) -> Result<CommandSettings, Failure> {
    let (said, usual) = (&config.commands, CommandSettings::default());
    let size = |setting, text| read(setting, text, bytes).map(|most| most.map(Bytes::get));
    Ok(CommandSettings {
        user: args.command_user.clone().or_else(|| said.user.clone()),
        time: read("time of commands", said.time.as_ref(), span)?
            .map_or(usual.time, Span::to_duration),
        memory: size("memory of commands", said.memory.as_ref())?.unwrap_or(usual.memory),
        output: size("output of commands", said.output.as_ref())?.unwrap_or(usual.output),
    })
}

/// Returns the default folder for jobs.
fn usual_folder(durability: Durability) -> Result<PathBuf, Failure> {
    if durability == Durability::Memory {
        return Ok(PathBuf::new());
    }
    if windlass_host::Identity::own().user == 0 {
        return Ok(PathBuf::from("/var/spool/windlass"));
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = state.map(PathBuf::from).or_else(home);
    state.map(|state| state.join("windlass/spool")).ok_or_else(|| {
        Failure::usage("cannot run the spool server", "there is no home folder for the spool")
            .advise("Give a folder with --spool.")
    })
}

/// Returns the printers of the command line and of the file.
fn printers(args: &ServeArgs, config: &Config) -> Result<Vec<PrinterSettings>, Failure> {
    let mut printers: Vec<PrinterSettings> = Vec::new();
    for (pattern, device) in &args.printer {
        for name in expanded(pattern)? {
            printers.push(PrinterSettings::new(name, device.clone()));
        }
    }
    for one in &config.printer {
        let names = expanded(&one.name)?;
        for (place, name) in names.into_iter().enumerate() {
            if printers.iter().any(|other| other.name == name) {
                // The command line names another device for the printer.
                continue;
            }
            let mut printer = settings(one, &name)?;
            if let Some(at) = &one.raw {
                let mut at =
                    address(at, Protocol::Raw.port()).map_err(|error| wrong("raw", error))?;
                // Printers of one entry have consecutive ports.
                let port = u16::try_from(place).ok().and_then(|place| at.port().checked_add(place));
                let port =
                    port.ok_or_else(|| wrong("raw", "there are fewer ports than printers"))?;
                at.set_port(port);
                printer.raw.push(at);
            }
            printers.push(printer);
        }
    }
    let classes = classes(config, &printers)?;
    printers.extend(classes);
    for printer in &mut printers {
        if let Some(on_error) = args.on_error {
            printer.on_error = on_error;
        }
        printer.on_partial = args.on_partial.or(printer.on_partial);
        if let Some(DevicePatience(patience)) = args.device_patience {
            printer.patience = patience;
        }
        printer.contact = args.contact.map_or(printer.contact, Span::to_duration);
        printer.is_stopped |= args.stopped;
    }
    let mut seen = HashSet::new();
    for printer in &printers {
        let name = &printer.name;
        if !seen.insert(name) {
            return Err(wrong("printer", format!("two printers have the name {name:?}")));
        }
        if !is_printer_name(name) {
            let what = format!(
                "{name:?} is not a printer name: use at most {MAX_NAME} letters, without spaces, \
                 slashes or leading dots"
            );
            return Err(wrong("printer", what));
        }
    }
    for (name, at) in &args.raw {
        let Some(printer) = printers.iter_mut().find(|one| one.name == *name) else {
            let wrong = format!("--raw {name}={at}: there is no printer {name:?}");
            return Err(
                Failure::new("cannot run the spool server", wrong).advise("Add it with --printer.")
            );
        };
        printer.raw.insert(0, *at);
    }
    // A file may leave all devices to the administrators.
    if printers.is_empty() && args.config.is_none() {
        return Err(Failure::usage("cannot run the spool server", "there is no printer").advise(
            "Give --printer NAME=DEVICE, such as office=socket://192.0.2.9, or --config FILE.",
        ));
    }
    Ok(printers)
}

/// Returns the classes of the file. Their members must exist.
fn classes(config: &Config, printers: &[PrinterSettings]) -> Result<Vec<PrinterSettings>, Failure> {
    let mut classes = Vec::new();
    for one in &config.class {
        let mut members = Vec::new();
        for pattern in &one.members {
            members.extend(expanded(pattern)?);
        }
        if let Some(name) =
            members.iter().find(|name| !printers.iter().any(|one| one.name == **name))
        {
            let what =
                format!("{:?} has the member {name:?}, but there is no such printer", one.name);
            return Err(wrong("class", what));
        }
        if members.is_empty() {
            return Err(wrong("class", format!("{:?} has no members", one.name)));
        }
        let usual = PrinterSettings::class(&one.name, members);
        classes.push(PrinterSettings {
            info: one.info.clone().unwrap_or(usual.info.clone()),
            location: one.location.clone().unwrap_or_default(),
            max_jobs: one.max_jobs,
            is_stopped: one.stopped,
            ..usual
        });
    }
    Ok(classes)
}

fn expanded(pattern: &str) -> Result<Vec<String>, Failure> {
    names(pattern).map_err(|error| wrong("printer", format!("{pattern:?}: {error}")))
}

fn settings(one: &PrinterConfig, name: &str) -> Result<PrinterSettings, Failure> {
    // {} stands for the name, so that many can have folders or queues of their own.
    let device = one.device.replace("{}", name);
    let device: Device = device.parse().map_err(|error| wrong("device", error))?;
    let usual = PrinterSettings::new(name, device);
    let users = match (one.users.clone(), one.denied_users.clone()) {
        (Some(_), Some(_)) => {
            return Err(wrong("users", "give users or denied-users, not both"));
        }
        (Some(allowed), None) => Users::allowed(allowed),
        (None, Some(denied)) => Users::denied(denied),
        (None, None) => Ok(Users::All),
    };
    let mut settings = PrinterSettings {
        info: one.info.clone().unwrap_or(usual.info),
        location: one.location.clone().unwrap_or(usual.location),
        model: one.model.clone().unwrap_or(usual.model),
        formats: one.formats.clone().unwrap_or(usual.formats),
        on_error: read("on-error", one.on_error.as_ref(), on_error)?.unwrap_or(usual.on_error),
        on_refusal: read("on-refusal", one.on_refusal.as_ref(), on_refusal)?
            .unwrap_or(usual.on_refusal),
        on_partial: read("on-partial", one.on_partial.as_ref(), on_partial)?,
        patience: read("patience", one.patience.as_ref(), device_patience)?
            .map_or(usual.patience, |DevicePatience(patience)| patience),
        contact: read("contact", one.contact.as_ref(), span)?
            .map_or(usual.contact, Span::to_duration),
        status: read("status", one.status.as_ref(), str::parse::<StatusSource>)?,
        mode: read("mode", one.mode.as_ref(), mode)?.unwrap_or(usual.mode),
        user: one.user.clone(),
        repeats_copies: read("copies", one.copies.as_ref(), repeats_copies)?
            .unwrap_or(usual.repeats_copies),
        max_jobs: one.max_jobs,
        is_stopped: one.stopped,
        colour: one.colour,
        duplex: one.duplex,
        users: users.map_err(|error| wrong("users", error))?,
        ..usual
    };
    settings.check_status().map_err(|error| wrong("status", error))?;
    for (name, choice) in &one.defaults {
        let said = match choice {
            Choice::Number(number) => number.to_string(),
            Choice::Word(word) => word.clone(),
        };
        let value = job_value(name, &said);
        settings.set_default(name, vec![value]).map_err(|why| wrong("defaults", why))?;
    }
    Ok(settings)
}
