//! LPR (RFC 1179): a queue, a control file and a data file, each answered by a
//! byte.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;
use windlass_wire::lpr::{Ack, Command, ControlFile, ENDLESS, FILE_END, JobCommand};

use crate::document::Document;
use crate::error::{Error, LPR_QUEUE, one_line};
use crate::job::{Job, Lpr, Streaming};
use crate::link::{Counting, Link, More, bare};

/// How long text may follow a refusal.
const WORDS: Duration = Duration::from_millis(500);

/// The most of it.
const MAX_WORDS: usize = 1_024;

/// The steps after the queue's.
const CONTROL_NAME: &str = "the name of the control file";
const CONTROL: &str = "the control file";
const DATA_NAME: &str = "the name of the data file";
const DATA: &str = "the data file";

/// The activity that takes most of the time.
const SENDING: &str = "the data file was sent";

/// A step that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LprStep {
    /// What was sent.
    pub name: &'static str,
    /// From when it was sent until it was answered.
    pub seconds: Span,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LprAnswer {
    /// The job's number in the names of its files.
    pub number: u16,
    /// Each step; all were answered with zero.
    pub steps: Vec<LprStep>,
    /// Whether the server said that it has the data file: where that has no end,
    /// some close the connection without a word.
    pub confirmed: bool,
}

/// Returns the words for a step that stand behind "while".
fn waiting(step: &'static str) -> &'static str {
    match step {
        LPR_QUEUE => "its answer to the queue's name was waited for",
        CONTROL_NAME => "its answer to the name of the control file was waited for",
        CONTROL => "its answer to the control file was waited for",
        DATA_NAME => "its answer to the name of the data file was waited for",
        _ => "its answer to the data file was waited for",
    }
}

/// A conversation.
struct Talk<'a> {
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
        (_, Some(Streaming::Endless)) => ENDLESS,
        (_, Some(Streaming::Zero)) => 0,
        (Some(0), None) => {
            let wrong = "LPR has no empty files: a size of 0 says that it is not known";
            return Err(Error::Asked(wrong.to_owned()));
        }
        (Some(size), None) => size,
        (None, None) => {
            let wrong = "LPR tells the size before the data, and it is not known";
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
    let mut talk = Talk { link, steps: Vec::new() };
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

/// What the job is: as CUPS's backend says it, with `l`, which passes the data on
/// as it is, and is there for each copy (RFC 1179, section 7.17 and after).
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

impl Talk<'_> {
    /// Says something, and waits for the answer.
    fn step(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), Error> {
        let began = Instant::now();
        // A server that refuses may have closed before all of it was sent.
        match self.link.say(bytes, waiting(name)) {
            Err(Error::Gone { .. }) if !self.link.inbox.is_empty() => {}
            done => done?,
        }
        self.answer(name)?;
        self.steps.push(LprStep { name, seconds: Span::from_duration(began.elapsed()) });
        Ok(())
    }

    /// Sends the data file. Tells whether the server said that it has it.
    fn data(&mut self, document: &mut Document, streams: bool) -> Result<bool, Error> {
        let (began, link) = (Instant::now(), &mut self.link);
        let monitor = link.monitor;
        // An answer in the middle is a refusal; a server that says yes early is
        // heard at the end.
        let mut goes_on =
            |link: &mut Link<'_>| !link.at_end && link.inbox.first().is_none_or(|byte| *byte == 0);
        let sent = link.document(&mut Counting(document, monitor), &bare, SENDING, &mut goes_on);
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

    /// Whether the server closes without a word.
    fn ends_unanswered(&mut self, during: &'static str) -> Result<bool, Error> {
        Ok(self.link.inbox.is_empty() && self.link.more(during)? == More::End)
    }

    /// Waits for a byte, which is to be zero.
    fn answer(&mut self, step: &'static str) -> Result<(), Error> {
        let during = waiting(step);
        while self.link.inbox.is_empty() {
            if self.link.more(during)? == More::End {
                return Err(Error::Gone { during });
            }
        }
        match Ack::new(self.link.inbox.remove(0)) {
            Ack::Done => Ok(()),
            ack => Err(Error::Lpr { step, ack, text: self.words(during) }),
        }
    }

    /// What follows a refusal, as LPRng tells why.
    fn words(&mut self, during: &'static str) -> String {
        let end = self.link.now() + WORDS;
        while self.link.inbox.len() < MAX_WORDS {
            let Ok(Some(More::Bytes)) = self.link.more_until(during, end) else { break };
        }
        let kept = &self.link.inbox[..self.link.inbox.len().min(MAX_WORDS)];
        one_line(&String::from_utf8_lossy(kept))
    }
}
