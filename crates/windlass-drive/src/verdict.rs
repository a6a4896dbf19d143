//! What held a transfer back, from what the kernels of its ends say.
//!
//! Linux keeps, for each connection, how long it was busy sending, and for how
//! long of that the peer's window or the send buffer held it up (the
//! chronograph of `tcp_chrono_start`, in `TCP_INFO` since 4.10). What remains is
//! the path's or the congestion window's; the RTT under load beside the idle one
//! tells which, where small messages beside the transfer are in the same queue. The words
//! are those of `windlass explain`.

mod causes;
mod figures;
mod remedies;

pub use causes::keeps;
use causes::{Part, parts};
use figures::Figures;
pub use figures::{fills, flight};
use remedies::remedies;
use windlass_base::figures::{Count, Percent, Share};
use windlass_base::verdict::{Confidence, Evidence, Input, Law, Unit, Verdict};
use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

use crate::report::{DirectionReport, Latency};

/// A share this close to the first makes the first uncertain, as in `explain`.
const CLOSE: f64 = 0.1;

/// What is known of a direction of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct DirectionSeen<'a> {
    /// What the sender measured.
    pub sender: &'a DirectionReport,
    /// What the receiver measured, where it said so.
    pub receiver: Option<&'a DirectionReport>,
    /// The latency beside it.
    pub latency: Latency,
    /// The pace that was asked for.
    pub pace: Option<Rate>,
    /// The window that the receiver was asked to advertise on each stream.
    pub window: Option<Bytes>,
    /// The processors that both ends share, where they are one machine.
    pub shared: Option<usize>,
}

impl<'a> DirectionSeen<'a> {
    /// What the sender alone measured.
    pub fn by_sender(sender: &'a DirectionReport) -> Self {
        Self {
            sender,
            receiver: None,
            latency: Latency::default(),
            pace: None,
            window: None,
            shared: None,
        }
    }
}

/// What held a direction of a transfer back.
pub fn verdict(seen: &DirectionSeen<'_>) -> Verdict {
    let figures = &Figures::of(seen);
    let parts = parts(figures);
    let unknown = Part { causes: Vec::new(), share: 1.0 };
    let most = parts.first().unwrap_or(&unknown);
    let (cause, share) = (most.cause(), most.share);
    let next = parts.get(1).filter(|part| part.share > 0.01).map(|part| part.cause().limit());
    let of_limit = parts.iter().filter(|other| other.cause().limit() == cause.limit());
    let limit_share = of_limit.map(|part| part.share).sum::<f64>().max(share);
    let law = law(figures, cause);
    let (predicted, measured) = (law.as_ref().map(|(_, rate)| *rate), seen.sender.bytes_per_second);
    let sure = Confidence::by_prediction(predicted, measured);
    Verdict {
        cause,
        between: if most.causes.len() > 1 { most.causes.clone() } else { Vec::new() },
        share,
        limit_share,
        sentence: sentence(figures, most),
        evidence: evidence(figures),
        predicted_bytes_per_second: predicted,
        law: law.map(|(law, _)| law),
        measured_bytes_per_second: measured,
        next,
        remedies: remedies(figures, most),
        confidence: confidence(figures, &parts).min(sure),
        caveats: Vec::new(),
    }
}

fn confidence(figures: &Figures<'_>, parts: &[Part]) -> Confidence {
    let cause = parts.first().map_or(Cause::Unknown, Part::cause);
    let first = parts.first().map_or(0.0, |part| part.share);
    let second = parts.get(1).map_or(0.0, |part| part.share);
    // Without messages beside it nothing shows what the idle path takes under load.
    let by_the_wait = matches!(
        cause,
        Cause::WindowPathRtt
            | Cause::WindowAckLatency
            | Cause::BufferPathRtt
            | Cause::BufferDelayedAck
    ) && figures.is_late()
        && !figures.has_messages();
    // A path is seen to be full by its queue, by what finds that full, or by who looks for its
    // rate and gets no more. Where it is about full, or was when data was lost, it may
    // be its own queue that loses.
    let is_seen = match cause {
        Cause::PathQueue => {
            figures.may_be_queued()
                || figures.has_messages() && figures.loses_in_a_queue()
                || figures.has_found_the_rate()
        }
        Cause::AfterLoss => !figures.is_full() && !figures.is_late_at_losses(),
        _ => true,
    };
    if cause == Cause::Unknown {
        Confidence::Low
    } else if !is_seen
        || first < 0.4
        || first - second < CLOSE
        // Nor do marks tell how full the line is.
        || matches!(cause, Cause::Steady | Cause::PathMarks)
        || by_the_wait
    {
        Confidence::Medium
    } else {
        Confidence::High
    }
}

