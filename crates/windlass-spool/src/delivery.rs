//! A job on its way to a device.

mod command;
mod convert;
mod file;
mod rest;

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass_print::{
    Access, Answer, Asker, Compression, Dial, Document, Follow, Ipp, IppAnswer, Limit, Lpr,
    Monitor, OnBreak, Protocol, Raw, Sending, Target, dial_within, send,
};
use windlass_spool_core::{
    Conversions, Device, DeviceOffer, MAX_COPIES, Outcome, PartialPrint, Passage, Passes,
    PrinterSettings, left_by_filters, respond,
};
use windlass_wire::ipp::{Attribute, Group, JobState, Operation, Status, Value, Version};
use windlass_wire::pages::{Format, HEAD};

use self::convert::Source;
use self::rest::Rest;
use crate::asking;
use crate::commands::CommandSettings;
use crate::filters::Filters;
use crate::store::Document as Stored;
use crate::table::{Filed, Job};

/// How much is read of a document at a time.
const PIECE: usize = 256 << 10;

/// The time for which a raw device that has all may leave its connection open. CUPS's `socket`
/// backend waits as long.
const RAW_CLOSE: Duration = Duration::from_secs(90);

/// The longest that it may take to cancel a job that its device has.
const CANCELING: Duration = Duration::from_secs(5);

/// A job and where it stands.
pub(crate) struct Delivery<'a> {
    pub(crate) printer: &'a PrinterSettings,
    pub(crate) work: &'a Job,
    pub(crate) monitor: &'a Monitor,
    /// How long the device may do nothing.
    pub(crate) patience: Limit,
    /// Is told the bytes of each document whose data begins.
    pub(crate) document_size: &'a AtomicU64,
    /// What commands may.
    pub(crate) commands: &'a CommandSettings,
    /// Filters for documents that the device does not take.
    pub(crate) filters: Option<&'a Filters>,
    /// The device's word on what it takes.
    pub(crate) offer: &'a DeviceOffer,
    /// Which devices of TLS are trusted.
    pub(crate) access: &'a Access,
    /// Whether a file is to be on the disk before the job counts as delivered.
    pub(crate) is_synced: bool,
    /// Told of each part that the device has for good: how many passes it has by then.
    pub(crate) progressed: &'a (dyn Fn(u32) + Sync),
    /// True if the device takes a job of IPP before its document: then it tells what became of one
    /// that broke off.
    pub(crate) creates_jobs: bool,
    /// Told how many sides the device says it has printed of a document.
    pub(crate) printed: &'a (dyn Fn(u64) + Sync),
    /// Tells whether the job is to be printed by this device still.
    pub(crate) is_wanted: &'a (dyn Fn() -> bool + Sync),
    /// Asked before what is the last of it and cannot be taken back.
    pub(crate) may_end: &'a (dyn Fn() -> bool + Sync),
}

