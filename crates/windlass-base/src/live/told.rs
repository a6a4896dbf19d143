//! The judgement in words: the limit, how sure it is, what shows it, and its law.

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
             the sender sends a piece, waits for its ACK and sends the next, {time} of the time.",
            Bytes::new(facts.segment)
        ),
        Cause::ReceiverNotReading => sentence!(
            "The receiver closes its window{each}: its program does not read as fast as data \
             comes, and the sender waits {time} of the time."
        ),
        Cause::NoWindowUpdate => sentence!(
            "The receiver closes its window{each}, and never announces that it is open again: the \
             sender finds that by its own probes, {time} of the time."
        ),
        Cause::BufferPathRtt => sentence!(
            "The sender's buffer holds too little for a round trip of {rtt}{each}: it waits for \
             room {time} of the time, though the receiver would take {window}."
        ),
        Cause::PathQueue if !facts.may_be_queued() && facts.heeds_loss => sentence!(
            "The path carries what it can: what finds its short queue full is lost ({} of the \
             segments), and nothing else holds the sender {time} of the time.",
            Percent(facts.loss(), 2)
        ),
        Cause::PathQueue if !facts.may_be_queued() => sentence!(
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
            Percent(facts.loss(), 2)
        ),
        Cause::Timeout => match facts.outage() {
            Some(outage) => sentence!(
                "For {outage} nothing was acknowledged: the path was interrupted, or the receiver \
                 did not answer. The sender sends again only when its timer runs out, each time \
                 after a longer wait: {time} of the time."
            ),
            None => sentence!(
                "The path loses data, and the sender notices only when its timer runs out: {} of \
                 the segments were lost, and waiting for the timer takes {time} of the time.",
                Percent(facts.loss(), 2)
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
            Percent(facts.marked as f64 / facts.segments.max(1) as f64, 2)
        ),
        Cause::Steady => sentence!(
            "The sender's congestion window of {} holds it{each} {time} of the time.",
            Bytes::new(facts.congestion_window.get() / facts.streams.max(1))
        ),
        Cause::Processor => of_processors(facts),
        Cause::PathPolicer => sentence!(
            "The path drops what goes beyond a rate: {} of the segments were lost though none \
             waited in a queue, and what comes through stays at {}, {time} of the time.",
            Percent(facts.loss(), 2),
            facts.delivery.map_or(facts.rate, |delivery| delivery.usual)
        ),
        Cause::Reordering => sentence!(
            "Segments overtake each other on the path, which ACKs showed {} times: the sender \
             takes late ones for lost and sends less, {time} of the time.",
            Count(facts.reorderings)
        ),
        Cause::BlackHole if facts.path_mtu_fell() => sentence!(
            "Packets of more than {} do not arrive, and nothing says so: the sender finds that by \
             its timers, {time} of the time.",
            Bytes::new(facts.path_mtu.map_or(0, |(now, _)| now))
        ),
        Cause::BlackHole => sentence!(
            "Full segments of {} never arrive, while small messages beside them do, {time} of the \
             time.",
            Bytes::new(facts.segment)
        ),
        Cause::SenderIdle if facts.pace.is_some() => {
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
            Share(facts.open().unwrap_or_default())
        ),
        _ if part.causes.all().len() > 1 => open_question(part.causes.all(), time),
        _ => "Nothing that was measured tells what held the transfer back.".into(),
    }
}

