//! Other habits of a device: data out of order, its FIN, PSH, and its answers.

use windlass_base::{Span, Timestamp};

use super::conversation::{Conversation, Event};
use super::parameter::{Parameter, around, time};
use super::path::Path;
use super::samples::Samples;

/// Time after which an open side is kept open on purpose.
const KEPT_OPEN: Span = Span::from_millis(1_000);

/// Returns the parameters of these habits.
pub(super) fn parameters(talk: &Conversation) -> Vec<Parameter> {
    vec![order(talk), close(talk), push(talk)]
}

/// Returns whether the device keeps data beyond a gap: then the ACK after the repair covers it.
fn order(talk: &Conversation) -> Parameter {
    let (mut kept, mut dropped) = (0, 0);
    let (mut acked, mut highest, mut repeats) = (0, 0, 0);
    let mut filled: Option<(u64, u64)> = None;
    for event in &talk.events {
        match event {
            Event::Sent(sent) => {
                if sent.again && sent.from == acked && repeats > 0 && highest > sent.to() {
                    filled = filled.or(Some((sent.to(), highest)));
                }
                highest = highest.max(sent.to());
            }
            Event::Answer(answer) if answer.reset => {}
            Event::Answer(answer) if answer.ack > acked => {
                if let Some((end, beyond)) = filled.take() {
                    kept += u64::from(answer.ack > end && beyond > end);
                    dropped += u64::from(answer.ack == end);
                }
                (acked, repeats) = (answer.ack, 0);
            }
            Event::Answer(answer) => {
                repeats += u64::from(highest > acked);
                kept += u64::from(answer.sacks);
            }
        }
    }
    let (key, seen) = ("keeps-out-of-order", kept + dropped);
    if seen == 0 {
        return Parameter::unseen("tcp", key, 0, "Not seen: nothing was lost or reordered.");
    }
    let value = if kept >= dropped { "true" } else { "false" };
    let how = format!("Kept {kept} times, dropped {dropped} times.");
    Parameter::seen("tcp", key, value, seen, how)
}

/// Returns the device's behavior when its peer has closed.
fn close(talk: &Conversation) -> Parameter {
    let closed = talk.sent().find(|sent| sent.fin).map(|sent| sent.time);
    let unseen = |how: &str| Parameter::unseen("tcp", "close", 0, how);
    let Some(closed) = closed else { return unseen("Not seen: the sender did not close.") };
    let answers = || talk.answers().filter(|answer| answer.time >= closed);
    if talk.answers().any(|answer| answer.fin && answer.time < closed) {
        return unseen("Not seen: the device closed first.");
    }
    let fin = answers().find(|answer| answer.fin).map(|answer| answer.time);
    let reset = answers().find(|answer| answer.reset).map(|answer| answer.time);
    match (fin, reset) {
        (None, Some(_)) => Parameter::seen("tcp", "close", "\"reset\"", 1, "It reset."),
        (Some(fin), _) if fin.since(closed) > KEPT_OPEN => {
            let open = fin.since(closed);
            let how = format!("Its FIN came {open} after the sender's.");
            Parameter::seen("tcp", "close", format!("{{ keep-open = {} }}", time(open)), 1, how)
        }
        (Some(fin), _) => Parameter::unseen(
            "tcp",
            "close",
            1,
            format!("Its FIN came {} after the sender's.", fin.since(closed)),
        ),
        (None, None) => unseen("Not seen: the capture ends before its FIN."),
    }
}

fn push(talk: &Conversation) -> Parameter {
    let bare = talk.answers().filter(|answer| answer.payload == 0 && !answer.fin && !answer.reset);
    let (mut all, mut pushed) = (0_u64, 0_u64);
    for answer in bare {
        all += 1;
        pushed += u64::from(answer.push);
    }
    let how = format!("{pushed} of {all} ACKs have PSH.");
    let value = if pushed * 2 > all { "true" } else { "false" };
    Parameter::seen("ack", "push", value, all, how)
}

/// Returns the time from the last data to the answer of the device's program. If data is read only
/// after an ACK or a window update, the time counts from there.
pub(super) fn answers(talk: &Conversation, path: &Path, is_buffer: bool) -> Parameter {
    let mut asked: Option<Timestamp> = None;
    let mut waits = Vec::new();
    for event in &talk.events {
        match event {
            Event::Sent(sent) if sent.payload > 0 => asked = Some(sent.time),
            Event::Answer(answer) if answer.payload > 0 => {
                waits.extend(asked.take().map(|asked| path.own(answer.time, asked)));
            }
            Event::Answer(answer) if is_buffer && asked.is_some() => {
                asked = Some(answer.time + path.rtt);
            }
            Event::Sent(_) | Event::Answer(_) => {}
        }
    }
    let waits: Samples = waits.into_iter().collect();
    if around(&waits).is_none() {
        let how = "Not seen: it sent no data of its own.";
        return Parameter::unseen("reading", "answer-latency", 0, how);
    }
    // The minimum: an answer to much data waits for its reader as well.
    let value = waits.quantile(0.0).unwrap_or_default();
    if value <= Span::from_micros(20) {
        let how = "Its answers came at once.";
        return Parameter::unseen("reading", "answer-latency", waits.count(), how);
    }
    let how = format!("The fastest of {} answers.", waits.count());
    Parameter::seen("reading", "answer-latency", time(value), waits.count(), how)
}
