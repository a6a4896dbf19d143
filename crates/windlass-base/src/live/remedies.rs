//! Remedies by live facts.

use super::facts::Facts;
use super::rules::Part;
use crate::thresholds::ALL_OF_THE_TIME;
use crate::tuning::{Host, Instructions, Stack, Tuning};
use crate::verdict::{AGAINST_MARKS, BoundSource, Remedy, Side, Unit};
use crate::{Bytes, Cause, Rate, Sentence, laws, sentence};

/// The promise of a remedy.
#[derive(Clone, Copy, Debug, Default)]
struct Promise {
    expected: Option<Rate>,
    at_most: Option<Rate>,
}

/// Returns the rate when `share` of the time shrinks to `factor` of itself (Amdahl 1967). The rate
/// is expected if data came as fast for a while; else it is a bound, as the path may carry less. If
/// round trips are longer than the idle path's, a bottleneck or a slow reader may be near, and no
/// rate is promised. A requested pace stays the maximum.
fn lifted(facts: &Facts, share: f64, factor: f64) -> Promise {
    let share = if share >= ALL_OF_THE_TIME.get() { 1.0 } else { share };
    let rest = 1.0 - share + share * factor;
    let rate = facts.rate.bytes_per_second();
    if rest <= 0.0 || rate <= 0.0 {
        return Promise::default();
    }
    let lifted = Rate::from_bytes_per_second(rate / rest);
    let lifted = facts.pace.map_or(lifted, |pace| lifted.min(pace));
    if facts.carried().is_some_and(|carried| lifted <= carried) {
        return Promise { expected: Some(lifted), at_most: None };
    }
    Promise { expected: None, at_most: Some(lifted).filter(|_| !facts.is_late()) }
}

/// Returns the host of a side: these facts are those of a Linux kernel at the sender.
fn host(side: Side) -> Host {
    let stack = if side == Side::Sender { Stack::Linux } else { Stack::Unknown };
    Host { stack, ..Host::default() }
}

