//! The verdict in words: the limit, its confidence, its evidence, and its law.

use super::facts::{Facts, Thread};
use super::remedies::remedies;
use super::rules::{Causes, Part, judge};
use crate::figures::{Count, Percent, Share};
use crate::thresholds::{A_TENTH, NEXT_SHARE, NOTABLE_WAIT, OTHER_PROGRAMS, SURE_SHARE};
use crate::verdict::{Confidence, Evidence, Input, Law, Unit, Verdict};
use crate::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

/// Returns the verdict on a direction of a transfer.
pub fn verdict(facts: &Facts) -> Verdict {
    let parts = judge(facts);
    let parts = if facts.bytes > Bytes::ZERO || facts.loses_whole_segments_only() {
        parts.all()
    } else {
        &[]
    };
    let whole = facts.whole();
    let share = |part: &Part| part.time.share_of(whole);
    let unknown = Part { causes: Causes::NONE, clock: None, time: whole };
    let most = parts.first().unwrap_or(&unknown);
    let (cause, most_share) = (most.cause(), if parts.is_empty() { 1.0 } else { share(most) });
    let next = parts.get(1).filter(|part| share(part) >= NEXT_SHARE.get());
    let of_limit = parts.iter().filter(|other| other.cause().limit() == cause.limit());
    let limit_share = of_limit.map(share).sum::<f64>().max(most_share);
    let law = law(facts, cause);
    let (predicted, measured) = (law.as_ref().map(|(_, rate)| *rate), facts.rate);
    let sure = Confidence::by_prediction(predicted, measured);
    Verdict {
        cause,
        between: match most.causes.all() {
            [_] => Vec::new(),
            several => several.to_vec(),
        },
        share: most_share,
        limit_share,
        sentence: sentence(facts, most, most_share),
        evidence: evidence(facts, parts),
        predicted_bytes_per_second: predicted,
        law: law.map(|(law, _)| law),
        measured_bytes_per_second: measured,
        next: next.map(|part| part.cause().limit()),
        remedies: remedies(facts, most, most_share),
        confidence: confidence(facts, parts).min(sure),
        caveats: Vec::new(),
    }
}

fn confidence(facts: &Facts, parts: &[Part]) -> Confidence {
    let cause = parts.first().map_or(Cause::Unknown, Part::cause);
    let whole = facts.whole();
    let share = |place: usize| parts.get(place).map_or(0.0, |part| part.time.share_of(whole));
    let (first, second) = (share(0), share(1));
    // Without messages beside it nothing shows what the idle path takes under load.
    let by_the_wait = Facts::is_by_a_wait(cause) && facts.is_late() && facts.loaded.is_none();
    // A path is seen to be full by a queue that stands before it, or that was full when data was
    // lost, on machines with processors to spare. Where it is about full, or was when data was
    // lost, it may be its own queue that loses.
    let is_seen = match cause {
        Cause::PathQueue => facts.shows_queue() && facts.full_machine().is_none(),
        Cause::AfterLoss => !facts.is_full() && !facts.is_late_at_losses(),
        _ => true,
    };
    if cause == Cause::Unknown {
        Confidence::Low
    } else if !is_seen
        || facts.is_short()
        || first < SURE_SHARE.get()
        || first - second < A_TENTH.get()
        // Nor do marks tell how full the line is.
        // Openings by probes alone may be a program's that reads as slowly.
        || matches!(
            cause,
            Cause::Steady
                | Cause::PathMarks
                | Cause::PathPolicer
                | Cause::Reordering
                | Cause::NoWindowUpdate
        )
        || by_the_wait
    {
        Confidence::Medium
    } else {
        Confidence::High
    }
}

fn streams(facts: &Facts) -> Sentence {
    match facts.streams {
        1 => Sentence::new(),
        count => sentence!(" on each of {count} streams"),
    }
}

