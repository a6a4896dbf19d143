//! LPR, as a daemon (RFC 1179): jobs in either order of their files, with sizes
//! or up to the end of the connection, and the questions of `lpq` and `lprm`.

use std::sync::Arc;
use std::time::Duration;

use windlass_spool_core::lpq::{Asked, said};
use windlass_spool_core::{Refusal, Right, Ticket, with_copies};
use windlass_wire::ipp::server::cut;
use windlass_wire::lpr::{Ack, Command, ControlFile, ENDLESS, FILE_END, JobCommand, line};

use super::client::{Client, Deadline, Gone, No};
use crate::spooler::Spooler;
use crate::spooler::intake::Intake;
use crate::table::{Filed, now};

/// The longest control file that is taken. Each copy of each file has a line.
const MAX_CONTROL: u64 = 64 << 10;

/// The most data files that a job has: their names have a letter each, and some
/// senders use both cases (section 6.2).
const MAX_FILES: usize = 52;

/// The most times that they are printed together.
const MAX_COPIES: usize = 999;

/// The slowest that a file may come whose size is said, in bytes per second: it is there
/// already, so only the line and ill will are slow. A modem of 1995 had three times as much.
const SLOWEST: u64 = 1_000;

/// Whoever announces 0 bytes and means it says so with the end of the file alone,
/// and then waits for an answer: so long.
const EMPTY: Duration = Duration::from_secs(2);

/// Serves a connection to its end.
pub(super) fn serve(client: Client, spooler: &Arc<Spooler>) {
    let peer = client.peer();
    let whole = client.deadline(client.limits.longest);
    let lines = client.deadline(client.limits.before());
    let mut talk = Talk { client, spooler, whole, lines };
    let (what, ack) = match talk.all() {
        Ok(()) | Err(No::Gone(Gone::Ending)) => return,
        Err(No::Gone(gone)) => (format!("by LPR, within a request: {gone}"), None),
        Err(No::Refused(refusal)) => (format!("by LPR: refused: {refusal}"), Some(ack(&refusal))),
        Err(No::Garbled(what)) => (format!("by LPR: {what}"), Some(Ack::Refused)),
        Err(no @ No::Forbidden(_)) => (format!("by LPR: refused: {no}"), Some(Ack::Refused)),
    };
    talk.client.gate.tell_each(&peer, what, spooler);
    // It may not listen any more.
    if let Some(ack) = ack
        && talk.client.say(&[ack.byte()]).is_ok()
    {
        talk.client.part();
    }
}

/// What a refusal is in LPR.
const fn ack(refusal: &Refusal) -> Ack {
    match refusal {
        // What passes: BSD's daemon says so of a full disk.
        Refusal::Full(_) | Refusal::TooManyJobs { .. } | Refusal::Broken(_) => Ack::Later,
        Refusal::TooLarge(_) => Ack::Failed,
        _ => Ack::Refused,
    }
}

impl From<windlass_wire::lpr::Error> for No {
    fn from(error: windlass_wire::lpr::Error) -> Self {
        Self::Garbled(error.to_string())
    }
}

/// A conversation.
struct Talk<'a> {
    client: Client,
    spooler: &'a Arc<Spooler>,
    /// When all of it is to be over.
    whole: Deadline,
    /// When what stands before the next data file is to be there, however many lines that is.
    lines: Deadline,
}

/// A job as far as it has come.
#[derive(Default)]
struct Coming {
    control: Option<ControlFile>,
    /// Data files by their names.
    files: Vec<(Vec<u8>, Filed)>,
}

