//! The device's reader: the effect of unread data on the window, and the speed at which the window
//! opens.

use windlass_base::{Bytes, Rate, Span, Timestamp};

use super::closures::Closure;
use super::conversation::{Answer, Conversation, Event};
use super::parameter::{self, Parameter, around, size};
use super::samples::Samples;

/// Number of windows that open after their ACK from which they are a habit.
const ENOUGH: u64 = 3;
/// Share of the largest window that counts as a full window: if segments do not fill it, a rest
/// stays.
const NEARLY: f64 = 0.98;
/// Share of the time with a reduced window from which the reader sets the window.
const BUSY: f64 = 0.2;

/// Movements of the window.
#[derive(Debug)]
pub(super) struct ReaderAnalysis {
    /// Largest window.
    pub(super) most: u64,
    /// ACKs of data, and those of them with a reduced window.
    pub(super) answers: u64,
    pub(super) shrunk: u64,
    /// Times from an ACK with a reduced window to the update with the full window.
    opens: Samples,
    /// Movement of the right edge while the window was reduced, and its time.
    moved: u64,
    busy: Span,
    lasted: Span,
    /// Closures that ended only after a probe of the sender.
    asked: Vec<Closure>,
    largest: u32,
}

impl ReaderAnalysis {
    pub(super) fn of(talk: &Conversation, closures: &[Closure]) -> Self {
        let syn = talk.answered.map_or(0, |syn| u64::from(syn.window));
        let most = talk.window.max(syn);
        let mut reading = Self {
            most,
            answers: 0,
            shrunk: 0,
            opens: Samples::default(),
            moved: 0,
            busy: Span::ZERO,
            lasted: Span::ZERO,
            asked: closures.iter().filter(|closure| closure.asked).copied().collect(),
            largest: talk.largest,
        };
        let stalled = |time: Timestamp| {
            let at = closures.partition_point(|closure| closure.since <= time);
            at.checked_sub(1)
                .is_some_and(|at| closures[at].is_stall() && closures[at].since == time)
        };
        let mut opens = Vec::new();
        let mut before: Option<Answer> = None;
        let mut probed = false;
        let mut closing = None;
        for event in &talk.events {
            let answer = match event {
                Event::Sent(sent) => {
                    probed |= sent.probe;
                    if sent.fin {
                        closing = Some(sent.time);
                    }
                    continue;
                }
                Event::Answer(answer) if answer.reset => continue,
                Event::Answer(answer) => *answer,
            };
            if let Some(last) = before.filter(|_| closing.is_none()) {
                let gap = answer.time.since(last.time).or_zero();
                reading.lasted += gap;
                let less = !reading.is_all(last.window);
                if answer.ack > last.ack {
                    reading.answers += 1;
                    reading.shrunk += u64::from(!reading.is_all(answer.window));
                } else if less && reading.is_all(answer.window) && !probed && !stalled(last.time) {
                    opens.push(gap);
                }
                if less && !stalled(last.time) && !reading.is_all(answer.window) {
                    let edge = |answer: &Answer| answer.ack + answer.window;
                    reading.moved += edge(&answer).saturating_sub(edge(&last));
                    reading.busy += gap;
                }
            }
            probed = false;
            before = Some(answer);
        }
        reading.opens = opens.into_iter().collect();
        reading
    }

    fn is_all(&self, window: u64) -> bool {
        window as f64 >= self.most as f64 * NEARLY
    }

    /// Returns whether unread data reduces the window.
    pub(super) fn is_buffer(&self) -> bool {
        self.shrunk > 0
    }

    fn rate(&self) -> Option<Rate> {
        let slow = self.busy.share_of(self.lasted) >= BUSY && self.moved > 2 * self.most;
        slow.then(|| Bytes::new(self.moved).per(self.busy))
    }

    /// Estimates the reader of a device that sends no window updates. It had read the data when the
    /// sender probed. The reader may be faster: twice that speed is assumed.
    fn silent(&self) -> Option<(String, String)> {
        let count = self.asked.len();
        let waited: Samples = self.asked.iter().map(|closure| closure.lasted).collect();
        let wait = waited.median().filter(|_| count as u64 >= ENOUGH)?;
        let how = format!(
            "Assumed: {count} closures ended after a window probe, {wait} later, and all data was \
             read by then. The speed does not show; twice that speed is assumed."
        );
        let whole = self.asked.iter().filter(|closure| closure.left == 0).count();
        if whole * 2 >= count {
            // The device reads nothing before it is acknowledged.
            return Some((format!("{{ after-ack = {} }}", parameter::time(wait / 2)), how));
        }
        let least = parameter::rate(Bytes::new(self.most * 2).per(wait));
        let chunk = size(self.most);
        Some((format!("{{ at-rate = {{ rate = {least}, chunk = {chunk} }} }}"), how))
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let drain = |value: String, samples, how: String| {
            vec![Parameter::seen("reading", "drain", value, samples, how)]
        };
        let opens = self.opens.count();
        let usual = opens >= ENOUGH && opens * 2 >= self.shrunk;
        if usual && let Some(value) = around(&self.opens) {
            let how = format!("From an ACK to the open window. {}", self.opens.told("opening"));
            return drain(format!("{{ after-ack = {value} }}"), opens, how);
        }
        if let Some(rate) = self.rate() {
            let value = format!(
                "{{ at-rate = {{ rate = {}, chunk = {} }} }}",
                parameter::rate(rate),
                size(self.largest.max(1).into())
            );
            let how = format!(
                "{} while the window was below its maximum. The size of a read does not show: one \
                 segment is assumed.",
                parameter::bytes(self.moved)
            );
            return drain(value, self.shrunk, how);
        }
        if let Some((value, how)) = self.silent() {
            return drain(value, self.asked.len() as u64, how);
        }
        let how = match self.shrunk {
            0 => format!("The window was full in {} ACKs.", self.answers),
            shrunk => format!("The window was full in all but {shrunk} of {} ACKs.", self.answers),
        };
        vec![Parameter::unseen("reading", "drain", self.answers, how)]
    }
}
