//! Delivery of a job to a device.

mod command;
mod convert;
mod file;
mod rest;

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass_print::{
    Access, Answer, Asker, Compression, Dial, Document, FollowMode, Ipp, IppAnswer, JobProtocol,
    Limit, Lpr, Monitor, OnBreak, Protocol, Raw, Target, dial_within, send,
};
use windlass_spool_core::{
    Conversions, Device, DeviceOffer, MAX_COPIES, Outcome, PartialPrint, Passage, Passes,
    PrinterSettings, left_by_filters, respond,
};
use windlass_wire::ipp::{Attribute, Group, JobState, Operation, Status, Value, Version};
use windlass_wire::pages::{DocumentFormat, HEAD};

use self::convert::Source;
use self::rest::RemainingPasses;
use crate::asking;
use crate::commands::CommandSettings;
use crate::filters::Filters;
use crate::store::Document as SpoolDocument;
use crate::table::{FiledDocument, Job};

/// Bytes of a document that are read at a time.
const PIECE: usize = 256 << 10;

/// Time for which a raw device that has all data may keep its connection open. CUPS's `socket`
/// backend waits as long.
const RAW_CLOSE: Duration = Duration::from_secs(90);

/// Maximum time of canceling a job at its device.
const CANCELING: Duration = Duration::from_secs(5);

/// A job, its device, and the progress of its delivery.
pub(crate) struct Delivery<'a> {
    pub(crate) printer: &'a PrinterSettings,
    pub(crate) work: &'a Job,
    pub(crate) monitor: &'a Monitor,
    /// Maximum time without progress of the device.
    pub(crate) patience: Limit,
    /// Size in bytes of the document whose data began last.
    pub(crate) document_size: &'a AtomicU64,
    /// Limits and the user of commands.
    pub(crate) commands: &'a CommandSettings,
    /// Filters for documents that the device does not take.
    pub(crate) filters: Option<&'a Filters>,
    /// Formats that the device says it takes.
    pub(crate) offer: &'a DeviceOffer,
    /// TLS trust and login for devices.
    pub(crate) access: &'a Access,
    /// True if a file must be synced to the disk before the job counts as delivered.
    pub(crate) is_synced: bool,
    /// Called after each part that the device has for good, with the number of passes that it has
    /// so far.
    pub(crate) progressed: &'a (dyn Fn(u32) + Sync),
    /// True if the device creates an IPP job before it takes the document. Such a device can report
    /// on a transfer that broke off.
    pub(crate) creates_jobs: bool,
    /// Called with the number of sides that the device says it has printed of a document.
    pub(crate) printed: &'a (dyn Fn(u64) + Sync),
    /// Returns whether the job is still to be printed by this device.
    pub(crate) is_wanted: &'a (dyn Fn() -> bool + Sync),
    /// Asks permission for the last step, which cannot be undone.
    pub(crate) may_end: &'a (dyn Fn() -> bool + Sync),
}

