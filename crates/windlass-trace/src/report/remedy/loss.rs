//! What helps where data is lost or seems to be: by the path, by a receiver, by its size, by
//! a policer, by a slow timer.

use windlass_base::figures::Percent;
use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

use super::{Advice, NO_LOSS, advice};
use crate::report::sentence::{path_loss, path_lost};
use crate::report::{Remedy, Side, Unit, law};

/// Duplicate ACKs after which a sender repairs a hole without its timer (RFC 5681
/// section 3.2).
const FAST: u64 = 3;

/// With so many segments in flight the loss of one ACK costs nothing: another one follows.
const FEW: u64 = 8;

/// The payload that the least MTU of IPv6 leaves (1,280 bytes, RFC 8200 section 5), with
/// timestamps or without. Nearly every path takes it.
const MIN_MTU: u64 = 1_208;

/// The least retransmission timer of Linux and of others (`TCP_RTO_MIN`).
const QUICK_TIMER: Span = Span::from_millis(200);

impl Advice<'_> {
    pub(super) fn loss(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        if finished.never_came_back() {
            return vec![advice(
                Side::Receiver,
                "find out why it stopped answering: whether it still runs and can be reached, or \
                 a firewall or translator on the way forgot the connection",
            )];
        }
        let ratio = finished.loss_ratio();
        let path = self.remedy(
            Side::Path,
            sentence!(
                "find what loses {} of the segments: cable, duplex mismatch, radio, or a full \
                 queue",
                Percent(ratio, 2)
            ),
            NO_LOSS,
            0.0,
        );
        let offers = &finished.handshake.offers;
        let sack = offers.iter().all(|offer| offer.is_some_and(|offer| offer.sack_permitted));
        let known = offers.iter().all(Option::is_some);
        let mut remedies = vec![path];
        remedies.extend(self.shorter_timer());
        remedies.extend(self.fast_retransmit());
        if known && !sack {
            let lacking = offers[finished.direction].is_some_and(|offer| offer.sack_permitted);
            remedies.push(self.remedy(
                if lacking { Side::Receiver } else { Side::Sender },
                "turn on selective acknowledgments (SACK), so that several losses are repaired in \
                 one round trip",
                None,
                0.5,
            ));
        }
        remedies
    }

    /// A timer that follows the round trip, where it is slow now.
    fn shorter_timer(&self) -> Option<Remedy> {
        let (timer, rtt) = self.subject.finished.slow_timer()?;
        let shorter = QUICK_TIMER.max(rtt * 3);
        let causes = [Cause::Timeout, Cause::SlowTimer, Cause::AckLoss];
        let waits: Span = causes.iter().map(|cause| self.subject.time_of(*cause)).sum();
        let waited = waits.share_of(self.held());
        Some(self.remedy(
            Side::Sender,
            sentence!(
                "let the retransmission timer follow the path's round trip (RFC 6298): it runs for \
                 {} at least, and {shorter} would do",
                timer.least
            ),
            Some((shorter.as_seconds(), Unit::Seconds)),
            1.0 - waited * (1.0 - shorter.share_of(timer.least)),
        ))
    }

    /// Fast retransmit, where enough duplicate ACKs came for it and the sender never did.
    fn fast_retransmit(&self) -> Option<Remedy> {
        let counts = &self.subject.finished.counts;
        let rtt = self.subject.finished.told_rtt()?;
        let timeouts = counts.timeouts.max(1);
        if counts.fast > 0 || counts.duplicate_acks < FAST * timeouts {
            return None;
        }
        let repair = rtt * i64::try_from(timeouts).unwrap_or(i64::MAX);
        let held = self.held().max(Span::from_nanos(1));
        Some(self.remedy(
            Side::Sender,
            sentence!(
                "repair a loss after {FAST} duplicate ACKs (fast retransmit, RFC 5681 section 3.2): \
                 {} came, and it waited for its timer",
                counts.duplicate_acks
            ),
            None,
            repair.share_of(held).min(1.0),
        ))
    }

    pub(super) fn slow_timer(&self) -> Vec<Remedy> {
        let mut remedies = self.loss();
        let is_timer = |remedy: &Remedy| remedy.unit == Some(Unit::Seconds);
        remedies.sort_by_key(|remedy| !is_timer(remedy));
        remedies
    }

    pub(super) fn ack_loss(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        let path = self.remedy(
            Side::Path,
            "find what loses ACKs on their way back: cable, duplex mismatch, radio, or the full \
             queue of a slow upstream",
            NO_LOSS,
            0.0,
        );
        // An ACK covers all before it, so with more in flight the next one stands in.
        let few = finished.counts.flight_most < FEW * finished.segment_size;
        let more = few.then(|| {
            advice(
                Side::Receiver,
                "offer a larger window: with more segments in flight the next ACK stands in for \
                 one that was lost",
            )
        });
        [path].into_iter().chain(self.shorter_timer()).chain(more).collect()
    }

    pub(super) fn reordering(&self) -> Vec<Remedy> {
        let factor = if self.leaves_enough(0.0) { 0.0 } else { 0.5 };
        let best = self.rate(factor);
        let best = Some(self.subject.finished.capacity.map_or(best, |rate| best.min(rate)));
        let brings = |side, action: &str, value| Remedy {
            expected_bytes_per_second: best,
            ..self.remedy(side, action, value, factor)
        };
        vec![
            brings(
                Side::Path,
                "find what lets segments overtake each other: links that share one connection's \
                 packets, a router that balances by packet, a radio that sends again",
                NO_LOSS,
            ),
            brings(
                Side::Sender,
                "let it wait for what is only late before it repairs: RACK (RFC 8985; Linux and \
                 Windows have it), or a reordering threshold above 3",
                None,
            ),
        ]
    }

    pub(super) fn receiver_discards(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        let sent = finished.counts.sent();
        let lost = path_lost(self.subject);
        let keeps = Remedy {
            expected_bytes_per_second: self.with_reassembly(),
            ..self.remedy(
                Side::Receiver,
                "keep what comes behind a lost segment until it is repaired (lwIP: \
                 TCP_QUEUE_OOSEQ), so that each loss costs one segment and one round trip, and \
                 say so by SACK, for several losses at once",
                None,
                self.repair_by_round_trips(),
            )
        };
        let path = self.remedy(
            Side::Path,
            sentence!("find what loses about {lost} of {sent} segments"),
            NO_LOSS,
            0.0,
        );
        vec![keeps, path]
    }

    /// The share of the repair that is left where each loss costs a round trip.
    fn repair_by_round_trips(&self) -> f64 {
        let finished = self.subject.finished;
        let losses = i64::try_from(finished.counts.loss_events.max(1)).unwrap_or(i64::MAX);
        let rtt = finished.path_rtt.unwrap_or_default();
        (rtt * losses).share_of(self.held().max(Span::from_nanos(1))).min(1.0)
    }

    /// The rate of a receiver that keeps all, as far as it can be told: where the flights
    /// are long enough for a fast retransmit, and not above what the path's own loss
    /// leaves.
    fn with_reassembly(&self) -> Option<Rate> {
        let (finished, subject) = (self.subject.finished, self.subject);
        let discarding = finished.discarding.as_ref()?;
        if discarding.segments < FAST * u64::from(discarding.holes) {
            return None;
        }
        let rtt = finished.path_rtt?;
        let ratio = path_loss(subject);
        let window = Some(Bytes::new(finished.window_most));
        let timeout = law::timeout(rtt);
        let bound = laws::pftk_rate(subject.segment(), rtt, ratio, timeout, 2, window)?;
        Some(self.rate(self.repair_by_round_trips()).min(bound).max(subject.measured()))
    }

    pub(super) fn black_hole(&self) -> Vec<Remedy> {
        let Some(hole) = &self.subject.finished.black_hole else { return Vec::new() };
        let fails = Bytes::new(hole.fails);
        let size = if hole.fails > MIN_MTU { hole.passes.max(MIN_MTU) } else { hole.passes };
        let known = if size == hole.passes {
            "which is known to pass".into()
        } else {
            sentence!(
                "which nearly every path takes; here {} is known to pass",
                Bytes::new(hole.passes)
            )
        };
        let value = Some((size as f64, Unit::Bytes));
        let escapes = if hole.escaped { 0.0 } else { 1.0 };
        let with_size = |side, action: Sentence| {
            let remedy = self.remedy(side, action, value, 0.0);
            // What a path gives that let nothing through, nothing tells.
            let expected = remedy.expected_bytes_per_second.filter(|_| escapes == 0.0);
            Remedy { expected_bytes_per_second: expected, ..remedy }
        };
        vec![
            with_size(
                Side::Path,
                sentence!(
                    "let ICMP pass that tells of a smaller MTU (type 3 code 4; of IPv6, type 2), or \
                     clamp the MSS before the small link to {}, {known}: {fails} never arrived",
                    Bytes::new(size)
                ),
            ),
            with_size(
                Side::Sender,
                sentence!(
                    "let it look for a size that passes (on Linux, net.ipv4.tcp_mtu_probing = 1), or \
                     lower its MTU, so that a segment carries {} at most",
                    Bytes::new(size)
                ),
            ),
        ]
    }

    pub(super) fn policer(&self) -> Vec<Remedy> {
        let Some(policer) = &self.subject.finished.policer else { return Vec::new() };
        let measured = self.subject.measured();
        let predicted =
            law::law(self.subject, Cause::PathPolicer).map_or(policer.rate, |law| law.rate);
        let paced = predicted.max(measured);
        let twice = Rate::from_bytes_per_second(measured.bytes_per_second() * 2.0);
        let value = policer.rate.bytes_per_second();
        vec![
            Remedy {
                expected_bytes_per_second: Some(paced),
                ..self.remedy(
                    Side::Sender,
                    sentence!(
                        "send no faster than {}, paced (on Linux, tc qdisc fq with maxrate, or \
                         SO_MAX_PACING_RATE), so that nothing is dropped; or shape with a queue \
                         before the policer",
                        policer.rate
                    ),
                    Some((value, Unit::BytesPerSecond)),
                    1.0,
                )
            },
            Remedy {
                expected_bytes_per_second: Some(twice),
                ..self.remedy(
                    Side::Path,
                    "raise the policer's rate, which is what the contract or the router's \
                     configuration sets; with twice the rate",
                    Some((value * 2.0, Unit::BytesPerSecond)),
                    0.5,
                )
            },
        ]
    }
}
