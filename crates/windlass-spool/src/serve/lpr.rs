//! LPR server (RFC 1179). Jobs arrive with their files in either order, with sizes or up to the end
//! of the connection. The queries of `lpq` and `lprm` are answered.

use std::sync::Arc;
use std::time::Duration;

use windlass_spool_core::lpq::{JobSelection, said};
use windlass_spool_core::{Refusal, Right, Ticket, with_copies};
use windlass_wire::ipp::server::cut;
use windlass_wire::lpr::{Ack, Command, ControlFile, ENDLESS, FILE_END, JobCommand, line};

use super::client::{Client, ConnectionEnd, Deadline, ReceiveError};
use crate::spooler::Spooler;
use crate::spooler::intake::Intake;
use crate::table::{FiledDocument, now};

/// Maximum size of a control file in bytes. Each copy of each file has a line.
const MAX_CONTROL: u64 = 64 << 10;

/// Maximum number of data files of a job: their names have one letter each, and some senders use
/// both cases (section 6.2).
const MAX_FILES: usize = 52;

/// Maximum number of copies of all files together.
const MAX_COPIES: usize = 999;

/// Minimum rate in bytes per second of a file with a known size. Such a file exists already, so
/// only the network or an attacker is slow. A modem of 1995 had three times that rate.
const SLOWEST: u64 = 1_000;

/// Wait after an announced size of 0. A sender that really means an empty file sends only the
/// file's end, and then waits for an answer.
const EMPTY: Duration = Duration::from_secs(2);

/// Serves a connection to its end.
pub(super) fn serve(client: Client, spooler: &Arc<Spooler>) {
    let peer = client.peer();
    let whole = client.deadline(client.limits.longest);
    let lines = client.deadline(client.limits.before());
    let mut talk = LprSession { client, spooler, whole, lines };
    let (what, ack) = match talk.all() {
        Ok(()) | Err(ReceiveError::Gone(ConnectionEnd::Ending)) => return,
        Err(ReceiveError::Gone(gone)) => (format!("by LPR, within a request: {gone}"), None),
        Err(ReceiveError::Refused(refusal)) => {
            (format!("by LPR: refused: {refusal}"), Some(ack(&refusal)))
        }
        Err(ReceiveError::Garbled(what)) => (format!("by LPR: {what}"), Some(Ack::Refused)),
        Err(no @ ReceiveError::Forbidden(_)) => {
            (format!("by LPR: refused: {no}"), Some(Ack::Refused))
        }
    };
    talk.client.gate.tell_each(&peer, what, spooler);
    // The client may not listen any more.
    if let Some(ack) = ack
        && talk.client.say(&[ack.byte()]).is_ok()
    {
        talk.client.part();
    }
}

/// Returns the LPR answer to a refusal.
const fn ack(refusal: &Refusal) -> Ack {
    match refusal {
        // Temporary refusals: BSD's daemon answers the same for a full disk.
        Refusal::Full(_) | Refusal::TooManyJobs { .. } | Refusal::Broken(_) => Ack::Later,
        Refusal::TooLarge(_) => Ack::Failed,
        _ => Ack::Refused,
    }
}

impl From<windlass_wire::lpr::Error> for ReceiveError {
    fn from(error: windlass_wire::lpr::Error) -> Self {
        Self::Garbled(error.to_string())
    }
}

/// An LPR connection.
struct LprSession<'a> {
    client: Client,
    spooler: &'a Arc<Spooler>,
    /// Deadline of the whole connection.
    whole: Deadline,
    /// Deadline of everything before the next data file, however many lines that is.
    lines: Deadline,
}

/// A job that is being received.
#[derive(Default)]
struct LprJob {
    control: Option<ControlFile>,
    /// Data files by their names.
    files: Vec<(Vec<u8>, FiledDocument)>,
}