fn streams(figures: &Figures<'_>) -> Sentence {
    match figures.streams {
        1 => Sentence::new(),
        count => sentence!(" on each of {count} streams"),
    }
}

fn sentence(figures: &Figures<'_>, part: &Part) -> Sentence {
    let (time, rtt, window) = (Share(part.share), figures.rtt(), figures.one_window());
    let each = streams(figures);
    let base = figures.base().unwrap_or_default();
    match part.cause() {
        Cause::WindowPathRtt => sentence!(
            "The receiver takes only {window} at a time{each}, and each round trip takes {rtt}: \
             the sender waits with a full window {time} of the time."
        ),
        Cause::WindowAckLatency => sentence!(
            "The receiver takes only {window} at a time{each} and acknowledges it {rtt} later on \
             a path of {base}: the sender waits {time} of the time."
        ),
        Cause::WindowBelowMss => sentence!(
            "The receiver takes only {window} at a time{each}, less than one full segment of {}: \
             the sender sends a piece, waits for its ACK and sends the next, {time} of the time.",
            Bytes::new(figures.segment)
        ),
        Cause::ReceiverNotReading => sentence!(
            "The receiver closes its window{each}: its program does not read as fast as data \
             comes, and the sender waits {time} of the time."
        ),
        Cause::BufferPathRtt => sentence!(
            "The sender's buffer holds too little for a round trip of {rtt}{each}: it waits for \
             room {time} of the time, though the receiver would take {window}."
        ),
        Cause::PathQueue if !figures.may_be_queued() && figures.heeds_loss() => sentence!(
            "The path carries what it can: what finds its short queue full is lost ({} of the \
             segments), and nothing else holds the sender {time} of the time.",
            Percent(figures.loss(), 2)
        ),
        Cause::PathQueue if !figures.may_be_queued() => sentence!(
            "The path carries what it can: the sender's congestion control goes by what is \
             delivered, and nothing else holds it {time} of the time."
        ),
        Cause::PathQueue => sentence!(
            "The path carries what it can: data waits in a queue of it, so that a round trip \
             takes {rtt} and not {base}, {time} of the time."
        ),
        Cause::SlowStart => sentence!(
            "The sender still tests how much the path takes{each}, and sends more with each round \
             trip of {rtt}, {time} of the time."
        ),
        Cause::FastRecovery => sentence!(
            "{} of the segments were lost and sent again, and with each loss the sender \
             sends less: {time} of the time its congestion window holds it.",
            Percent(figures.loss(), 2)
        ),
        Cause::Timeout => match figures.outage() {
            Some(outage) => sentence!(
                "For {outage} nothing was acknowledged: the path was interrupted, or the receiver \
                 did not answer. The sender sends again only when its timer runs out, each time \
                 after a longer wait: {time} of the time."
            ),
            None => sentence!(
                "The path loses data, and the sender notices only when its timer runs out: {} of \
                 the segments were lost, and waiting for the timer takes {time} of the time.",
                Percent(figures.loss(), 2)
            ),
        },
        Cause::AfterLoss => sentence!(
            "After loss the sender regains its rate slowly{each}, on a path of {rtt}: its \
             congestion window holds it {time} of the time."
        ),
        Cause::PathMarks => sentence!(
            "A queue on the path marks data before it has to drop it (ECN, {} of the segments), \
             and the sender sends less each time that it hears of that: its congestion window \
             holds it{each} {time} of the time.",
            Percent(figures.marked() as f64 / figures.kernel.segments.max(1) as f64, 2)
        ),
        Cause::Steady => sentence!(
            "The sender's congestion window of {} holds it{each} {time} of the time.",
            Bytes::new(figures.congestion_window.get() / figures.streams.max(1))
        ),
        Cause::Processor if figures.is_busy() => sentence!(
            "The sender's program takes {} of a processor: it cannot send faster.",
            Share(figures.seen.sender.cpu.busiest_share)
        ),
        Cause::Processor if figures.receiver_is_busy() => sentence!(
            "The receiver's program takes {} of a processor: it cannot take data faster.",
            Share(figures.seen.receiver.map_or(0.0, |receiver| receiver.cpu.busiest_share))
        ),
        Cause::Processor => sentence!(
            "Both ends are this machine, and they take {} of its processors together.",
            Share(figures.machine().unwrap_or(0.0))
        ),
        Cause::SenderIdle if figures.seen.pace.is_some() => {
            "The sender keeps to the pace that was asked for.".into()
        }
        Cause::SenderIdle => {
            sentence!("The sending program had nothing to send{each} {time} of the time.")
        }
        Cause::BufferDelayedAck => sentence!(
            "The sender's buffer is full{each} until the receiver acknowledges, {rtt} later on a \
             path of {base}: it waits for room {time} of the time."
        ),
        Cause::ReceiverLimited => sentence!(
            "The receiver's program is behind with reading{each}: of its largest window it \
             offers {} on average, and the sender fills that at once, {time} of the time.",
            Share(figures.open_share().unwrap_or_default())
        ),
        _ if !part.causes.is_empty() => open_question(&part.causes, time),
        _ => "Nothing that was measured tells what held the transfer back.".into(),
    }
}

