//! Raw printing: only data, to port 9100.

use std::time::Duration;

use serde::Serialize;
use windlass_base::Bytes;
use windlass_wire::pjl::{Reader, Status, UEL};
use windlass_wire::status_source::StatusSource;

use crate::document::Document;
use crate::error::Error;
use crate::job::{Job, Raw};
use crate::link::{CountedDocument, Link, ReadOutcome, bare};

/// Maximum size of a printer's stored text; the rest is only counted.
const MAX_KEPT: usize = 64 << 10;

/// Longest wait for a printer's status before the data: printers without PJL send nothing.
pub(crate) const GREETING: Duration = Duration::from_secs(3);

/// Activity for most of the time.
const SENDING: &str = "the data was sent";

/// Activity at the end.
const ENDING: &str = "windlass waited for the last acknowledgements";

/// Time between two checks for the printer's last ACK.
const LOOK: Duration = Duration::from_millis(100);

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawEnd {
    /// The printer closed it.
    Closed,
    /// The printer reset it after it had everything.
    Reset,
    /// The printer has everything, and left it open for longer than the wait.
    LeftOpen,
}

/// Data from the printer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawAnswer {
    /// Bytes on the back-channel.
    pub received_bytes: Bytes,
    /// The first 64 KiB of them, as text.
    pub text: String,
    /// End of the connection.
    pub ended: RawEnd,
    /// Printer's status before the data; nothing if the printer was not asked, or did not answer.
    pub status_before: Option<Status>,
    /// Printer's later statuses.
    pub statuses: Vec<Status>,
}

/// Back-channel of a printer.
#[derive(Default)]
struct BackChannel {
    received: u64,
    kept: Vec<u8>,
    pjl: Reader,
    /// True if changes of the printer's obstacle are reported.
    tells_state: bool,
    /// Last reported reason.
    reason: Option<&'static str>,
}

impl BackChannel {
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

/// Makes a printer report each change of its state on the back-channel. It reports only changes, so
/// it is asked once for its present state. The answer is not awaited.
const FOLLOW: &[u8] = b"@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n@PJL USTATUS TIMED=0\r\n";

/// Ends these reports: at some printers the setting outlasts the job.
const UNFOLLOW: &[u8] = b"@PJL USTATUSOFF\r\n";

pub(crate) fn send(
    mut link: Link<'_>,
    job: &Job,
    Raw { pjl: asks, close }: Raw,
    document: &mut Document,
) -> Result<RawAnswer, Error> {
    let follows = job.status == Some(StatusSource::Pjl) && !asks;
    let mut back = BackChannel { tells_state: follows, ..BackChannel::default() };
    link.announce();
    let mut status_before = None;
    if follows {
        link.say(&[UEL, FOLLOW, UEL].concat(), "beginning the job")?;
    }
    if asks {
        let question = [UEL, b"@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n"].concat();
        link.say(&question, "asking for the status")?;
        status_before = greeting(&mut link, &mut back)?;
        // Leaves PJL: the data chooses its own language.
        link.say(UEL, "beginning the job")?;
    }
    let monitor = link.monitor;
    let mut look = |link: &mut Link<'_>| {
        back.take(link);
        true
    };
    link.document(&mut CountedDocument(document, monitor), &bare, SENDING, &mut look)?;
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
            // No event reports the last ACK, at which this time begins.
            (None, Some(_)) => link.more_until(ENDING, link.now() + LOOK),
            (None, None) => link.more(ENDING).map(Some),
        };
        match more {
            Ok(Some(ReadOutcome::Bytes)) => back.take(&mut link),
            Ok(Some(ReadOutcome::End)) => {
                // A peer that closes normally has read everything that its TCP acknowledged.
                link.settle(ENDING)?;
                break RawEnd::Closed;
            }
            Ok(None) if close_by.is_some() => break RawEnd::LeftOpen,
            Ok(None) => {}
            // A printer that has everything must not lose unread data.
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
fn greeting(link: &mut Link<'_>, back: &mut BackChannel) -> Result<Option<Status>, Error> {
    const ASKING: &str = "windlass asked for its status";
    let end = link.now() + GREETING;
    loop {
        back.take(link);
        if let Some(status) = back.pjl.answers().first() {
            return Ok(Some(status.clone()));
        }
        match link.more_until(ASKING, end)? {
            Some(ReadOutcome::Bytes) => {}
            Some(ReadOutcome::End) => return Err(Error::Gone { during: ASKING }),
            None => return Ok(None),
        }
    }
}
