//! LPR (RFC 1179): a queue, a control file and a data file, each answered with a byte.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;
use windlass_wire::lpr::{Ack, Command, ControlFile, ENDLESS, FILE_END, JobCommand};

use crate::document::Document;
use crate::error::{Error, LPR_QUEUE, one_line};
use crate::job::{Job, Lpr, StreamSize};
use crate::link::{CountedDocument, Link, ReadOutcome, bare};

/// Longest wait for text after a refusal.
const WORDS: Duration = Duration::from_millis(500);

/// Maximum size of that text.
const MAX_WORDS: usize = 1_024;

/// Names of the steps after the queue's.
const CONTROL_NAME: &str = "the name of the control file";
const CONTROL: &str = "the control file";
const DATA_NAME: &str = "the name of the data file";
const DATA: &str = "the data file";

/// Activity for most of the time.
const SENDING: &str = "the data file was sent";

/// An answered step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LprStep {
    /// Name of the step.
    pub name: &'static str,
    /// Time from sending it to its answer.
    pub seconds: Span,
}

/// Result of a job over LPR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LprAnswer {
    /// Number of the job in the names of its files.
    pub number: u16,
    /// Steps, all of which were answered with zero.
    pub steps: Vec<LprStep>,
    /// True if the server acknowledged the data file: for a file without an end, some servers close
    /// the connection without an answer.
    pub confirmed: bool,
}

/// Returns the activity of waiting for a step, for use after "while".
fn waiting(step: &'static str) -> &'static str {
    match step {
        LPR_QUEUE => "windlass waited for the answer to the queue's name",
        CONTROL_NAME => "windlass waited for the answer to the control file's name",
        CONTROL => "windlass waited for the answer to the control file",
        DATA_NAME => "windlass waited for the answer to the data file's name",
        _ => "windlass waited for the answer to the data file",
    }
}

/// Conversation with a server.
struct LprConversation<'a> {
    link: Link<'a>,
    steps: Vec<LprStep>,
}

pub(crate) fn send(
    link: Link<'_>,
    job: &Job,
    lpr: &Lpr,
    document: &mut Document,
) -> Result<LprAnswer, Error> {
    let number = lpr.number % 1_000;
    let host = lpr.host.replace(|one: char| one <= ' ' || one.is_control(), "");
    let file = |kind: &str| format!("{kind}A{number:03}{host}").into_bytes();
    let size = match (document.size(), lpr.stream) {
        (_, Some(StreamSize::Endless)) => ENDLESS,
        (_, Some(StreamSize::Zero)) => 0,
        (Some(0), None) => {
            let wrong = "LPR cannot send an empty file: a size of 0 means unknown";
            return Err(Error::Asked(wrong.to_owned()));
        }
        (Some(size), None) => size,
        (None, None) => {
            let wrong = "LPR announces the size before the data, and the size is not known";
            return Err(Error::Asked(wrong.to_owned()));
        }
    };
    let refused = |error: windlass_wire::lpr::Error| Error::Asked(error.to_string());
    let receive = Command::ReceiveJob { queue: job.target.queue.clone().into_bytes() };
    let receive = receive.encode().map_err(refused)?;
    let data = String::from_utf8_lossy(&file("df")).into_owned();
    let control = control_file(job, &host, (&data, lpr.copies)).encode();
    let about_control = JobCommand::ControlFile { size: control.len() as u64, name: file("cf") };
    let about_control = about_control.encode().map_err(refused)?;
    let about_data = JobCommand::DataFile { size, name: file("df") }.encode().map_err(refused)?;
    link.announce();
    let mut talk = LprConversation { link, steps: Vec::new() };
    talk.step(LPR_QUEUE, &receive)?;
    let with_end = [&control[..], &[FILE_END]].concat();
    if !lpr.data_first {
        talk.step(CONTROL_NAME, &about_control)?;
        talk.step(CONTROL, &with_end)?;
    }
    talk.step(DATA_NAME, &about_data)?;
    let confirmed = talk.data(document, lpr.stream.is_some())?;
    if lpr.data_first {
        talk.step(CONTROL_NAME, &about_control)?;
        talk.step(CONTROL, &with_end)?;
    }
    talk.link.complete();
    talk.link.half_close()?;
    Ok(LprAnswer { number, steps: talk.steps, confirmed })
}

