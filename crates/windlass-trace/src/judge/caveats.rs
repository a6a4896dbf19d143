//! What a capture cannot tell, and which capture would.
use windlass_base::figures::Counted;
use windlass_base::thresholds::{ENOUGH, LOCAL_PATH, SEVERAL};
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
            "only one direction was captured, so what the other side said is a guess; capture both \
             directions at one place"
        ));
    }
    if facts.capture.rewritten {
        found.push(caveat!(
            SequenceRewritten,
            "a device on the way (a firewall) gives the connection other sequence numbers, and the \
             capture holds packets of both of its sides; capture on one side of it only"
        ));
    }
    if facts.capture.made_up_times {
        found.push(caveat!(
            MadeUpTimes,
            "each packet comes after the same time, whoever sent it: no network did that, so the \
             times tell nothing"
        ));
    }
    if facts.capture.lacks_acks && !facts.capture.one_sided {
        found.push(caveat!(
            AcksMissing,
            "no ACK without data of {} is in the capture, as where it was saved through a display \
             filter: what the sender waited for does not show; save all packets of the connection",
            case.receiver
        ));
    }
    let offers = &facts.opening.handshake.offers;
    if offers.iter().all(Option::is_some) && !facts.opening.handshake.is_whole() {
        found.push(caveat!(
            NoHandshake,
            "the snap length cut the options of the handshake, so what is not shown of MSS, window \
             scale, SACK and timestamps may have been offered; capture at least 128 bytes of each \
             packet (-s 128)"
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
            "the window scale is not known{least}, so windows may be larger than they read; \
             capture the handshake"
        ));
    }
    if facts.capture.distance > Span::ZERO {
        found.push(caveat!(
            TakenAtReceiver,
            "the capture was taken {} of the {} round trip away from the sender: what the sender \
             saw, and when, is worked out; capture at the sender to see it",
            facts.capture.distance,
            facts.path.rtt.unwrap_or_default()
        ));
    }
    if let Some(SplitTcp { opening, soonest }) = facts.path.split {
        let host = if facts.splits_sender() { case.sender } else { case.receiver };
        found.push(caveat!(
            SplitConnection,
            "{host} answered the SYN after {opening} and acknowledges data after {soonest}: a \
             proxy, or the translator of a virtual machine, may do so in its place, and what \
             happens beyond that does not show; capture there, too"
        ));
    }
    if let Some(LongerPath { handshake, latency }) = case.longer_path() {
        found.push(caveat!(
            SplitConnection,
            "the SYN was answered after {handshake}, and each ACK of data comes {latency} after it, \
             with more in flight: that may be the path's way, and no host's. Something nearer may \
             answer SYNs (a SYN proxy, a firewall), or the path have become longer; an echo (ping) \
             of its host tells"
        ));
    }
    if facts.opening.is_subflow {
        found.push(caveat!(
            Multipath,
            "this is one path of a connection of Multipath TCP (RFC 8684): its window is for all \
             paths together, and what it does not carry another may; `ss -Mi` on a host lists \
             them, a capture on all interfaces has them"
        ));
    }
    // Its first packets find the hosts asleep.
    let quick = |rtt: Option<Span>| rtt.is_some_and(|rtt| rtt < LOCAL_PATH.get());
    if facts.opening.handshake.rtt().is_some() && quick(facts.path.rtt) {
        found.push(caveat!(
            Local,
            "the round trip is {}: at that scale it is the hosts' own work that takes time, and \
             the packets do not tell which part of it",
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
            Counted(drops, "packet")
        ));
    }
    if counts.cuts > 0 {
        found.push(caveat!(
            Fragments,
            "the capture holds parts of the conversation, with {} left out, which no ACK in the \
             capture tells about: what was sent there counts where the capture shows the time \
             for it, and that time is unknown",
            if counts.cuts == 1 { "1 piece".into() } else { sentence!("{counts.cuts} pieces") }
        ));
    }
    if facts.capture.clock_step > Span::ZERO {
        found.push(caveat!(
            CoarseClock,
            "the capture's clock moves by {}: each time in it is off by up to that much, and what \
             takes less does not show; capture with a finer clock",
            facts.capture.clock_step
        ));
    }
    if facts.capture.set_ahead > 0 {
        let by = facts.capture.set_ahead_by;
        let times = match facts.capture.set_ahead {
            1 => "once".into(),
            count => sentence!("{}", Counted(count, "time")),
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
            "the capture's clock was set back on the way, so the time around that is a guess"
        ));
    } else if facts.has_two_clocks() {
        found.push(caveat!(
            Clock,
            "answers stand in the capture up to {} before what they answer, so the two directions \
             have clocks that differ, as those of a tap's two cards do: what the sender waited \
             for is a guess",
            facts.capture.answered_before
        ));
    } else if facts.is_disordered() {
        found.push(caveat!(
            Clock,
            "packets stand in the capture {} before the ones ahead of them: its clock was set, or \
             several captures are in one, and round trips over that are a guess",
            facts.capture.disorder
        ));
    }
    if facts.capture.captured_twice > 0 && counts.d_sacks * 2 >= facts.capture.captured_twice {
        found.push(caveat!(
            DuplicatedByNetwork,
            "the network delivered {} twice, as the receiver's D-SACKs say; that counts once here",
            Counted(facts.capture.captured_twice, "packet")
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
            "{} larger than a full one of {}: the network card cuts or joins them, so the wire \
             carried more and smaller ones",
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
        found.push(caveat!(Short, "there are few segments, so this is how it went once"));
    }
    found
}

/// What made the sender send again, or wait to, that no loss of data explains.
fn sent_again(case: &Case<'_>) -> Vec<Caveat> {
    let facts = case.facts;
    let (counts, vain) = (&facts.counts, &facts.loss.in_vain);
    let mut found = Vec::new();
    if vain.acks_lost > 0 {
        found.push(caveat!(
            AckLoss,
            "{} sent again though the data had arrived: the ACKs were lost on their way to the \
             sender, or came later than its timer runs; a capture at both ends tells which",
            were(vain.acks_lost)
        ));
    }
    if vain.may_be_of_acks() && vain.acks_lost == 0 && !facts.withholds_acks() {
        found.push(caveat!(
            DataOrAcks,
            "most silences of the sender end with an ACK of more than it had sent again, and no \
             duplicate ACK came before: the ACKs may have been lost, and not the data; capture at \
             the receiver to tell"
        ));
    }
    if vain.vain_repairs > 0 {
        let seen = match counts.out_of_order {
            0 => Sentence::new(),
            late => sentence!(" ({} here)", Counted(late, "segment")),
        };
        found.push(caveat!(
            Reordering,
            "{} in vain: the path changes the order of segments{seen}, which looks like loss to \
             the sender and slows it down; RACK (RFC 8985) waits for what is only late",
            repairs(vain.vain_repairs)
        ));
    }
    if counts.of_copies >= SEVERAL.get() {
        found.push(caveat!(
            CopiesOfCopies,
            "{} sent again behind duplicate ACKs that tell of nothing but copies: {} takes those for \
             signs of a loss, which they are not (RFC 2883 section 4, RFC 6675 section 2), and sends \
             copies of its copies",
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
            "{} arrived with a wrong TCP checksum, and {} dropped what is damaged: a network card, \
             a driver or a firewall on the way changes bytes",
            Counted(damaged.segments, "segment"),
            case.receiver
        ));
    }
    if facts.has_fast_timer(&mut Checks::silent()) {
        found.push(caveat!(FastTimer, "{}", fast_timer::told(case)));
    }
    if let Some((timer, rtt)) = facts.slow_timer() {
        found.push(caveat!(
            SlowTimer,
            "the sender's retransmission timer runs for {} at least, where round trips take up to \
             {rtt}: Linux waits for 200 ms, RFC 6298 asks for 1 s; each loss that only the timer \
             repairs costs that much",
            timer.least
        ));
    }
    found
}

/// Why a cause was taken back that was the verdict at first.
pub(crate) fn refuted(cause: Cause, breach: &str) -> Caveat {
    caveat!(
        Contradiction,
        "the waits look like {cause}, but the report's own figures refute that ({}): their time \
         counts as unknown; a capture at the other end may tell",
        breach
    )
}