impl LprSession<'_> {
    fn all(&mut self) -> Result<(), ReceiveError> {
        let line = match self.line() {
            // A client that connects and sends nothing only checks whether the server is there.
            Err(ReceiveError::Gone(ConnectionEnd::Closed)) if self.client.data().is_empty() => {
                return Ok(());
            }
            line => line?,
        };
        let rights = self.client.requester.rights;
        let may =
            |right| if rights.has(right) { Ok(()) } else { Err(ReceiveError::Forbidden(right)) };
        match Command::decode(&line)? {
            Command::PrintWaiting { queue } => {
                may(Right::Print)?;
                let place = self.place(&queue)?;
                self.spooler.change(|table| {
                    // A printer that waits for its device tries at once; a stopped printer stays
                    // stopped.
                    if table.printers()[place].stopped.is_none() {
                        table.start(place, now());
                    }
                })?;
                self.acknowledge()
            }
            Command::ReceiveJob { queue } => {
                may(Right::Print)?;
                let place = self.place(&queue)?;
                self.acknowledge()?;
                self.jobs(place)
            }
            Command::State { queue, long, list } => {
                may(Right::See)?;
                let place = self.place(&queue)?;
                let asked = JobSelection::new(&list);
                let text = self.spooler.look(|table| asked.told(table, place, long, now()));
                Ok(self.client.say(text.as_bytes())?)
            }
            Command::Remove { queue, agent, list } => {
                may(Right::Own)?;
                let place = self.place(&queue)?;
                let (agent, asked) = (said(&agent), JobSelection::new(&list));
                self.spooler.change(|table| asked.cancel(table, place, &agent, rights, now()))?;
                self.acknowledge()
            }
        }
    }

    fn place(&self, queue: &[u8]) -> Result<usize, ReceiveError> {
        let name = said(queue);
        Ok(self.spooler.look(|table| table.place(&name))?)
    }

    fn acknowledge(&mut self) -> Result<(), ReceiveError> {
        Ok(self.client.say(&[Ack::Done.byte()])?)
    }

    /// Returns the next line, without its end.
    fn line(&mut self) -> Result<Vec<u8>, ReceiveError> {
        let by = self.lines.or_sooner(self.whole);
        loop {
            if let Some((found, used)) = line(self.client.data())? {
                let found = found.to_vec();
                self.client.used(used);
                return Ok(found);
            }
            self.client.fill_by(by)?;
        }
    }

    /// Restarts the deadline after a data file.
    fn renew(&mut self) {
        self.lines = self.client.deadline(self.client.limits.before());
    }

    /// Returns the deadline of a data file of this size.
    fn by_size(&self, size: u64) -> Deadline {
        let given = Duration::from_secs(size / SLOWEST);
        let given = given.saturating_add(self.client.limits.before());
        self.client.deadline(given).or_sooner(self.whole)
    }

    /// Receives jobs up to the end of the connection.
    fn jobs(&mut self, place: usize) -> Result<(), ReceiveError> {
        loop {
            // A client that is silent, or has sent all, does not count as a job.
            let mut admission = None;
            let mut coming = LprJob::default();
            loop {
                let line = match self.line() {
                    // Between two jobs, the connection may end.
                    Err(ReceiveError::Gone(ConnectionEnd::Closed)) if coming.is_empty() => {
                        return Ok(());
                    }
                    line => line?,
                };
                let command = JobCommand::decode(&line)?;
                if admission.is_none() && command != JobCommand::Abort {
                    admission = Some(self.spooler.admit(place)?);
                }
                let is_at_end = match command {
                    JobCommand::Abort => {
                        if let Some(unused) = admission.take() {
                            // The sender aborts the job: nobody refused it.
                            unused.spared();
                        }
                        coming = LprJob::default();
                        self.acknowledge()?;
                        continue;
                    }
                    JobCommand::ControlFile { size, .. } => {
                        coming.control = Some(self.control_file(size)?);
                        false
                    }
                    JobCommand::DataFile { size, name } => {
                        if coming.files.len() == MAX_FILES {
                            let what = format!("a job has at most {MAX_FILES} data files");
                            return Err(ReceiveError::Garbled(what));
                        }
                        let (filed, is_at_end) = self.data_file(size, &name)?;
                        coming.files.retain(|(other, _)| *other != name);
                        coming.files.push((name, filed));
                        is_at_end
                    }
                };
                if coming.is_whole() || is_at_end {
                    let (ticket, documents) = coming.finished(&self.client)?;
                    if let Some(admission) = admission.take() {
                        self.spooler.file(admission, ticket, documents)?;
                    }
                    let told = self.acknowledge();
                    if is_at_end {
                        // The client may not listen any more.
                        return Ok(());
                    }
                    told?;
                    break;
                }
                self.acknowledge()?;
            }
        }
    }

    fn control_file(&mut self, size: u64) -> Result<ControlFile, ReceiveError> {
        if size > MAX_CONTROL {
            let what = format!("its control file has {size} bytes, the maximum is {MAX_CONTROL}");
            return Err(ReceiveError::Garbled(what));
        }
        self.acknowledge()?;
        let (mut bytes, by) = (Vec::new(), self.lines.or_sooner(self.whole));
        self.counted(size, by, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        if self.file_end(by)? {
            return Err(ConnectionEnd::Closed.into());
        }
        Ok(ControlFile::decode(&bytes))
    }

    /// Receives a data file, and returns whether the connection ended with it.
    fn data_file(&mut self, size: u64, name: &[u8]) -> Result<(FiledDocument, bool), ReceiveError> {
        let is_stream = size == 0 || size >= ENDLESS;
        if let Some(most) = self.spooler.max_document().filter(|most| !is_stream && size > *most) {
            return Err(Refusal::TooLarge(most).into());
        }
        let mut intake = Intake::new(self.spooler, (!is_stream).then_some(size));
        self.acknowledge()?;
        let is_at_end = if is_stream {
            self.streamed(size == 0, &mut |piece| intake.append(piece))?
        } else {
            let by = self.by_size(size);
            self.counted(size, by, &mut |piece| intake.append(piece))?;
            self.file_end(by)?
        };
        self.renew();
        Ok((intake.finish(said(name))?, is_at_end))
    }

    /// Passes on `size` bytes.
    fn counted(
        &mut self,
        size: u64,
        by: Deadline,
        to: &mut dyn FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<(), ReceiveError> {
        let mut left = size;
        while left > 0 {
            if self.client.data().is_empty() {
                self.client.fill_by(by)?;
            }
            let data = self.client.data();
            let piece = &data[..data.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            to(piece)?;
            let used = piece.len();
            self.client.used(used);
            left -= used as u64;
        }
        Ok(())
    }

    /// Passes on all data up to the end of the connection, and returns whether the connection
    /// ended. An announced empty file ends with its own end byte instead.
    fn streamed(
        &mut self,
        may_be_empty: bool,
        to: &mut dyn FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<bool, ReceiveError> {
        let mut is_first = may_be_empty;
        loop {
            if is_first && self.client.data() == [FILE_END] {
                // Either more data follows, or the sender waits for an answer.
                match self.client.fill(EMPTY) {
                    Err(ConnectionEnd::Silent(_)) => {
                        self.client.used(1);
                        return Ok(false);
                    }
                    Err(ConnectionEnd::Closed) => {
                        self.client.used(1);
                        return Ok(true);
                    }
                    filled => filled?,
                }
            }
            let data = self.client.data();
            if !data.is_empty() {
                is_first = false;
                to(data)?;
                let used = data.len();
                self.client.used(used);
            }
            match self.client.fill_by(self.whole) {
                Err(ConnectionEnd::Closed) => return Ok(true),
                filled => filled?,
            }
        }
    }

    /// Reads the byte that ends a file. Some senders close the connection instead, as CUPS does
    /// with `mode=stream`. Returns whether the connection ended.
    fn file_end(&mut self, by: Deadline) -> Result<bool, ReceiveError> {
        if self.client.data().is_empty() {
            match self.client.fill_by(by) {
                Err(ConnectionEnd::Closed) => return Ok(true),
                filled => filled?,
            }
        }
        match self.client.data().first() {
            Some(&FILE_END) => {
                self.client.used(1);
                Ok(false)
            }
            other => Err(ReceiveError::Garbled(format!(
                "a file ends with {other:?} instead of a zero byte"
            ))),
        }
    }
}

impl LprJob {
    fn is_empty(&self) -> bool {
        self.control.is_none() && self.files.is_empty()
    }

    /// Returns the names of the data files in printing order, each as often as it is to be printed.
    fn printed(&self) -> Vec<&[u8]> {
        let Some(control) = &self.control else { return Vec::new() };
        // Letters of formats are lower case (section 7.19 ff.); `U` only removes.
        let lines = control.lines.iter().filter(|line| line.letter.is_ascii_lowercase());
        let names = lines.map(|line| line.text.as_slice().trim_ascii());
        names.filter(|name| name.starts_with(b"df")).take(MAX_COPIES).collect()
    }

    /// Returns whether all files that the control file names are there.
    fn is_whole(&self) -> bool {
        let has = |name: &&[u8]| self.files.iter().any(|(own, _)| own == name);
        self.control.is_some() && !self.files.is_empty() && self.printed().iter().all(has)
    }

    fn finished(self, client: &Client) -> Result<(Ticket, Vec<FiledDocument>), ReceiveError> {
        let mut documents = Vec::new();
        let (names, copies, is_collated) = with_copies(&self.printed());
        for name in names {
            let Some((_, filed)) = self.files.iter().find(|(own, _)| own == name) else {
                return Err(ReceiveError::Garbled(format!(
                    "the data file {:?} is missing",
                    said(name)
                )));
            };
            documents.push(filed.clone());
        }
        if documents.is_empty() {
            // The control file names none, or is missing.
            documents = self.files.iter().map(|(_, filed)| filed.clone()).collect();
        }
        let control = self.control.unwrap_or_default();
        let text = |letter: u8| control.text(letter).map(said).filter(|text| !text.is_empty());
        let name = text(b'J').or_else(|| text(b'N')).unwrap_or_else(|| "untitled".to_owned());
        let user = client.requester.name(text(b'P'));
        let peer = client.requester.peer.host();
        for filed in &mut documents {
            filed.name = cut(&name, 255).into();
        }
        let host = text(b'H').map_or(peer, |host| cut(&host, 255).to_owned());
        let ticket = Ticket::new(cut(&name, 255), cut(&user, 255), host);
        Ok((Ticket { copies, is_collated, ..ticket }, documents))
    }
}