impl Talk<'_> {
    fn all(&mut self) -> Result<(), No> {
        let line = match self.line() {
            // Who connects and says nothing looks whether there is somebody.
            Err(No::Gone(Gone::Closed)) if self.client.data().is_empty() => return Ok(()),
            line => line?,
        };
        let rights = self.client.requester.rights;
        let may = |right| if rights.has(right) { Ok(()) } else { Err(No::Forbidden(right)) };
        match Command::decode(&line)? {
            Command::PrintWaiting { queue } => {
                may(Right::Print)?;
                let place = self.place(&queue)?;
                self.spooler.change(|table| {
                    // A printer that waits for its device tries at once; one that was
                    // stopped stays so.
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
                let asked = Asked::new(&list);
                let text = self.spooler.look(|table| asked.told(table, place, long, now()));
                Ok(self.client.say(text.as_bytes())?)
            }
            Command::Remove { queue, agent, list } => {
                may(Right::Own)?;
                let place = self.place(&queue)?;
                let (agent, asked) = (said(&agent), Asked::new(&list));
                self.spooler.change(|table| asked.cancel(table, place, &agent, rights, now()))?;
                self.acknowledge()
            }
        }
    }

    fn place(&self, queue: &[u8]) -> Result<usize, No> {
        let name = said(queue);
        Ok(self.spooler.look(|table| table.place(&name))?)
    }

    fn acknowledge(&mut self) -> Result<(), No> {
        Ok(self.client.say(&[Ack::Done.byte()])?)
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<Vec<u8>, No> {
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

    /// There is a data file: what stands before the next one has its time anew.
    fn renew(&mut self) {
        self.lines = self.client.deadline(self.client.limits.before());
    }

    /// When a data file of this size is to be there.
    fn by_size(&self, size: u64) -> Deadline {
        let given = Duration::from_secs(size / SLOWEST);
        let given = given.saturating_add(self.client.limits.before());
        self.client.deadline(given).or_sooner(self.whole)
    }

    /// Takes jobs up to the end of the connection.
    fn jobs(&mut self, place: usize) -> Result<(), No> {
        loop {
            // Whoever is silent, or has said all, has no place among the jobs.
            let mut admission = None;
            let mut coming = Coming::default();
            loop {
                let line = match self.line() {
                    // Between two jobs is where a conversation ends.
                    Err(No::Gone(Gone::Closed)) if coming.is_empty() => return Ok(()),
                    line => line?,
                };
                let command = JobCommand::decode(&line)?;
                if admission.is_none() && command != JobCommand::Abort {
                    admission = Some(self.spooler.admit(place)?);
                }
                let is_at_end = match command {
                    JobCommand::Abort => {
                        if let Some(unused) = admission.take() {
                            // The sender takes it back: nobody refused it.
                            unused.spared();
                        }
                        coming = Coming::default();
                        self.acknowledge()?;
                        continue;
                    }
                    JobCommand::ControlFile { size, .. } => {
                        coming.control = Some(self.control_file(size)?);
                        false
                    }
                    JobCommand::DataFile { size, name } => {
                        if coming.files.len() == MAX_FILES {
                            let what = format!("a job has {MAX_FILES} data files at the most");
                            return Err(No::Garbled(what));
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
                        // It may not listen any more.
                        return Ok(());
                    }
                    told?;
                    break;
                }
                self.acknowledge()?;
            }
        }
    }

    fn control_file(&mut self, size: u64) -> Result<ControlFile, No> {
        if size > MAX_CONTROL {
            let what = format!("its control file has {size} bytes, {MAX_CONTROL} are taken");
            return Err(No::Garbled(what));
        }
        self.acknowledge()?;
        let (mut bytes, by) = (Vec::new(), self.lines.or_sooner(self.whole));
        self.counted(size, by, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        if self.file_end(by)? {
            return Err(Gone::Closed.into());
        }
        Ok(ControlFile::decode(&bytes))
    }

    /// Receives a data file, and tells whether the connection ended with it.
    fn data_file(&mut self, size: u64, name: &[u8]) -> Result<(Filed, bool), No> {
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

    /// Gives on so many bytes.
    fn counted(
        &mut self,
        size: u64,
        by: Deadline,
        to: &mut dyn FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<(), No> {
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

    /// Gives on all up to the end of the connection. An empty file that is announced
    /// as such ends with its own end, which this tells with `false`.
    fn streamed(
        &mut self,
        may_be_empty: bool,
        to: &mut dyn FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<bool, No> {
        let mut is_first = may_be_empty;
        loop {
            if is_first && self.client.data() == [FILE_END] {
                // More of it, or nothing and the wait for an answer.
                match self.client.fill(EMPTY) {
                    Err(Gone::Silent(_)) => {
                        self.client.used(1);
                        return Ok(false);
                    }
                    Err(Gone::Closed) => {
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
                Err(Gone::Closed) => return Ok(true),
                filled => filled?,
            }
        }
    }

    /// The byte that ends a file. Some senders end the connection in its place, as
    /// CUPS's with `mode=stream`; this tells of that with `true`.
    fn file_end(&mut self, by: Deadline) -> Result<bool, No> {
        if self.client.data().is_empty() {
            match self.client.fill_by(by) {
                Err(Gone::Closed) => return Ok(true),
                filled => filled?,
            }
        }
        match self.client.data().first() {
            Some(&FILE_END) => {
                self.client.used(1);
                Ok(false)
            }
            other => Err(No::Garbled(format!("a file ends with {other:?} and not with zero"))),
        }
    }
}

impl Coming {
    fn is_empty(&self) -> bool {
        self.control.is_none() && self.files.is_empty()
    }

    /// The names of the data files in the order in which they are printed, each as
    /// often as it is to be.
    fn printed(&self) -> Vec<&[u8]> {
        let Some(control) = &self.control else { return Vec::new() };
        // Letters of formats are small (section 7.19 ff.); `U` only removes.
        let lines = control.lines.iter().filter(|line| line.letter.is_ascii_lowercase());
        let names = lines.map(|line| line.text.as_slice().trim_ascii());
        names.filter(|name| name.starts_with(b"df")).take(MAX_COPIES).collect()
    }

    /// Whether all is there that the control file names.
    fn is_whole(&self) -> bool {
        let has = |name: &&[u8]| self.files.iter().any(|(own, _)| own == name);
        self.control.is_some() && !self.files.is_empty() && self.printed().iter().all(has)
    }

    fn finished(self, client: &Client) -> Result<(Ticket, Vec<Filed>), No> {
        let mut documents = Vec::new();
        let (names, copies, is_collated) = with_copies(&self.printed());
        for name in names {
            let Some((_, filed)) = self.files.iter().find(|(own, _)| own == name) else {
                return Err(No::Garbled(format!("the data file {:?} did not come", said(name))));
            };
            documents.push(filed.clone());
        }
        if documents.is_empty() {
            // A control file that names none, or none at all.
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