impl Delivery<'_> {
    /// Delivers the job to the device.
    pub(crate) fn deliver(&self, buffer: &mut Vec<u8>) -> Outcome {
        let device = &self.printer.device;
        if *device != Device::Drop
            && let Err(outcome) = self.check(buffer)
        {
            return outcome;
        }
        let done = match device {
            Device::Drop => Ok(()),
            Device::File(path) => {
                let failed = |error| Outcome::Failed(format!("{}: {error}", path.display()));
                self.to_file(path, buffer).map_err(failed)
            }
            Device::Target(target) => self.to_target(target),
            Device::Command(command) => command::run(self, command, buffer),
        };
        done.err().unwrap_or(Outcome::Delivered)
    }

    /// Verifies the checksums of all documents before the device gets any data: paper cannot be
    /// taken back.
    fn check(&self, buffer: &mut Vec<u8>) -> Result<(), Outcome> {
        let documents = &self.work.documents;
        for (at, filed) in documents.iter().enumerate() {
            let failed = |error| Outcome::Failed(format!("cannot read its document: {error}"));
            if !filed.document.is_whole(buffer).map_err(failed)? {
                let which = if documents.len() == 1 {
                    "its document".to_owned()
                } else {
                    format!("document {} of {}", at + 1, documents.len())
                };
                return Err(Outcome::Damaged(format!(
                    "{which} is damaged in the spool (its checksum does not match); nothing was \
                     printed"
                )));
            }
        }
        Ok(())
    }

    fn goes_on(&self) -> io::Result<()> {
        if self.monitor.is_stopped() { Err(broken_off()) } else { Ok(()) }
    }

    /// Returns the passes that are still to be printed.
    fn rest(&self) -> RemainingPasses {
        RemainingPasses::of(self.work)
    }

    /// Copies all passes that are left, unless the delivery is stopped.
    fn copy(&self, to: &mut dyn Write, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(PIECE, 0);
        let mut from = self.rest();
        loop {
            self.goes_on()?;
            match from.read(buffer)? {
                0 => return to.flush(),
                got => to.write_all(&buffer[..got])?,
            }
        }
    }

    fn to_target(&self, target: &Target) -> Result<(), Outcome> {
        if target.protocol.is_data_alone() {
            let rest = self.rest();
            let size = rest.size();
            let document = Document::new(Box::new(rest), Some(size));
            let form = Form { format: String::new(), template: Vec::new(), copies: 1 };
            return self.send(target, document, &self.work.ticket.name, &form);
        }
        // Each document is a job of its own at the device. A document that the device has is not
        // sent again.
        let passes = Passes::of(self.work);
        let mut pass = self.work.delivered;
        let most = self.most_copies(target, passes, pass)?;
        let filters = self.filters.filter(|_| target.protocol == Protocol::Ipp);
        let to = filters.and_then(|filters| filters.conversions.of_sheets(self.offer));
        let sheets = filters.zip(to).map(|(filters, to)| {
            (filters.conversions.sheets(&respond::template(&self.work.ticket.template)), to)
        });
        if let Some(([Some(first), _], to)) = sheets
            && pass == 0
        {
            self.sheet(target, first, to)?;
        }
        while let Some(FiledDocument { document, name }) =
            self.work.documents.get(passes.document(pass))
            && pass < passes.count()
        {
            self.goes_on().map_err(|error| Outcome::Failed(error.to_string()))?;
            let copies = passes.same_from(pass).min(most);
            let (data, form) = self.formed(target, document, copies)?;
            // A document whose name did not fit in the journal has the name of its job.
            let name = if name.is_empty() { &self.work.ticket.name } else { name };
            self.send(target, data, name, &form)?;
            pass += copies;
            if pass < passes.count() {
                (self.progressed)(pass);
            }
        }
        if let Some(([_, Some(last)], to)) = sheets {
            self.sheet(target, last, to)?;
        }
        Ok(())
    }

    /// Returns the number of copies of a document that the device can make. Asks the device only if
    /// the job has several copies.
    fn most_copies(&self, target: &Target, passes: Passes, from: u32) -> Result<u32, Outcome> {
        let has_several = (from..passes.count()).any(|pass| passes.same_from(pass) > 1);
        if self.printer.repeats_copies || !has_several {
            return Ok(1);
        }
        match target.protocol {
            // LPR devices do not report it, and many servers make copies.
            Protocol::Lpr => Ok(u32::from(MAX_COPIES)),
            Protocol::Raw => Ok(1),
            Protocol::Ipp => {
                let asked = (&*self.work.ticket.user, &["copies-supported"][..]);
                let by = (self.access, self.printer.contact);
                match asking::attributes(target, asked, self.monitor, by) {
                    Ok(said) => Ok(copies_supported(said.as_ref())),
                    // A device that cannot answer the query has no `copies` attribute either.
                    Err(error) if error.status().is_some() => Ok(1),
                    Err(error) => Err(self.outcome(&error, 0)),
                }
            }
        }
    }

    /// Returns a document in a form that the device takes, for this number of copies.
    fn formed(
        &self,
        target: &Target,
        document: &SpoolDocument,
        copies: u32,
    ) -> Result<(Document, Form), Outcome> {
        let ticket = &self.work.ticket;
        let attributes = respond::template(&ticket.template);
        let as_it_came = || Document::new(Box::new(document.reader()), Some(document.size()));
        let form = |format: String, attributes| {
            let template = with_copies(attributes, copies);
            Form { format, template, copies }
        };
        if target.protocol != Protocol::Ipp {
            return Ok((as_it_came(), form(ticket.format.to_string(), attributes)));
        }
        let none = Conversions::default();
        let conversions = self.filters.map_or(&none, |filters| &filters.conversions);
        let mut head = Vec::new();
        let read = document.reader().take(SEEN).read_to_end(&mut head);
        read.map_err(|error| Outcome::Failed(format!("cannot read its document: {error}")))?;
        let first = &head[..head.len().min(HEAD)];
        let found =
            DocumentFormat::media_type(first).or_else(|| is_text(&head).then_some("text/plain"));
        match conversions.passage((&ticket.format, found), self.offer, &attributes) {
            Passage::AsItCame(format) => Ok((as_it_came(), form(format, attributes))),
            Passage::Refused(why) => Err(Outcome::Refused(why)),
            Passage::Converted { from, to } => {
                let data = self.converted(target, &Source::Document(document, &from), to)?;
                Ok((data, form(to.to_owned(), left_by_filters(attributes))))
            }
        }
    }

    /// Returns the filters' output for the device.
    fn converted(
        &self,
        target: &Target,
        source: &Source<'_>,
        to: &str,
    ) -> Result<Document, Outcome> {
        let Some(filters) = self.filters else { unreachable!("without filters nothing is") };
        let mut made = convert::converted(self, filters, source, to, target)?;
        let failed =
            |error| Outcome::Failed(format!("cannot read its converted document: {error}"));
        let size = made.seek(SeekFrom::End(0)).map_err(failed)?;
        made.rewind().map_err(failed)?;
        Ok(Document::new(Box::new(made), Some(size)))
    }

    /// Prints a sheet before or after the job.
    fn sheet(&self, target: &Target, name: &str, to: &str) -> Result<(), Outcome> {
        let data = self.converted(target, &Source::Sheet(name), to)?;
        let template = left_by_filters(respond::template(&self.work.ticket.template));
        let form = Form { format: to.to_owned(), template, copies: 1 };
        self.send(target, data, name, &form)
    }

    fn send(
        &self,
        target: &Target,
        mut document: Document,
        name: &str,
        form: &Form,
    ) -> Result<(), Outcome> {
        let ticket = &self.work.ticket;
        let way = match target.protocol {
            Protocol::Raw => JobProtocol::Raw(Raw { pjl: false, close: Some(RAW_CLOSE) }),
            Protocol::Lpr => JobProtocol::Lpr(Lpr {
                data_first: false,
                stream: None,
                host: ticket.host.to_string(),
                number: u16::try_from(self.work.id % 1_000).unwrap_or(0),
                copies: u16::try_from(form.copies).unwrap_or(1),
            }),
            Protocol::Ipp => JobProtocol::Ipp(Ipp {
                version: Version(2, 0),
                create_job: self.creates_jobs,
                compression: Compression::None,
                format: form.format.clone(),
                template: form.template.clone(),
                follow: FollowMode::ToItsEnd,
            }),
        };
        let job = windlass_print::Job {
            target: target.clone(),
            way,
            name: name.to_owned(),
            user: ticket.user.to_string(),
            patience: self.patience.clone(),
            on_break: OnBreak::Reset,
            status: self.printer.status.clone(),
        };
        let bare = dial_within(self.printer.contact);
        let dial = self.access.over(&bare, self.printer.contact);
        let size = document.size().unwrap_or(0);
        self.document_size.store(size, Ordering::Relaxed);
        match send(&job, &mut document, self.monitor, &dial) {
            Ok(Answer::Ipp(answer)) => self.followed(&job, &dial, &answer, size),
            Ok(_) => Ok(()),
            Err(error) => Err(self.outcome(&error, size)),
        }
    }

    /// Judges the end of a job that the device accepted.
    fn followed(
        &self,
        job: &windlass_print::Job,
        dial: &Dial<'_>,
        answer: &IppAnswer,
        size: u64,
    ) -> Result<(), Outcome> {
        let Some(end) = &answer.end else {
            let Some(id) = answer.job_id.filter(|_| !(self.is_wanted)()) else { return Ok(()) };
            // The device has all of the job, and nobody wants the job any more.
            let why = match cancel(job, id, dial) {
                Ok(()) => "the device was asked to cancel the job".to_owned(),
                Err(error) => format!("the device did not cancel the job: {}", described(&error)),
            };
            let partial = PartialPrint { bytes: size, of: size, is_reported: false };
            return Err(Outcome::Partial(why, partial));
        };
        if let Some(sides) = end.impressions.filter(|sides| *sides > 0) {
            (self.printed)(sides);
        }
        let reasons = match end.reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", end.reasons.join(", ")),
        };
        match end.state {
            Some(JobState::Aborted) => {
                Err(Outcome::Refused(format!("the device aborted the job{reasons}")))
            }
            Some(JobState::Canceled) => {
                Err(Outcome::Canceled(format!("the job was canceled at the device{reasons}")))
            }
            // A job that the device has forgotten was accepted.
            _ => Ok(()),
        }
    }

    /// Returns the outcome for an error, with a document of `size` bytes.
    fn outcome(&self, error: &windlass_print::Error, size: u64) -> Outcome {
        let why = described(error);
        let taken = self.monitor.taken().filter(|taken| taken.acknowledged > 0);
        if error.status() == Some(Status::BUSY) {
            Outcome::Busy(why)
        } else if error.is_final() {
            Outcome::Refused(why)
        } else if let Some(taken) = taken.filter(|_| !error.is_refusal()) {
            let partial =
                PartialPrint { bytes: taken.sent, of: size, is_reported: taken.is_reported };
            Outcome::Partial(why, partial)
        } else {
            Outcome::Failed(why)
        }
    }
}