impl Delivery<'_> {
    /// Gives it to the device.
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

    /// Looks whether the documents are what came, before a device has anything of
    /// them: what is on paper cannot be taken back.
    fn check(&self, buffer: &mut Vec<u8>) -> Result<(), Outcome> {
        let documents = &self.work.documents;
        for (at, filed) in documents.iter().enumerate() {
            let failed = |error| Outcome::Failed(format!("read its document: {error}"));
            if !filed.document.is_whole(buffer).map_err(failed)? {
                let which = if documents.len() == 1 {
                    "its document".to_owned()
                } else {
                    format!("document {} of its {}", at + 1, documents.len())
                };
                return Err(Outcome::Damaged(format!(
                    "{which} is damaged in the spool: its bytes are not those that came \
                     (the checksum does not match), so nothing of it was printed"
                )));
            }
        }
        Ok(())
    }

    fn goes_on(&self) -> io::Result<()> {
        if self.monitor.is_stopped() { Err(broken_off()) } else { Ok(()) }
    }

    /// All that is still to be printed.
    fn rest(&self) -> Rest {
        Rest::of(self.work)
    }

    /// Copies all that is to be printed, as long as it is not broken off.
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
        // Each document is a job of its own there. What it has is not sent again.
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
        while let Some(Filed { document, name }) = self.work.documents.get(passes.document(pass))
            && pass < passes.count()
        {
            self.goes_on().map_err(|error| Outcome::Failed(error.to_string()))?;
            let copies = passes.same_from(pass).min(most);
            let (data, form) = self.formed(target, document, copies)?;
            // What the journal had no room for is called as its job is.
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

    /// How many copies of a document the device makes of one; it is asked only where it
    /// matters.
    fn most_copies(&self, target: &Target, passes: Passes, from: u32) -> Result<u32, Outcome> {
        let has_several = (from..passes.count()).any(|pass| passes.same_from(pass) > 1);
        if self.printer.repeats_copies || !has_several {
            return Ok(1);
        }
        match target.protocol {
            // It is not told by devices, and many servers do it.
            Protocol::Lpr => Ok(u32::from(MAX_COPIES)),
            Protocol::Raw => Ok(1),
            Protocol::Ipp => {
                let asked = (&*self.work.ticket.user, &["copies-supported"][..]);
                let by = (self.access, self.printer.contact);
                match asking::attributes(target, asked, self.monitor, by) {
                    Ok(said) => Ok(copies_supported(said.as_ref())),
                    // One that does not know the question has no word for copies either.
                    Err(error) if error.status().is_some() => Ok(1),
                    Err(error) => Err(self.outcome(&error, 0)),
                }
            }
        }
    }

    /// Returns a document as the device takes it, which makes so many copies.
    fn formed(
        &self,
        target: &Target,
        document: &Stored,
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
        read.map_err(|error| Outcome::Failed(format!("read its document: {error}")))?;
        let first = &head[..head.len().min(HEAD)];
        let found = Format::media_type(first).or_else(|| is_text(&head).then_some("text/plain"));
        match conversions.passage((&ticket.format, found), self.offer, &attributes) {
            Passage::AsItCame(format) => Ok((as_it_came(), form(format, attributes))),
            Passage::Refused(why) => Err(Outcome::Refused(why)),
            Passage::Converted { from, to } => {
                let data = self.converted(target, &Source::Document(document, &from), to)?;
                Ok((data, form(to.to_owned(), left_by_filters(attributes))))
            }
        }
    }

    /// Returns what filters make of something for the device.
    fn converted(
        &self,
        target: &Target,
        source: &Source<'_>,
        to: &str,
    ) -> Result<Document, Outcome> {
        let Some(filters) = self.filters else { unreachable!("without filters nothing is") };
        let mut made = convert::converted(self, filters, source, to, target)?;
        let failed = |error| Outcome::Failed(format!("read what was made of it: {error}"));
        let size = made.seek(SeekFrom::End(0)).map_err(failed)?;
        made.rewind().map_err(failed)?;
        Ok(Document::new(Box::new(made), Some(size)))
    }

    /// Prints a sheet before the job or behind it.
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
            Protocol::Raw => Sending::Raw(Raw { pjl: false, close: Some(RAW_CLOSE) }),
            Protocol::Lpr => Sending::Lpr(Lpr {
                data_first: false,
                stream: None,
                host: ticket.host.to_string(),
                number: u16::try_from(self.work.id % 1_000).unwrap_or(0),
                copies: u16::try_from(form.copies).unwrap_or(1),
            }),
            Protocol::Ipp => Sending::Ipp(Ipp {
                version: Version(2, 0),
                create_job: self.creates_jobs,
                compression: Compression::None,
                format: form.format.clone(),
                template: form.template.clone(),
                follow: Follow::ToItsEnd,
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

    /// Judges the end of a job that the device took.
    fn followed(
        &self,
        job: &windlass_print::Job,
        dial: &Dial<'_>,
        answer: &IppAnswer,
        size: u64,
    ) -> Result<(), Outcome> {
        let Some(end) = &answer.end else {
            let Some(id) = answer.job_id.filter(|_| !(self.is_wanted)()) else { return Ok(()) };
            // The device has all of it: nobody wants it any more.
            let why = match cancel(job, id, dial) {
                Ok(()) => "the device was told to cancel it".to_owned(),
                Err(error) => format!("the device does not cancel it: {}", described(&error)),
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
            // One that the device has forgotten it had accepted.
            _ => Ok(()),
        }
    }

    /// Returns what an error comes to, whose document has so many bytes.
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

/// Cancels a job that its device has.
fn cancel(
    job: &windlass_print::Job,
    id: i32,
    dial: &Dial<'_>,
) -> Result<(), windlass_print::Error> {
    // The job's own is stopped.
    let monitor = Monitor::default();
    let mut asker = Asker::new(&job.target, &job.user, &monitor, dial, CANCELING);
    let request = asker.request_of_number(Operation::CANCEL_JOB, &job.target.uri(), id);
    asker.ask(&request).map(drop)
}

fn broken_off() -> io::Error {
    io::Error::other("it was broken off")
}

/// So many bytes tell whether a document is text: cupsd looks at as many.
const SEEN: u64 = 1_024;

/// Returns whether bytes at the beginning of a document are text, by CUPS's mime.types.
fn is_text(head: &[u8]) -> bool {
    let is_printable =
        |byte: &u8| matches!(byte, 0x20..=0x7e | 0x80.. | b'\t' | b'\n' | b'\r' | 0x08 | 0x0c);
    !head.is_empty() && head.iter().all(is_printable)
}

/// The form in which a device gets a document.
struct Form {
    format: String,
    /// The attributes that its device is to carry out.
    template: Vec<Attribute>,
    copies: u32,
}

/// What a job asks of its device, which makes so many copies.
fn with_copies(mut template: Vec<Attribute>, copies: u32) -> Vec<Attribute> {
    if copies > 1 {
        let copies = Value::Integer(i32::try_from(copies).unwrap_or(1));
        template.push(Attribute::new("copies", copies));
    }
    template
}

/// How many copies a printer says that it makes of a job.
fn copies_supported(said: Option<&Group>) -> u32 {
    let attribute = said.and_then(|group| group.attribute("copies-supported"));
    let most = match attribute.and_then(|attribute| attribute.values.first()) {
        Some(Value::Range(_, most) | Value::Integer(most)) => *most,
        _ => 1,
    };
    u32::try_from(most).unwrap_or(1).max(1)
}

/// An error with what caused it.
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
