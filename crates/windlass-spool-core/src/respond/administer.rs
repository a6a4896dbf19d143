//! Administration at run time: printers and classes that are added, removed and changed, the
//! default printer, and jobs that are moved. These are the CUPS operations that `lpadmin` and
//! `lpmove` request.

use std::net::SocketAddr;
use std::time::Duration;

use windlass_wire::escape;
use windlass_wire::ipp::server::IppRefusal;
use windlass_wire::ipp::{Attribute, GroupTag, Message, PrinterState, Status, Value};
use windlass_wire::status_source::StatusSourceError;

use super::operations::RequestHandler;
use crate::device::Device;
use crate::formats::SUPPORTED;
use crate::job::{JobId, StoredDocument};
use crate::printer::{OnError, OnPartial, OnRefusal, PrinterSettings, is_printer_name};
use crate::table::{Leftover, Rules};
use crate::users::Users;

/// Maximum length of a text about a printer, which is that of its attributes (RFC 8011, sections
/// 5.4.5 to 5.4.9).
const MAX_TEXT: usize = 127;

/// Maximum number of document formats of a printer.
const MAX_FORMATS: usize = 100;

/// Returns the raw ports that a request gives a printer.
///
/// # Errors
/// Returns an error if one of them is not an address with a port.
pub fn raw_ports(request: &Message) -> Result<Option<Vec<SocketAddr>>, IppRefusal> {
    let group = request.group(GroupTag::PRINTER);
    let Some(said) = group.and_then(|group| group.attribute("windlass-raw")) else {
        return Ok(None);
    };
    let address = |value: &Value| value.text().and_then(|text| text.parse().ok());
    let all: Option<Vec<SocketAddr>> = match said.values.first() {
        // An empty text removes all ports.
        Some(value) if value.text().is_some_and(|text| text.is_empty()) => Some(Vec::new()),
        _ => said.values.iter().map(address).collect(),
    };
    let why = "windlass-raw must be an address and a port, such as 127.0.0.1:9100";
    all.map(Some).ok_or_else(|| IppRefusal::of(Status::NOT_SUPPORTED, why, Some(said)))
}

/// Requested state of a printer, besides its settings.
#[derive(Default)]
struct RequestedState {
    is_stopped: Option<bool>,
    is_accepting: Option<bool>,
    why: Option<String>,
}