/// Tells which thread or machine has no processor time to spare.
fn of_processors(facts: &Facts) -> Sentence {
    let thread = |thread: Thread, end: &str, does: &str| {
        let waits = thread.waiting.filter(|share| *share >= NOTABLE_WAIT.get());
        match waits {
            None => sentence!(
                "The {end}'s program takes {} of a processor: it cannot {does} faster.",
                Share(thread.share)
            ),
            Some(waits) => sentence!(
                "The {end}'s program works {} of the time and waits {} of it for a processor: it \
                 cannot {does} faster.",
                Share(thread.share),
                Share(waits)
            ),
        }
    };
    let mut said = if facts.is_busy() {
        thread(facts.sender.unwrap_or_default(), "sender", "send")
    } else if let Some(receiver) = facts.receiver.filter(|_| facts.receiver_is_busy()) {
        thread(receiver, "receiver", "take data")
    } else if facts.both_are_busy() {
        sentence!(
            "Both ends are this machine, and they take {} of its processors together.",
            Share(facts.share_of_both().unwrap_or(0.0))
        )
    } else if let Some(machine) = facts.interrupted_machine() {
        sentence!(
            "One processor is busy {} of the time, and handles packets for {}: it takes no more.",
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
        said.push(&sentence!(" Other programs have {others}."));
    }
    said
}

/// Other programs on the machines of the ends, with what they have.
fn others(facts: &Facts) -> Option<Sentence> {
    let all = facts.machines().map(|machine| machine.others.as_slice());
    let most = all.max_by_key(|others| others.len())?;
    let mut said = Sentence::new();
    for other in most.iter().filter(|other| other.share >= OTHER_PROGRAMS.get()) {
        let before = if said.is_empty() { "" } else { ", " };
        let share = Share(other.share);
        said.push(&sentence!("{before}{other.name} ({other.pid}) {share} of one"));
    }
    (!said.is_empty()).then_some(said)
}

/// Tells the causes that a kernel's figures leave open.
fn open_question(causes: &[Cause], time: Share) -> Sentence {
    let what = |cause: &Cause| match cause {
        Cause::PathQueue => "data that waits in a queue of the path",
        Cause::WindowAckLatency | Cause::BufferDelayedAck => "a receiver that acknowledges late",
        Cause::WindowPathRtt => "a window that is small for the path's round trip",
        Cause::BufferPathRtt => "a send buffer that is small for the path's round trip",
        Cause::ReceiverLimited => "a program that reads slowly",
        Cause::ReceiverNotReading => "a program that stops reading",
        Cause::NoWindowUpdate => "a window that opened and was not announced",
        Cause::Timeout | Cause::FastRecovery | Cause::AfterLoss => "segments that were lost",
        Cause::PathPolicer => "a policer that drops them",
        Cause::Processor => "busy processors",
        Cause::Steady => "a congestion window that something holds",
        Cause::SenderIdle => "a program with nothing to send",
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

fn evidence(facts: &Facts, parts: &[Part]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut say = |shows: Sentence| evidence.push(Evidence { packets: Vec::new(), shows });
    let whole = facts.whole();
    if facts.streams > 0 && whole > Span::ZERO {
        let of = |time: Span| Share(time.share_of(whole));
        say(sentence!(
            "the sender's kernel was busy {} of the time: the window held it {}, the send buffer \
             {}",
            of(facts.busy),
            of(facts.window_held),
            of(facts.buffer_held),
        ));
    }
    if let (Some(least), true) = (facts.least(), facts.rtt.is_some()) {
        say(sentence!(
            "a round trip takes {least} at the least, {} under load",
            facts.rtt.unwrap_or_default()
        ));
    }
    if let (Some(idle), Some(loaded)) = (facts.idle, facts.loaded) {
        say(sentence!("a small message beside it takes {idle.p50} idle, {loaded.p50} under load"));
    }
    if let Some(outage) = facts.outage() {
        say(sentence!(
            "for {outage} at a stretch nothing was acknowledged, with data in flight; timers and \
             what they sent again take {} of the time",
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
            "the windows that the receiver offers, over all streams",
        ),
        // A short transfer has no sample with something in flight.
        Cause::BufferPathRtt | Cause::Steady | Cause::PathMarks | Cause::SlowStart
            if facts.flight > Bytes::ZERO =>
        {
            window(facts.flight, "what is in flight on average, over all streams")
        }
        Cause::FastRecovery | Cause::AfterLoss => {
            let (segment, loss) = (Bytes::new(facts.segment), facts.loss());
            let rate = facts.lossy_rate(loss)?;
            let inputs = vec![
                bytes("MSS", segment, "the size of a segment"),
                input("p", loss, Unit::Share, "the share of segments lost"),
                input("n", facts.streams as f64, Unit::Count, "streams"),
            ];
            Some((Law { name: "loss", formula: "n × MSS / RTT × 1.22 / √p", inputs }, rate))
        }
        _ => None,
    }
}