/// Cancels a job at its device.
fn cancel(
    job: &windlass_print::Job,
    id: i32,
    dial: &Dial<'_>,
) -> Result<(), windlass_print::Error> {
    // The monitor of the job is stopped already.
    let monitor = Monitor::default();
    let mut asker = Asker::new(&job.target, &job.user, &monitor, dial, CANCELING);
    let request = asker.request_of_number(Operation::CANCEL_JOB, &job.target.uri(), id);
    asker.ask(&request).map(drop)
}

fn broken_off() -> io::Error {
    io::Error::other("the transfer was interrupted")
}

/// Number of first bytes that decide whether a document is text; cupsd checks as many.
const SEEN: u64 = 1_024;

/// Returns whether bytes at the beginning of a document are text, by CUPS's mime.types.
fn is_text(head: &[u8]) -> bool {
    let is_printable =
        |byte: &u8| matches!(byte, 0x20..=0x7e | 0x80.. | b'\t' | b'\n' | b'\r' | 0x08 | 0x0c);
    !head.is_empty() && head.iter().all(is_printable)
}

/// Form in which a device gets a document.
struct Form {
    format: String,
    /// Attributes that the device is to carry out.
    template: Vec<Attribute>,
    copies: u32,
}

/// Adds the number of copies to the attributes that the device carries out.
fn with_copies(mut template: Vec<Attribute>, copies: u32) -> Vec<Attribute> {
    if copies > 1 {
        let copies = Value::Integer(i32::try_from(copies).unwrap_or(1));
        template.push(Attribute::new("copies", copies));
    }
    template
}

/// Returns the maximum number of copies that a printer supports.
fn copies_supported(said: Option<&Group>) -> u32 {
    let attribute = said.and_then(|group| group.attribute("copies-supported"));
    let most = match attribute.and_then(|attribute| attribute.values.first()) {
        Some(Value::Range(_, most) | Value::Integer(most)) => *most,
        _ => 1,
    };
    u32::try_from(most).unwrap_or(1).max(1)
}

/// Returns the text of an error and of its causes.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
