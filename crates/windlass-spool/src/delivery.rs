//! A job on its way to a device.

mod command;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use windlass_print::{
    Compression, Document, Ipp, Lpr, Monitor, Protocol, Raw, Sending, Target, dial_within, send,
};
use windlass_spool_core::{Device, Outcome, respond};
use windlass_wire::ipp::{Status, Version};

use crate::store;
use crate::table::{Filed, Job};

/// How much is read of a document at a time.
const PIECE: usize = 256 << 10;

/// A job and where it stands.
pub(crate) struct Delivery<'a> {
    pub(crate) printer: &'a str,
    pub(crate) work: &'a Job,
    pub(crate) monitor: &'a Monitor,
    /// How long the device may do nothing.
    pub(crate) patience: Duration,
}

impl Delivery<'_> {
    /// Gives it to the device.
    pub(crate) fn to(&self, device: &Device, buffer: &mut Vec<u8>) -> Outcome {
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
            Device::Command(command) => {
                command::run(self, command, buffer).map_err(Outcome::Failed)
            }
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
        let is_stopped = self.monitor.is_stopped();
        if is_stopped { Err(io::Error::other("it was broken off")) } else { Ok(()) }
    }

    /// Copies all documents, as long as it is not broken off.
    fn copy(&self, to: &mut dyn Write, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(PIECE, 0);
        let mut from = chained(&self.work.documents);
        loop {
            self.goes_on()?;
            match from.read(buffer)? {
                0 => return to.flush(),
                got => to.write_all(&buffer[..got])?,
            }
        }
    }

    /// The same, with the kernel's help where the file takes its bytes at once.
    fn copy_to_file(&self, to: &mut File, buffer: &mut Vec<u8>) -> io::Result<()> {
        let kind = to.metadata()?.file_type();
        if !kind.is_file() && !kind.is_char_device() {
            return self.copy(to, buffer);
        }
        for filed in &self.work.documents {
            let mut from = filed.document.reader();
            while from.copy_to(to, PIECE)? > 0 {
                self.goes_on()?;
            }
        }
        Ok(())
    }

    /// Into a folder each job goes as a file of its own, whole or not at all: it
    /// has its name when it has its data. What it is called is made of numbers and
    /// of the printer's name alone.
    fn to_file(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        if !path.is_dir() {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
            return self.copy_to_file(&mut file, buffer);
        }
        let name = format!("{}-{:08}", self.printer, self.work.id);
        let partial = path.join(format!(".{name}.part"));
        let copied =
            File::create(&partial).and_then(|mut file| self.copy_to_file(&mut file, buffer));
        let done = copied.and_then(|()| fs::rename(&partial, path.join(name)));
        if done.is_err() {
            // Where it cannot be removed it is overwritten the next time.
            let _ = fs::remove_file(&partial);
        }
        done
    }

    fn to_target(&self, target: &Target) -> Result<(), Outcome> {
        let documents = &self.work.documents;
        if target.protocol.is_data_alone() {
            let document = Document::new(chained(documents), Some(self.work.size));
            return self.send(target, document, &self.work.ticket.name);
        }
        for Filed { document, name } in documents {
            let data = Document::new(Box::new(document.reader()), Some(document.size()));
            // What the journal had no room for is called as its job is.
            let name = if name.is_empty() { &self.work.ticket.name } else { name };
            self.send(target, data, name)?;
        }
        Ok(())
    }

    fn send(&self, target: &Target, mut document: Document, name: &str) -> Result<(), Outcome> {
        let ticket = &self.work.ticket;
        let way = match target.protocol {
            Protocol::Raw => Sending::Raw(Raw::default()),
            Protocol::Lpr => Sending::Lpr(Lpr {
                data_first: false,
                stream: None,
                host: ticket.host.to_string(),
                number: u16::try_from(self.work.id % 1_000).unwrap_or(0),
            }),
            Protocol::Ipp => Sending::Ipp(Ipp {
                version: Version(2, 0),
                create_job: false,
                compression: Compression::None,
                format: ticket.format.to_string(),
                template: respond::template(&ticket.template),
                wait: None,
            }),
        };
        let job = windlass_print::Job {
            target: target.clone(),
            way,
            name: name.to_owned(),
            user: ticket.user.to_string(),
            patience: self.patience,
        };
        let sent = send(&job, &mut document, self.monitor, &dial_within(self.patience));
        match sent {
            Ok(_) => Ok(()),
            Err(error) if error.status() == Some(Status::BUSY) => {
                Err(Outcome::Busy(described(&error)))
            }
            Err(error) => Err(Outcome::Failed(described(&error))),
        }
    }
}

/// The documents of a job, one after the other.
fn chained(documents: &[Filed]) -> Box<dyn Read + Send> {
    let start: Box<dyn Read + Send> = Box::new(io::empty());
    documents.iter().fold(start, |before, filed| {
        Box::new(before.chain(store::Document::reader(&filed.document)))
    })
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
