//! Limits of a capture, and the capture that would remove them.
use windlass_base::figures::ItemCount;
use windlass_base::thresholds::{ENOUGH, LOCAL_PATH, NEARLY_ALL, SEVERAL};
use windlass_base::verdict::{Caveat, CaveatId};
use windlass_base::{Bytes, Cause, Sentence, Span, sentence};

use super::case::{Case, are, repairs, were};
use super::causes::fast_timer;
use super::checks::Checks;
use crate::estimate::longer_path::LongerPath;
use crate::estimate::split_tcp::SplitTcp;

/// A caveat, by its identifier and its sentence.
macro_rules! caveat {
    ($id:ident, $($text:tt)+) => {
        Caveat { id: CaveatId::$id, text: sentence!($($text)+) }
    };
}

pub(crate) fn caveats(case: &Case<'_>) -> Vec<Caveat> {
    let facts = case.facts;
    let counts = &facts.counts;
    let mut found = Vec::new();
    if facts.capture.one_sided {
        found.push(caveat!(
            OneSided,
            "only one direction was captured, so the other side's packets are inferred; capture \
             both directions at one place"
        ));
    }
    if facts.capture.rewritten {
        found.push(caveat!(
            SequenceRewritten,
            "a device on the path (a firewall) rewrites sequence numbers, and the capture holds \
             packets from both sides of it; capture on one side only"
        ));
    }
    if facts.capture.made_up_times {
        found.push(caveat!(
            MadeUpTimes,
            "all packets have the same distance in time, in both directions: no network does that, \
             so the times are made up"
        ));
    }
    if facts.capture.lacks_acks && !facts.capture.one_sided {
        found.push(caveat!(
            AcksMissing,
            "the capture has no ACK without data of {}, as if saved through a display filter, so \
             the sender's waits do not show; save all packets of the connection",
            case.receiver
        ));
    }
    let offers = &facts.opening.handshake.offers;
    if offers.iter().all(Option::is_some) && !facts.opening.handshake.is_whole() {
        found.push(caveat!(
            NoHandshake,
            "the snap length cut the options of the handshake, so MSS, window scale, SACK and \
             timestamps are uncertain; capture at least 128 bytes of each packet (-s 128)"
        ));
    } else if !facts.opening.handshake.is_whole() {
        let what = if facts.opening.handshake.offers.iter().any(Option::is_some) {
            "only a part of the handshake was captured"
        } else {
            "the handshake was not captured"
        };
        found.push(caveat!(
            NoHandshake,
            "{what}: MSS, options and the path's round trip are inferred; start the capture before \
             the transfer"
        ));
    }
    if !facts.window.scale.is_known() && !facts.capture.one_sided {
        let shift = facts.window.scale.shift();
        let least = if shift > 0 {
            sentence!(" (at least {shift}, by what was sent)")
        } else {
            Sentence::new()
        };
        found.push(caveat!(
            ScaleUnknown,
            "the window scale is not known{least}, so windows may be larger than shown; capture \
             the handshake"
        ));
    }
    if facts.capture.distance > Span::ZERO {
        let (distance, rtt) = (facts.capture.distance, facts.path.rtt.unwrap_or_default());
        let place = if distance >= rtt.scaled(NEARLY_ALL.get()) {
            sentence!("at the receiver, {distance} from the sender and back")
        } else {
            sentence!("between the ends, {distance} of the {rtt} round trip from the sender")
        };
        found.push(caveat!(
            TakenAtReceiver,
            "the capture was taken {place}: the sender's view is reconstructed; capture at the \
             sender to be certain"
        ));
    }
    if let Some(SplitTcp { opening, soonest }) = facts.path.split {
        let host = if facts.splits_sender() { case.sender } else { case.receiver };
        found.push(caveat!(
            SplitConnection,
            "{host} answered the SYN after {opening} and acknowledges data after {soonest}: a \
             proxy, or the address translation of a virtual machine, may do so in its place, and \
             the path beyond does not show; capture there, too"
        ));
    }
    if let Some(LongerPath { handshake, latency }) = case.longer_path() {
        found.push(caveat!(
            SplitConnection,
            "the SYN was answered after {handshake}, but each ACK of data comes {latency} after \
             it, with more in flight: this may be the delay of the path. A SYN proxy or a firewall \
             may have answered the SYN, or the path may have become longer; ping the host to tell"
        ));
    }
    if facts.opening.is_subflow {
        found.push(caveat!(
            Multipath,
            "this is one path of a Multipath TCP connection (RFC 8684): its window is for all \
             paths together, and other paths may carry data; `ss -Mi` on a host lists the paths, \
             and a capture on all interfaces has them"
        ));
    }
    // Its first packets find the hosts asleep.
    let quick = |rtt: Option<Span>| rtt.is_some_and(|rtt| rtt < LOCAL_PATH.get());
    if facts.opening.handshake.rtt().is_some() && quick(facts.path.rtt) {
        found.push(caveat!(
            Local,
            "the round trip is {}: at that scale the time is the hosts' own processing, and the \
             packets do not show which part",
            facts.path.rtt.unwrap_or_default()
        ));
    }
    if counts.missing_bytes > 0 {
        found.push(caveat!(
            PacketsMissing,
            "{} that were acknowledged are not in the capture: packets are missing from it, and \
             that is not loss on the path",
            Bytes::new(counts.missing_bytes)
        ));
    } else if counts.unseen_acks > 0 {
        found.push(caveat!(
            PacketsMissing,
            "{} beyond the window that the captured ACKs leave: ACKs are missing from the capture",
            are(counts.unseen_acks, "segment")
        ));
    }
    if let Some(drops) = facts.capture.drops.filter(|drops| *drops > 0) {
        found.push(caveat!(
            CaptureDrops,
            "the capture itself lost {}, as its file says",
            ItemCount(drops, "packet")
        ));
    }
    if counts.cuts > 0 {
        found.push(caveat!(
            Fragments,
            "the capture holds only parts of the conversation, with {} left out and not covered by \
             ACKs: data sent there counts if the capture covers its time, and that time is unknown",
            if counts.cuts == 1 { "1 piece".into() } else { sentence!("{counts.cuts} pieces") }
        ));
    }
    if facts.capture.clock_step > Span::ZERO {
        found.push(caveat!(
            CoarseClock,
            "the capture's clock has steps of {}: each time is off by up to that much, and shorter \
             times do not show; capture with a finer clock",
            facts.capture.clock_step
        ));
    }
    if facts.capture.set_ahead > 0 {
        let by = facts.capture.set_ahead_by;
        let times = match facts.capture.set_ahead {
            1 => "once".into(),
            count => sentence!("{}", ItemCount(count, "time")),
        };
        found.push(caveat!(
            Clock,
            "the capture's clock was set ahead {times}, by {by}: the timestamps of both hosts \
             show that this time did not pass, and it is left out here"
        ));
    }
    if facts.capture.set_backs > 0 {
        found.push(caveat!(
            Clock,
            "the capture's clock was set back during the capture, so the time around that is \
             uncertain"
        ));
    } else if facts.has_two_clocks() {
        found.push(caveat!(
            Clock,
            "replies stand in the capture up to {} before the packets that they answer, so the two \
             directions have different clocks, like the two cards of a tap: the sender's waits are \
             uncertain",
            facts.capture.answered_before
        ));
    } else if facts.is_disordered() {
        found.push(caveat!(
            Clock,
            "packets have times {} before those of earlier packets: the clock was set, or captures \
             were merged, and round trips across that are uncertain",
            facts.capture.disorder
        ));
    }
    if facts.capture.captured_twice > 0 && counts.d_sacks * 2 >= facts.capture.captured_twice {
        found.push(caveat!(
            DuplicatedByNetwork,
            "the network delivered {} twice, as the receiver's D-SACKs say; that counts once here",
            ItemCount(facts.capture.captured_twice, "packet")
        ));
    } else if facts.capture.captured_twice > 0 {
        found.push(caveat!(
            CapturedTwice,
            "{} in the capture twice, and {} once here; capture on one interface only",
            are(facts.capture.captured_twice, "packet"),
            if facts.capture.captured_twice == 1 { "counts" } else { "count" }
        ));
    }
    if counts.super_packets > 0 {
        found.push(caveat!(
            SuperPackets,
            "{} larger than a full one of {}: the network card splits or joins segments, so the \
             wire carried more and smaller ones",
            are(counts.super_packets, "segment"),
            case.segment()
        ));
    }
    found.extend(sent_again(case));
    if facts.capture.unanswered > 0 && !facts.capture.one_sided {
        found.push(caveat!(
            Unanswered,
            "{} of data had no ACK yet when the capture ended",
            Bytes::new(facts.capture.unanswered)
        ));
    }
    if let Some((count, size, _)) = case.silly() {
        found.push(caveat!(
            SillyWindow,
            "{count} times the receiver offers a small piece of its window, {size} on average, \
             where it should wait for a full segment or half its buffer (silly windows, RFC 9293 \
             section 3.8.6.2.2)"
        ));
    }
    if counts.segments < ENOUGH.get() {
        found.push(caveat!(Short, "there are few segments, so the sample is small"));
    }
    found
}