fn sentence(facts: &Facts, part: &Part, share: f64) -> Sentence {
    let (time, rtt, window) = (Share(share), facts.rtt.unwrap_or_default(), facts.one_window());
    let each = streams(facts);
    let base = facts.base().unwrap_or_default();
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
             the sender waits for the ACK of each piece {time} of the time.",
            Bytes::new(facts.segment)
        ),
        Cause::ReceiverNotReading => sentence!(
            "The receiver closes its window{each}: its program reads more slowly than data \
             arrives, and the sender waits {time} of the time."
        ),
        Cause::NoWindowUpdate => sentence!(
            "The receiver closes its window{each} and sends no window update when it opens: the \
             sender waits for its own window probes {time} of the time."
        ),
        Cause::BufferPathRtt => sentence!(
            "The send buffer is too small for an RTT of {rtt}{each}: the sender waits for room in \
             it {time} of the time, though the receiver would take {window}."
        ),
        Cause::PathQueue if !facts.may_be_queued() && facts.heeds_loss => sentence!(
            "The path is full: its short queue overflows and drops {} of the segments, and \
             nothing else limits the sender {time} of the time.",
            Percent(facts.loss(), 2)
        ),
        Cause::PathQueue if !facts.may_be_queued() => sentence!(
            "The path is full: the sender's congestion control follows the delivery rate, and \
             nothing else limits the sender {time} of the time."
        ),
        Cause::PathQueue => sentence!(
            "The path is full: data waits in its queue, which raises the RTT from {base} to \
             {rtt}, {time} of the time."
        ),
        Cause::SlowStart => sentence!(
            "The sender is still in slow start{each}, and raises its rate with each round trip of \
             {rtt}, {time} of the time."
        ),
        Cause::FastRecovery => sentence!(
            "{} of the segments were lost and retransmitted, and each loss reduces the congestion \
             window, which limits the sender {time} of the time.",
            Percent(facts.loss(), 2)
        ),
        Cause::Timeout => match facts.outage() {
            Some(outage) => sentence!(
                "For {outage} nothing was acknowledged: the path was interrupted, or the receiver \
                 did not answer. The sender retransmits only after timeouts, each longer than the \
                 last: {time} of the time."
            ),
            None => sentence!(
                "The path loses data, and the sender retransmits only after a timeout: {} of the \
                 segments were lost, and waiting for timeouts takes {time} of the time.",
                Percent(facts.loss(), 2)
            ),
        },
        Cause::AfterLoss => sentence!(
            "After loss the sender regains its rate slowly{each} on an RTT of {rtt}: its \
             congestion window limits it {time} of the time."
        ),
        Cause::PathMarks => sentence!(
            "A queue on the path marks {} of the segments (ECN). Each mark reduces the congestion \
             window, which limits the sender{each} {time} of the time.",
            Percent(facts.marked as f64 / facts.segments.max(1) as f64, 2)
        ),
        Cause::Steady => sentence!(
            "The congestion window of {} limits the sender{each} {time} of the time.",
            Bytes::new(facts.congestion_window.get() / facts.streams.max(1))
        ),
        Cause::Processor => of_processors(facts),
        Cause::PathPolicer => sentence!(
            "A policer on the path drops data above a rate: {} of the segments were lost without \
             a queue, and the delivered rate stays at {}, {time} of the time.",
            Percent(facts.loss(), 2),
            facts.delivery.map_or(facts.rate, |delivery| delivery.usual)
        ),
        Cause::Reordering => sentence!(
            "The path reorders segments, as ACKs showed {} times: the sender takes late segments \
             for lost and sends less, {time} of the time.",
            Count(facts.reorderings)
        ),
        Cause::BlackHole if facts.path_mtu_fell() => sentence!(
            "Packets of more than {} are lost without an ICMP message: the sender detects that by \
             timeouts, {time} of the time.",
            Bytes::new(facts.path_mtu.map_or(0, |(now, _)| now))
        ),
        Cause::BlackHole => sentence!(
            "Full segments of {} never arrive, while small messages do, {time} of the time.",
            Bytes::new(facts.segment)
        ),
        Cause::SenderIdle if facts.pace.is_some() => {
            "The sender keeps to the requested pace.".into()
        }
        Cause::SenderIdle => {
            sentence!("The sending program had nothing to send{each} {time} of the time.")
        }
        Cause::BufferDelayedAck => sentence!(
            "The send buffer is full{each} until the receiver acknowledges, {rtt} later on a path \
             of {base}: the sender waits for room {time} of the time."
        ),
        Cause::ReceiverLimited => sentence!(
            "The receiver's program reads too slowly{each}: it offers {} of its largest window on \
             average, and the sender fills that window at once, {time} of the time.",
            Share(facts.open().unwrap_or_default())
        ),
        _ if part.causes.all().len() > 1 => open_question(part.causes.all(), time),
        _ => "The measurements do not show what limited the transfer.".into(),
    }
}