/// Returns the control file, like that of CUPS's backend. `l` passes the data on unchanged, and
/// occurs once for each copy (RFC 1179, section 7.17 and after).
fn control_file(job: &Job, host: &str, (data, copies): (&str, u16)) -> ControlFile {
    let mut file = ControlFile::default();
    for (letter, text) in [(b'H', host), (b'P', &job.user), (b'J', &job.name)] {
        file.push(letter, text);
    }
    for _ in 0..copies.max(1) {
        file.push(b'l', data);
    }
    file.push(b'U', data);
    file.push(b'N', &job.name);
    file
}

impl LprConversation<'_> {
    /// Sends a step, and waits for the answer.
    fn step(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), Error> {
        let began = Instant::now();
        // A server that refuses may close before everything is sent.
        match self.link.say(bytes, waiting(name)) {
            Err(Error::Gone { .. }) if !self.link.inbox.is_empty() => {}
            done => done?,
        }
        self.answer(name)?;
        self.steps.push(LprStep { name, seconds: Span::from_duration(began.elapsed()) });
        Ok(())
    }

    /// Sends the data file. Returns whether the server acknowledged it.
    fn data(&mut self, document: &mut Document, streams: bool) -> Result<bool, Error> {
        let (began, link) = (Instant::now(), &mut self.link);
        let monitor = link.monitor;
        // An answer in the middle is a refusal; an early acknowledgement is read at the end.
        let mut goes_on =
            |link: &mut Link<'_>| !link.at_end && link.inbox.first().is_none_or(|byte| *byte == 0);
        let sent =
            link.document(&mut CountedDocument(document, monitor), &bare, SENDING, &mut goes_on);
        let is_whole = match sent {
            Err(Error::Gone { .. }) if !link.inbox.is_empty() => false,
            done => done?,
        };
        if is_whole && streams {
            // The end of the stream is the end of the file.
            link.drain(SENDING, &mut |_| {})?;
            link.half_close()?;
        } else if is_whole {
            link.put(&[FILE_END], SENDING, &mut goes_on)?;
        }
        if streams && is_whole && self.ends_unanswered(waiting(DATA))? {
            self.link.has_all();
            return Ok(false);
        }
        self.answer(DATA)?;
        self.link.has_all();
        self.link.monitor.answered();
        self.steps.push(LprStep { name: DATA, seconds: Span::from_duration(began.elapsed()) });
        Ok(true)
    }

    /// Returns whether the server closes without an answer.
    fn ends_unanswered(&mut self, during: &'static str) -> Result<bool, Error> {
        Ok(self.link.inbox.is_empty() && self.link.more(during)? == ReadOutcome::End)
    }

    /// Waits for a byte, which must be zero.
    fn answer(&mut self, step: &'static str) -> Result<(), Error> {
        let during = waiting(step);
        while self.link.inbox.is_empty() {
            if self.link.more(during)? == ReadOutcome::End {
                return Err(Error::Gone { during });
            }
        }
        match Ack::new(self.link.inbox.remove(0)) {
            Ack::Done => Ok(()),
            ack => Err(Error::Lpr { step, ack, text: self.words(during) }),
        }
    }

    /// Returns the text after a refusal, in which LPRng gives its reason.
    fn words(&mut self, during: &'static str) -> String {
        let end = self.link.now() + WORDS;
        while self.link.inbox.len() < MAX_WORDS {
            let Ok(Some(ReadOutcome::Bytes)) = self.link.more_until(during, end) else { break };
        }
        let kept = &self.link.inbox[..self.link.inbox.len().min(MAX_WORDS)];
        one_line(&String::from_utf8_lossy(kept))
    }
}