/// Adds caveats on retransmissions, and on waits for them, that no loss of data explains.
fn sent_again(case: &Case<'_>) -> Vec<Caveat> {
    let facts = case.facts;
    let (counts, vain) = (&facts.counts, &facts.loss.in_vain);
    let mut found = Vec::new();
    if vain.acks_lost > 0 {
        found.push(caveat!(
            AckLoss,
            "{} sent again though the data had arrived: the ACKs were lost, or came after the \
             sender's timeout; capture at both ends to tell",
            were(vain.acks_lost)
        ));
    }
    if vain.may_be_of_acks() && vain.acks_lost == 0 && !facts.withholds_acks() {
        found.push(caveat!(
            DataOrAcks,
            "most silences of the sender end with an ACK of more than it had sent again, without \
             duplicate ACKs before: perhaps ACKs were lost, not data; capture at the receiver to \
             tell"
        ));
    }
    if vain.vain_repairs > 0 {
        let seen = match counts.out_of_order {
            0 => Sentence::new(),
            late => sentence!(" ({} here)", ItemCount(late, "segment")),
        };
        found.push(caveat!(
            Reordering,
            "{} in vain: the path changes the order of segments{seen}, which looks like loss to \
             the sender and slows it down; RACK (RFC 8985) waits for late segments",
            repairs(vain.vain_repairs)
        ));
    }
    if counts.of_copies >= SEVERAL.get() {
        found.push(caveat!(
            CopiesOfCopies,
            "{} sent again after duplicate ACKs that report only duplicate data: {} takes these \
             for a loss, against RFC 2883 section 4 and RFC 6675 section 2, and sends the copies \
             again",
            were(counts.of_copies),
            case.sender
        ));
    }
    let is_said =
        matches!(case.tally.cause(), Cause::Timeout | Cause::FastRecovery | Cause::AfterLoss);
    if let Some(damaged) =
        facts.loss.damaged.as_ref().filter(|_| !is_said || facts.damage().is_none())
    {
        found.push(caveat!(
            DamagedSegments,
            "{} arrived with a wrong TCP checksum, and {} dropped them: a network card, a driver \
             or a firewall on the path changes bytes",
            ItemCount(damaged.segments, "segment"),
            case.receiver
        ));
    }
    if facts.has_fast_timer(&mut Checks::silent()) {
        found.push(caveat!(FastTimer, "{}", fast_timer::told(case)));
    }
    if let Some((timer, rtt)) = facts.slow_timer() {
        found.push(caveat!(
            SlowTimer,
            "the sender's retransmission timeout is at least {}, with round trips of up to {rtt}: \
             Linux waits for 200 ms, RFC 6298 asks for 1 s; each loss that only the timer repairs \
             costs that much",
            timer.least
        ));
    }
    found
}

/// Returns the caveat on a cause that was the verdict at first, and was taken back.
pub(crate) fn refuted(cause: Cause, breach: &str) -> Caveat {
    caveat!(
        Contradiction,
        "the waits look like {cause}, but the report's own figures refute that ({}): their time \
         counts as unknown; a capture at the other end may tell",
        breach
    )
}
