//! Closures of the window: their lengths, and their ends.

use windlass_base::{Span, Timestamp};

use super::conversation::{Conversation, Event};
use super::parameter::{Parameter, around, size, time};
use super::samples::Samples;

/// Length from which a closure is a stall: longer than a device needs to process a buffer of its
/// size.
const STALL: Span = Span::from_millis(50);

/// Relative variation above which the bytes between stalls are not their cause.
const UNEVEN: f64 = 0.1;

/// A window that was closed and opened again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closure {
    pub(super) since: Timestamp,
    pub(super) lasted: Span,
    /// The position up to which data was acknowledged.
    pub(super) position: u64,
    /// Rest of the window.
    pub(super) left: u64,
    /// True if the first probe or new data ended the closure: the device sent no window update.
    pub(super) asked: bool,
}

impl Closure {
    pub(super) fn is_stall(&self) -> bool {
        !self.asked && self.lasted > STALL
    }
}

/// Returns the closures of a conversation.
pub(super) fn of(talk: &Conversation) -> Vec<Closure> {
    let mut closures = Vec::new();
    let mut open: Option<(Timestamp, u64, u64)> = None;
    let (mut probed, mut refused) = (false, false);
    for event in &talk.events {
        match event {
            // Data into a closed window is a probe as well.
            Event::Sent(sent) => probed |= open.is_some() && (sent.probe || sent.payload > 0),
            Event::Answer(answer) if answer.reset => {}
            Event::Answer(answer) => match (open, talk.closed(answer.window)) {
                (None, true) => {
                    open = Some((answer.time, answer.ack, answer.window));
                    (probed, refused) = (false, false);
                }
                (Some(_), true) => {
                    refused |= probed;
                    probed = false;
                }
                (Some((since, position, left)), false) => {
                    closures.push(Closure {
                        since,
                        lasted: answer.time.since(since),
                        position,
                        left,
                        asked: probed && !refused,
                    });
                    open = None;
                }
                (None, false) => {}
            },
        }
    }
    closures
}

/// Returns the occasion on which the device sends window updates.
pub(super) fn updates(closures: &[Closure]) -> Parameter {
    let (asked, told): (Vec<&Closure>, Vec<&Closure>) =
        closures.iter().partition(|closure| closure.asked);
    let long = asked.iter().filter(|closure| closure.lasted > STALL).count();
    let left_over = |closure: &&Closure| closure.left > 0;
    let seen =
        |value, how| Parameter::seen("tcp", "window-updates", value, closures.len() as u64, how);
    if long >= 2 && told.is_empty() {
        let how = format!("{long} closures ended after a window probe, and none before.");
        return seen("\"never\"", how);
    }
    if long >= 2 && asked.iter().all(left_over) && !told.iter().any(left_over) {
        let how = format!(
            "{} closures at zero ended by themselves; {long} with a remaining window ended after a \
             probe.",
            told.len()
        );
        return seen("\"after-zero\"", how);
    }
    let how = match told.len() {
        0 => "Not seen: the window did not close.".to_owned(),
        told => format!("{told} closures ended by themselves, as on most hosts."),
    };
    Parameter::unseen("tcp", "window-updates", closures.len() as u64, how)
}

/// Returns the length and the interval of stalls.
pub(super) fn stalls(closures: &[Closure]) -> Parameter {
    let stalls: Vec<&Closure> = closures.iter().filter(|closure| closure.is_stall()).collect();
    let count = stalls.len() as u64;
    let lasting: Samples = stalls.iter().map(|stall| stall.lasted).collect();
    let Some(lasts) = around(&lasting) else {
        let how = format!("No closure that ended by itself lasted more than {STALL}.");
        return Parameter::unseen("reading", "stalls", 0, how);
    };
    let mut before = 0;
    let mut steps: Vec<u64> = stalls
        .iter()
        .map(|stall| {
            let step = stall.position - before;
            before = stall.position;
            step
        })
        .collect();
    steps.sort_unstable();
    let bytes = steps.get(steps.len() / 2).copied().unwrap_or(1).max(1);
    let times: Samples = stalls.windows(2).map(|pair| pair[1].since.since(pair[0].since)).collect();
    // The interval is a time if that is clearly more constant than the bytes.
    let even = |most: f64, least: f64, middle: f64| (most - least) / middle.max(1.0);
    let by_bytes = even(
        steps.last().copied().unwrap_or(0) as f64,
        steps.first().copied().unwrap_or(0) as f64,
        bytes as f64,
    );
    let nanos = |quantile| times.quantile(quantile).map_or(0.0, |span| span.as_nanos() as f64);
    let by_time = even(nanos(1.0), nanos(0.0), nanos(0.5));
    let every = match times.median() {
        Some(median) if times.count() >= 3 && by_bytes > UNEVEN && by_time * 2.0 < by_bytes => {
            format!("{{ time = {} }}", time(median))
        }
        _ => format!("{{ bytes = {} }}", size(bytes)),
    };
    let value = format!("{{ every = {every}, lasting = {lasts} }}");
    Parameter::seen("reading", "stalls", value, count, lasting.told("stall"))
}