impl<D: StoredDocument> RequestHandler<'_, D> {
    /// Returns the name in the path of a printer's URI.
    fn named(&self) -> Result<String, IppRefusal> {
        let uri = self.request.said("printer-uri");
        let uri = uri.ok_or_else(|| {
            IppRefusal::new(Status::BAD_REQUEST, "the request has no printer-uri")
        })?;
        let name = uri.rsplit('/').next().map(escape::undone).unwrap_or_default();
        let has_path = ["/printers/", "/classes/"].iter().any(|path| uri.contains(path));
        if has_path && is_printer_name(&name) {
            return Ok(name);
        }
        let why = format!("{name:?} is not a printer name: use no spaces, slashes or leading dots");
        Err(IppRefusal::new(Status::NOT_POSSIBLE, why))
    }

    /// Adds a printer, or changes one. Everything is checked before anything is done.
    pub(super) fn add_or_modify(&mut self, is_class: bool) -> Result<(), IppRefusal> {
        let now = self.context.now;
        let name = self.named()?;
        let old = self.table.place(&name).ok().map(|place| &self.table.printers()[place]);
        let kind = |is_class| if is_class { "class" } else { "printer" };
        if let Some(old) = old.filter(|old| old.is_class() != is_class) {
            let why = format!("{name:?} is a {}", kind(old.is_class()));
            return Err(IppRefusal::new(Status::NOT_POSSIBLE, why));
        }
        let is_new = old.is_none();
        let mut settings = old.map_or_else(
            || match is_class {
                true => PrinterSettings::class(name.clone(), Vec::new()),
                false => PrinterSettings::new(name.clone(), Device::Drop),
            },
            |old| old.settings.clone(),
        );
        let mut state = RequestedState::default();
        let mut has_device = false;
        let groups = self.request.groups.iter().filter(|group| group.tag == GroupTag::PRINTER);
        // CUPS's clients put the driver among the attributes of the request, and not of the
        // printer.
        let driver = self.request.asked("ppd-name");
        for said in groups.flat_map(|group| &group.attributes).chain(driver) {
            has_device |= said.name == "device-uri";
            self.take(said, &mut settings, &mut state)?;
        }
        let refused = |why: String| Err(IppRefusal::new(Status::NOT_POSSIBLE, why));
        match &settings.members {
            Some(members) if members.is_empty() => {
                return refused(format!("class {name:?} has no members: name existing printers"));
            }
            None if is_new && !has_device => {
                return refused(format!("printer {name:?} is new: give its device-uri"));
            }
            _ => {}
        }
        if let Err(error) = settings.check_status() {
            // Another device may not support the source. The client is told if it asks for the
            // source.
            let group = self.request.group(GroupTag::PRINTER);
            if let Some(said) = group.and_then(|group| group.attribute("windlass-status")) {
                return Err(IppRefusal::of(Status::NOT_SUPPORTED, error.to_string(), Some(said)));
            }
            settings.status = None;
        }
        if let Some(raw) = raw_ports(self.request)? {
            settings.raw = raw;
        }
        // CUPS starts a new printer stopped and rejecting.
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

    /// Applies an attribute of a printer.
    fn take(
        &self,
        said: &Attribute,
        settings: &mut PrinterSettings,
        state: &mut RequestedState,
    ) -> Result<(), IppRefusal> {
        let no = |why: String| IppRefusal::of(Status::NOT_SUPPORTED, why, Some(said));
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
                        .map_err(|why| IppRefusal::of(Status::FORBIDDEN, why, Some(said)))?;
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
                    no(format!(
                        "{text:?} is not supported: use retry-job, abort-job or stop-printer"
                    ))
                })?;
            }
            "windlass-on-refusal" => {
                settings.on_refusal = OnRefusal::new(&text).ok_or_else(|| {
                    no(format!("{text:?} is not supported: use abort-job or hold-job"))
                })?;
            }
            "windlass-on-partial" => {
                settings.on_partial = match first {
                    Some(Value::OutOfBand(_)) => None,
                    _ => Some(OnPartial::new(&text).ok_or_else(|| {
                        no(format!(
                            "{text:?} is not supported: use retry-job, hold-job or abort-job"
                        ))
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
                let most =
                    most.ok_or_else(|| no("windlass-max-jobs must be a number".to_owned()))?;
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
                        return Err(no("printer-state must be idle (3) or stopped (5)".to_owned()));
                    }
                };
            }
            "printer-state-message" => state.why = Some(short(&text)),
            "printer-is-accepting-jobs" => match first {
                Some(Value::Boolean(yes)) => state.is_accepting = Some(*yes),
                _ => return Err(no("printer-is-accepting-jobs must be true or false".to_owned())),
            },
            // The raw ports are read separately.
            "windlass-raw" => {}
            // A spool without drivers, banners and shares fulfils these anyway.
            "ppd-name" if ["raw", "everywhere"].contains(&&*text) => {}
            "ppd-name" => {
                return Err(no(format!(
                    "the driver {text:?} is not supported: use raw or everywhere"
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

    /// Returns the names of printers that a class may have.
    fn members(&self, names: impl Iterator<Item = String>) -> Result<Vec<String>, IppRefusal> {
        let mut members = Vec::new();
        for name in names {
            let place = self.table.place(&name)?;
            if self.table.printers()[place].is_class() {
                let why = format!("{name:?} is a class: members must be printers");
                return Err(IppRefusal::new(Status::NOT_POSSIBLE, why));
            }
            if !members.contains(&name) {
                members.push(name);
            }
        }
        Ok(members)
    }

    /// Removes a printer or a class. Its jobs are kept unless the request says otherwise.
    pub(super) fn delete(&mut self) -> Result<(), IppRefusal> {
        let place = self.one_place()?;
        let word = self.request.said("windlass-jobs");
        let leftover = match (word.as_deref(), self.destination()) {
            (_, Some(to)) => Leftover::Move(to?),
            (None | Some("keep"), None) => Leftover::Keep,
            (Some("cancel"), None) => Leftover::Cancel,
            (Some(other), None) => {
                let why = format!("windlass-jobs must be keep or cancel, not {other:?}");
                let said = self.request.asked("windlass-jobs");
                return Err(IppRefusal::of(Status::NOT_SUPPORTED, why, said));
            }
        };
        Ok(self.table.remove_printer(place, leftover, self.context.now)?)
    }

    /// Returns the index of the printer that jobs are to move to, if the request names one.
    fn destination(&self) -> Option<Result<usize, IppRefusal>> {
        let of = |tag| self.request.text(tag, "job-printer-uri");
        let uri = of(GroupTag::JOB).or_else(|| of(GroupTag::OPERATION))?;
        let name = uri.rsplit('/').next().map(escape::undone).unwrap_or_default();
        Some(self.table.place(&name).map_err(IppRefusal::from))
    }

    /// Moves one job, or all jobs of a printer.
    pub(super) fn move_jobs(&mut self) -> Result<(), IppRefusal> {
        let no = || IppRefusal::new(Status::BAD_REQUEST, "the request has no job-printer-uri");
        let to = self.destination().ok_or_else(no)??;
        let now = self.context.now;
        let number = self.request.number(GroupTag::OPERATION, "job-id").filter(|id| *id != 0);
        if self.request.said("job-uri").is_some() || number.is_some() {
            let id: JobId = self.job()?;
            return Ok(self.table.move_job(id, to, now)?);
        }
        let from = self.place()?.ok_or_else(|| {
            IppRefusal::new(Status::BAD_REQUEST, "the request names neither a job nor a printer")
        })?;
        Ok(self.table.move_all(from, to, now)?)
    }

    /// Makes a printer the default.
    pub(super) fn set_default(&mut self) -> Result<(), IppRefusal> {
        let place = self.one_place()?;
        self.table.set_default(place);
        Ok(())
    }
}

/// Suffix of the name of a printer's default (RFC 8011, section 5.2).
const DEFAULT: &str = "-default";

/// Explanation of the values of a device's capability.
const WORDS: &str = "it must be true, false, or no-value to ask the device";

/// Explanation of the values of a device's timeout.
const MILLIS: &str = "it must be milliseconds above 0, or no-value for no limit";

fn millis(value: Option<&Value>) -> Option<Duration> {
    let millis = value.and_then(Value::number).and_then(|millis| u64::try_from(millis).ok())?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// Reads a boolean, or `no-value` as `Some(None)`.
#[allow(clippy::option_option, reason = "a word that is none is not the same as no word")]
const fn yes(value: Option<&Value>) -> Option<Option<bool>> {
    match value {
        Some(Value::Boolean(yes)) => Some(Some(*yes)),
        Some(Value::OutOfBand(_)) => Some(None),
        _ => None,
    }
}

/// Parses a device URI as CUPS writes it.
fn device(uri: &str) -> Result<Device, String> {
    if ["file:///dev/null", "file:/dev/null"].contains(&uri) {
        return Ok(Device::Drop);
    }
    uri.parse().map_err(|error: crate::device::DeviceError| error.to_string())
}

/// Checks that a printer may get this device at run time. Anyone who sets a command runs code on
/// this host, and anyone who sets a file overwrites it.
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
        "devices of {kind}: cannot be given at run time: add the printer to the settings, or \
         {kind:?} to allow-devices"
    ))
}