/// Tells which thread or machine has no processor time to spare.
fn of_processors(facts: &Facts) -> Sentence {
    let thread = |thread: Thread, end: &str, does: &str| {
        let waits = thread.waiting.filter(|share| *share >= NOTABLE_WAIT.get());
        match waits {
            None => sentence!(
                "The {end}'s program uses {} of a processor: it cannot {does} faster.",
                Share(thread.share)
            ),
            Some(waits) => sentence!(
                "The {end}'s program works {} of the time and waits for a processor {} of the \
                 time: it cannot {does} faster.",
                Share(thread.share),
                Share(waits)
            ),
        }
    };
    let mut said = if facts.is_busy() {
        thread(facts.sender.unwrap_or_default(), "sender", "send")
    } else if let Some(receiver) = facts.receiver.filter(|_| facts.receiver_is_busy()) {
        thread(receiver, "receiver", "receive")
    } else if facts.both_are_busy() {
        sentence!(
            "Both ends are on this machine, and together they use {} of its processors.",
            Share(facts.share_of_both().unwrap_or(0.0))
        )
    } else if let Some(machine) = facts.interrupted_machine() {
        sentence!(
            "One processor is busy {} of the time, and handles packets {} of the time: it is at \
             its limit.",
            Share(machine.busiest_core_share),
            Share(machine.busiest_core_interrupt_share)
        )
    } else {
        let machine = facts.full_machine();
        sentence!(
            "All processors of {} were busy {} of the time.",
            if facts.is_one_machine { "the machine of both ends" } else { "one end" },
            Share(machine.map_or(0.0, |machine| machine.busy_share))
        )
    };
    if let Some(others) = others(facts) {
        said.push(&sentence!(" Other programs: {others}."));
    }
    said
}

/// Other programs on the machines of the ends, with their shares of a processor.
fn others(facts: &Facts) -> Option<Sentence> {
    let all = facts.machines().map(|machine| machine.others.as_slice());
    let most = all.max_by_key(|others| others.len())?;
    let mut said = Sentence::new();
    for other in most.iter().filter(|other| other.share >= OTHER_PROGRAMS.get()) {
        let before = if said.is_empty() { "" } else { ", " };
        let share = Share(other.share);
        said.push(&sentence!("{before}{other.name} ({other.pid}) {share} of a processor"));
    }
    (!said.is_empty()).then_some(said)
}

/// Names the causes that the kernel's figures cannot tell apart.
fn open_question(causes: &[Cause], time: Share) -> Sentence {
    let what = |cause: &Cause| match cause {
        Cause::PathQueue => "a queue on the path",
        Cause::WindowAckLatency | Cause::BufferDelayedAck => "late ACKs of the receiver",
        Cause::WindowPathRtt => "a receive window too small for the RTT",
        Cause::BufferPathRtt => "a send buffer too small for the RTT",
        Cause::ReceiverLimited => "a receiving program that reads slowly",
        Cause::ReceiverNotReading => "a receiving program that stops reading",
        Cause::NoWindowUpdate => "a missing window update",
        Cause::Timeout | Cause::FastRecovery | Cause::AfterLoss => "lost segments",
        Cause::PathPolicer => "a policer",
        Cause::Processor => "busy processors",
        Cause::Steady => "a congestion window that stays constant",
        Cause::SenderIdle => "a program with nothing to send",
        _ => "another cause",
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
        "For {time} of the time the sender was limited by {all}. The kernel's figures cannot tell \
         which; a capture can."
    )
}