/// Returns the remedies, with the rate to expect where the figures show that it can be had.
pub(super) fn remedies(facts: &Facts, part: &Part, share: f64) -> Vec<Remedy> {
    let remedy = |side, action: Sentence, value: Option<(f64, Unit)>, factor: Option<f64>| {
        let promise = factor.map(|factor| lifted(facts, share, factor)).unwrap_or_default();
        Remedy {
            side,
            action,
            how: Instructions { tuning: None, host: host(side) },
            value: value.map(|(value, _)| value),
            unit: value.map(|(_, unit)| unit),
            what_if: None,
            expected_bytes_per_second: promise.expected,
            at_most_bytes_per_second: promise.at_most,
            at_most_by: promise.at_most.map(|_| BoundSource::Path),
            then: None,
            second: None,
        }
    };
    let advice = |side, action: &'static str| remedy(side, action.into(), None, None);
    let size = |bytes: u64| Some((bytes as f64, Unit::Bytes));
    let window = facts.one_window().get().max(1);
    let larger = || {
        let four = laws::larger(Bytes::new(window)).get();
        let action = sentence!("offer a larger receive window: {}", Bytes::new(four));
        remedy(Side::Receiver, action, size(four), Some(window as f64 / four as f64))
            .set_by(Tuning::ReceiveWindow)
    };
    let more = |factor| {
        let streams = Some(((facts.streams * 4) as f64, Unit::Count));
        let action = "send over 4 times as many parallel streams".into();
        remedy(Side::Sender, action, streams, factor).set_by(Tuning::Streams)
    };
    match part.cause() {
        Cause::WindowPathRtt => vec![larger(), more(Some(0.25))],
        Cause::WindowAckLatency => {
            let at_once = facts.base().map(|base| {
                let action = sentence!(
                    "acknowledge at once, at least every second segment: the path's own RTT is \
                     {base}"
                );
                let value = Some((base.as_seconds(), Unit::Seconds));
                remedy(
                    Side::Receiver,
                    action,
                    value,
                    Some(base.share_of(facts.rtt.unwrap_or_default())),
                )
                .set_by(Tuning::PromptAcks)
            });
            at_once.into_iter().chain([larger()]).collect()
        }
        Cause::WindowBelowMss => {
            let least = facts.segment.saturating_mul(4);
            let bytes = Bytes::new(least);
            let action = sentence!("offer a window of at least 4 full segments: {bytes}");
            vec![remedy(Side::Receiver, action, size(least), None).set_by(Tuning::ReceiveWindow)]
        }
        Cause::ReceiverNotReading => vec![advice(
            Side::Receiver,
            "find out why its program does not read; a larger buffer only delays the wait",
        )],
        Cause::NoWindowUpdate => vec![
            advice(
                Side::Receiver,
                "send a window update as soon as a segment fits (RFC 9293 section 3.8.6.2.2), \
                 without waiting for a probe",
            )
            .set_by(Tuning::WindowUpdates),
        ],
        Cause::BufferPathRtt => {
            // Less than what is in flight already would change nothing.
            let held = facts.buffer.max(facts.flight).get() / facts.streams.max(1);
            let value = held.saturating_mul(4);
            let bytes = Bytes::new(value);
            let action = sentence!("use a larger send buffer: {bytes}, or let the kernel size it");
            // The kernel grants what it likes of it: no law bounds what comes.
            vec![remedy(Side::Sender, action, size(value), None).set_by(Tuning::SendBuffer)]
        }
        Cause::PathQueue if !facts.shows_queue() => vec![advice(
            Side::Path,
            "none is known: run windlass sweep or a capture to see whether this is the path's rate",
        )],
        Cause::PathQueue => vec![advice(
            Side::Path,
            "no change is needed: this is the path's rate. A smaller window keeps its queue \
             short; windlass sweep finds that window",
        )],
        Cause::SlowStart => {
            vec![advice(Side::Sender, "run a longer test, or omit its start: windlass send --omit")]
        }
        Cause::Timeout => {
            let cause = match facts.outage() {
                Some(_) => "find what interrupts the path or stops the receiver from answering",
                None => "find where segments are lost: a full queue, a bad cable, radio",
            };
            let expected = facts.promised_outside_timeouts();
            vec![Remedy { expected_bytes_per_second: expected, ..advice(Side::Path, cause) }]
        }
        Cause::AfterLoss if facts.loses_in_a_queue() => {
            vec![advice(
            Side::Sender,
            "try a congestion control that follows the delivery rate, as bbr: the path's full \
             queue drops segments",
        )
        .set_by(Tuning::CongestionControl)]
        }
        Cause::FastRecovery | Cause::AfterLoss => vec![
            advice(
                Side::Path,
                "find where segments are lost: a full queue, a bad cable, a duplex mismatch, radio",
            ),
            advice(Side::Sender, "try a congestion control that is less sensitive to loss, as bbr")
                .set_by(Tuning::CongestionControl),
        ],
        Cause::Processor if facts.full_machine().is_some_and(|it| !it.others.is_empty()) => {
            vec![advice(
                if facts.is_busy() { Side::Sender } else { Side::Receiver },
                "stop the other programs, or limit their CPU time (nice, or cpu.max of their \
                 control group)",
            )]
        }
        Cause::PathPolicer => vec![advice(
            Side::Path,
            "ask for a higher rate or a larger burst of the policer; or send below its rate \
             (windlass send --pace), which loses nothing",
        )],
        Cause::Reordering => vec![advice(
            Side::Path,
            "keep each connection on one link: find the device that balances load per packet",
        )],
        Cause::BlackHole => vec![
            advice(
                Side::Path,
                "allow ICMP \"fragmentation needed\" (IPv4 type 3 code 4, IPv6 type 2), or give \
                 the smallest link its real MTU",
            ),
            advice(Side::Sender, "let the kernel probe for the path MTU")
                .set_by(Tuning::SmallerSegments),
        ],
        Cause::Processor if facts.streams < 2 && !facts.both_are_busy() => vec![advice(
            if facts.is_busy() { Side::Sender } else { Side::Receiver },
            "use more streams, if the machine has more processors",
        )],
        Cause::BufferDelayedAck => {
            // Linux's buffer holds its bookkeeping, too.
            let action = sentence!(
                "use a send buffer as large as the receiver's window: {}",
                Bytes::new(window)
            );
            vec![remedy(Side::Sender, action, size(window), None).set_by(Tuning::SendBuffer)]
        }
        Cause::PathMarks => vec![advice(Side::Path, AGAINST_MARKS)],
        // The reason of the window is unknown, and so is the effect of any change.
        Cause::Steady => vec![more(None)],
        _ if part.causes.all().len() > 1 => vec![advice(
            Side::Sender,
            "capture the packets of the next transfer: windlass capture, or windlass print with \
             CAP_NET_RAW",
        )],
        _ => Vec::new(),
    }
}