/// What the figures of a kernel leave open.
fn open_question(causes: &[Cause], time: Share) -> Sentence {
    let what = |cause: &Cause| match cause {
        Cause::PathQueue => "data that waits in a queue of the path",
        Cause::WindowAckLatency | Cause::BufferDelayedAck => "a receiver that acknowledges late",
        Cause::WindowPathRtt => "a window that is small for the path's round trip",
        Cause::BufferPathRtt => "a send buffer that is small for the path's round trip",
        Cause::ReceiverLimited => "a program that reads slowly",
        Cause::ReceiverNotReading => "a program that stops reading",
        Cause::NoWindowUpdate => "a window that opened and was not announced",
        Cause::Timeout => "segments that were lost",
        _ => "something else",
    };
    let mut all = Sentence::new();
    for (place, cause) in causes.iter().enumerate() {
        let before = match place {
            0 => "",
            _ if place + 1 == causes.len() => " or ",
            _ => ", ",
        };
        all = sentence!("{all}{before}{}", what(cause));
    }
    sentence!(
        "The sender's kernel was held up {time} of the time, by {all}: to a kernel these look \
         alike, and the packets tell them apart."
    )
}

fn evidence(figures: &Figures<'_>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut say = |shows: Sentence| evidence.push(Evidence { packets: Vec::new(), shows });
    let whole = figures.whole();
    if figures.streams > 0 && whole > Span::ZERO {
        let of = |time: Span| Share(time.share_of(whole));
        say(sentence!(
            "the sender's kernel was busy {} of the time: the window held it {}, the send buffer \
             {}",
            of(figures.kernel.times.busy_seconds),
            of(figures.kernel.times.receiver_limited_seconds),
            of(figures.kernel.times.buffer_limited_seconds),
        ));
    }
    if let (Some(least), true) = (figures.least(), figures.rtt() > Span::ZERO) {
        say(sentence!("a round trip takes {least} at the least, {} under load", figures.rtt()));
    }
    if let (Some(idle), Some(loaded)) =
        (figures.seen.latency.idle_seconds, figures.seen.latency.loaded_seconds)
    {
        say(sentence!("a small message beside it takes {idle.p50} idle, {loaded.p50} under load"));
    }
    if let Some(outage) = figures.outage() {
        say(sentence!(
            "for {outage} at a stretch nothing was acknowledged, with data in flight; timers and \
             what they sent again take {} of the time",
            Share(figures.timeout_share())
        ));
    }
    if figures.lost > 0 {
        let (of, were) =
            (Count(figures.kernel.segments), if figures.lost == 1 { "was" } else { "were" });
        say(sentence!("{} of {of} segments {were} lost", Count(figures.lost)));
    }
    evidence
}

fn input(symbol: &'static str, value: f64, unit: Unit, meaning: &'static str) -> Input {
    Input { symbol, value, unit, meaning }
}

fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    input(symbol, value.get() as f64, Unit::Bytes, meaning)
}

fn law(figures: &Figures<'_>, cause: Cause) -> Option<(Law, Rate)> {
    if figures.rtt() <= Span::ZERO {
        return None;
    }
    let cycle =
        input("T", figures.rtt().as_seconds(), Unit::Seconds, "the mean round trip under load");
    let window = |window: Bytes, meaning| {
        let law = Law {
            name: "window",
            formula: "W / T",
            inputs: vec![bytes("W", window, meaning), cycle.clone()],
        };
        Some((law, laws::window_rate(window, figures.rtt())))
    };
    match cause {
        Cause::WindowPathRtt | Cause::WindowAckLatency if figures.has_window() => {
            window(figures.window, "the windows that the receiver offers, over all streams")
        }
        // A short transfer has no sample with something in flight.
        Cause::BufferPathRtt | Cause::Steady | Cause::PathMarks | Cause::SlowStart
            if figures.flight > Bytes::ZERO =>
        {
            window(figures.flight, "what is in flight on average, over all streams")
        }
        Cause::FastRecovery | Cause::AfterLoss => {
            let (segment, loss) = (Bytes::new(figures.segment), figures.loss());
            let rate = figures.lossy_rate(loss)?;
            let inputs = vec![
                bytes("MSS", segment, "the size of a segment"),
                input("p", loss, Unit::Share, "the share of segments lost"),
                input("n", figures.streams as f64, Unit::Count, "streams"),
            ];
            Some((Law { name: "loss", formula: "n × MSS / RTT × 1.22 / √p", inputs }, rate))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