fn evidence(facts: &Facts, parts: &[Part]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut say = |shows: Sentence| evidence.push(Evidence { packets: Vec::new(), shows });
    let whole = facts.whole();
    if facts.streams > 0 && whole > Span::ZERO {
        let of = |time: Span| Share(time.share_of(whole));
        say(sentence!(
            "the sender's kernel was busy {} of the time: limited by the window {}, by the send \
             buffer {}",
            of(facts.busy),
            of(facts.window_held),
            of(facts.buffer_held),
        ));
    }
    if let (Some(least), true) = (facts.least(), facts.rtt.is_some()) {
        say(sentence!(
            "the minimum RTT is {least}, the RTT under load {}",
            facts.rtt.unwrap_or_default()
        ));
    }
    if let (Some(idle), Some(loaded)) = (facts.idle, facts.loaded) {
        say(sentence!("the RTT of small messages is {idle.p50} idle, {loaded.p50} under load"));
    }
    if let Some(outage) = facts.outage() {
        say(sentence!(
            "for {outage} without a break nothing was acknowledged, with data in flight; timeouts \
             and their retransmissions take {} of the time",
            Share(facts.timeout_share())
        ));
    }
    if facts.is_one_machine {
        say("both ends are one machine".into());
    }
    let cause = parts.first().map_or(Cause::Unknown, Part::cause);
    if let (Some(machine), true) = (facts.full_machine(), cause != Cause::Processor) {
        let mut said = sentence!(
            "the processors of {} were busy {} of the time",
            if facts.is_one_machine { "both ends" } else { "one end" },
            Share(machine.busy_share)
        );
        if let Some(others) = others(facts) {
            said.push(&sentence!(": {others}"));
        }
        say(said);
    }
    if facts.lost > 0 {
        let (of, were) = (Count(facts.segments), if facts.lost == 1 { "was" } else { "were" });
        say(sentence!("{} of {of} segments {were} lost", Count(facts.lost)));
    }
    evidence
}

fn input(symbol: &'static str, value: f64, unit: Unit, meaning: &'static str) -> Input {
    Input { symbol, value, unit, meaning }
}

fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    input(symbol, value.get() as f64, Unit::Bytes, meaning)
}

fn law(facts: &Facts, cause: Cause) -> Option<(Law, Rate)> {
    let rtt = facts.rtt?;
    let cycle = input("T", rtt.as_seconds(), Unit::Seconds, "the mean round trip under load");
    let window = |window: Bytes, meaning| {
        let law = Law {
            name: "window",
            formula: "W / T",
            inputs: vec![bytes("W", window, meaning), cycle.clone()],
        };
        Some((law, laws::window_rate(window, rtt)))
    };
    match cause {
        Cause::WindowPathRtt | Cause::WindowAckLatency if facts.window.is_some() => window(
            facts.window.unwrap_or_default(),
            "the windows of the receiver, over all streams",
        ),
        // A short transfer has no sample with something in flight.
        Cause::BufferPathRtt | Cause::Steady | Cause::PathMarks | Cause::SlowStart
            if facts.flight > Bytes::ZERO =>
        {
            window(facts.flight, "the mean data in flight, over all streams")
        }
        Cause::FastRecovery | Cause::AfterLoss => {
            let (segment, loss) = (Bytes::new(facts.segment), facts.loss());
            let rate = facts.lossy_rate(loss)?;
            let inputs = vec![
                bytes("MSS", segment, "the size of a segment"),
                input("p", loss, Unit::Share, "the share of lost segments"),
                input("n", facts.streams as f64, Unit::Count, "the number of streams"),
            ];
            Some((Law { name: "loss", formula: "n × MSS / RTT × 1.22 / √p", inputs }, rate))
        }
        _ => None,
    }
}
