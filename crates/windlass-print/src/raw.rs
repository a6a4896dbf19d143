//! Raw printing: the data and nothing else, to port 9100.

use std::time::Duration;

use serde::Serialize;
use windlass_base::Bytes;
use windlass_wire::pjl::{Reader, Status, UEL};
use windlass_wire::status_source::StatusSource;

use crate::document::Document;
use crate::error::Error;
use crate::job::{Job, Raw};
use crate::link::{Counting, Link, More, bare};

/// The most that is kept of what a printer says; the rest is counted.
const MAX_KEPT: usize = 64 << 10;

/// How long a printer may take to say what it is before the data: those that know
/// no PJL say nothing.
pub(crate) const GREETING: Duration = Duration::from_secs(3);

/// What is being done for most of the time.
const SENDING: &str = "the data was sent";

/// The activity at the end.
const ENDING: &str = "the last of the data was acknowledged";

/// The time between two looks whether the printer has all.
const LOOK: Duration = Duration::from_millis(100);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawEnd {
    /// The printer closed it.
    Closed,
    /// The printer reset it, once it had all.
    Reset,
    /// The printer has all, and left it open for longer than is waited.
    LeftOpen,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawAnswer {
    /// Bytes on the back-channel.
    pub received_bytes: Bytes,
    /// The first 64 KiB of them, as text.
    pub text: String,
    /// How the connection ended.
    pub ended: RawEnd,
    /// What the printer said of itself before the data; nothing where it was not
    /// asked, or did not answer.
    pub status_before: Option<Status>,
    /// What it said later.
    pub statuses: Vec<Status>,
}

/// The back-channel.
#[derive(Default)]
struct Back {
    received: u64,
    kept: Vec<u8>,
    pjl: Reader,
    /// True if what hinders the printer is told as it changes.
    tells_state: bool,
    /// The reason that was told last.
    reason: Option<&'static str>,
}

impl Back {
    fn take(&mut self, link: &mut Link<'_>) {
        self.received += link.inbox.len() as u64;
        self.pjl.take(&link.inbox);
        if self.tells_state {
            let reason = self.pjl.latest().and_then(Status::reason);
            if reason != self.reason {
                self.reason = reason;
                let reasons: Vec<String> = reason.into_iter().map(str::to_owned).collect();
                link.monitor.says(&reasons);
            }
        }
        let room = MAX_KEPT.saturating_sub(self.kept.len()).min(link.inbox.len());
        self.kept.extend_from_slice(&link.inbox[..room]);
        link.inbox.clear();
    }
}

/// Has a printer tell each change of its state on the back-channel. Changes alone are told, so it
/// is asked once for how it is now. Its answer is not waited for.
const FOLLOW: &[u8] = b"@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n@PJL USTATUS TIMED=0\r\n";

/// Ends that: the setting outlasts the job at some printers.
const UNFOLLOW: &[u8] = b"@PJL USTATUSOFF\r\n";

pub(crate) fn send(
    mut link: Link<'_>,
    job: &Job,
    Raw { pjl: asks, close }: Raw,
    document: &mut Document,
) -> Result<RawAnswer, Error> {
    let follows = job.status == Some(StatusSource::Pjl) && !asks;
    let mut back = Back { tells_state: follows, ..Back::default() };
    link.announce();
    let mut status_before = None;
    if follows {
        link.say(&[UEL, FOLLOW, UEL].concat(), "beginning the job")?;
    }
    if asks {
        let question = [UEL, b"@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n"].concat();
        link.say(&question, "asking for the status")?;
        status_before = greeting(&mut link, &mut back)?;
        // Out of PJL again: the data chooses its own language.
        link.say(UEL, "beginning the job")?;
    }
    let monitor = link.monitor;
    let mut look = |link: &mut Link<'_>| {
        back.take(link);
        true
    };
    link.document(&mut Counting(document, monitor), &bare, SENDING, &mut look)?;
    if asks {
        let end = [UEL, b"@PJL USTATUSOFF\r\n@PJL INFO STATUS\r\n", UEL].concat();
        link.put(&end, SENDING, &mut look)?;
    }
    if follows {
        link.put(&[UEL, UNFOLLOW, UEL].concat(), SENDING, &mut look)?;
    }
    link.drain(SENDING, &mut |link| back.take(link))?;
    link.half_close()?;
    let mut close_by = None;
    let ended = loop {
        if link.is_settled() && close_by.is_none() {
            close_by = close.and_then(|close| link.now().checked_add(close));
        }
        let more = match (close_by, close) {
            (Some(end), _) => link.more_until(ENDING, end),
            // No event tells that all is acknowledged, and the time begins then.
            (None, Some(_)) => link.more_until(ENDING, link.now() + LOOK),
            (None, None) => link.more(ENDING).map(Some),
        };
        match more {
            Ok(Some(More::Bytes)) => back.take(&mut link),
            Ok(Some(More::End)) => {
                // Who closes in order has read all that its TCP acknowledged.
                link.settle(ENDING)?;
                break RawEnd::Closed;
            }
            Ok(None) if close_by.is_some() => break RawEnd::LeftOpen,
            Ok(None) => {}
            // A printer that has all is not to lose what it has not read yet.
            Err(Error::Stopped) if link.is_settled() && close.is_some() => break RawEnd::LeftOpen,
            Err(Error::Silent { .. }) if link.is_settled() => break RawEnd::LeftOpen,
            Err(Error::Gone { .. }) if link.is_settled() => break RawEnd::Reset,
            Err(error) => return Err(error),
        }
    };
    link.complete();
    back.take(&mut link);
    let statuses = back.pjl.answers().iter().skip(usize::from(status_before.is_some())).cloned();
    Ok(RawAnswer {
        received_bytes: Bytes::new(back.received),
        text: String::from_utf8_lossy(&back.kept).into_owned(),
        ended,
        status_before,
        statuses: statuses.collect(),
    })
}

/// Waits for the first answer.
fn greeting(link: &mut Link<'_>, back: &mut Back) -> Result<Option<Status>, Error> {
    const ASKING: &str = "it was asked for its status";
    let end = link.now() + GREETING;
    loop {
        back.take(link);
        if let Some(status) = back.pjl.answers().first() {
            return Ok(Some(status.clone()));
        }
        match link.more_until(ASKING, end)? {
            Some(More::Bytes) => {}
            Some(More::End) => return Err(Error::Gone { during: ASKING }),
            None => return Ok(None),
        }
    }
}
