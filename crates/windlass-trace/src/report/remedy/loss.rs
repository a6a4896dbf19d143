//! What helps where data is lost: by a receiver, by its size, by a policer.

use windlass_base::{Bytes, Cause, Rate, Span, laws};

use super::Advice;
use crate::report::law;
use crate::report::sentence::{path_loss, path_lost};
use crate::report::{Remedy, Side, Unit};

/// Duplicate ACKs after which a sender repairs a hole without its timer (RFC 5681
/// section 3.2).
const FAST: u64 = 3;

/// The payload that the least MTU of IPv6 leaves (1,280 bytes, RFC 8200 section 5), with
/// timestamps or without. Nearly every path takes it.
const LEAST_MTU: u64 = 1_208;

impl Advice<'_> {
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
                 say so by SACK, for several losses at once"
                    .to_owned(),
                None,
                self.repair_by_round_trips(),
            )
        };
        let path = self.remedy(
            Side::Path,
            format!("find what loses about {lost} of {sent} segments"),
            Some((0.0, Unit::Share)),
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
        let measured = subject.bytes().per(subject.total());
        let rate = self.rate(self.repair_by_round_trips()).min(bound);
        Some(if rate < measured { measured } else { rate })
    }

    pub(super) fn black_hole(&self) -> Vec<Remedy> {
        let Some(hole) = &self.subject.finished.black_hole else { return Vec::new() };
        let fails = Bytes::new(hole.fails);
        let size = if hole.fails > LEAST_MTU { hole.passes.max(LEAST_MTU) } else { hole.passes };
        let known = if size == hole.passes {
            "which is known to pass".to_owned()
        } else {
            format!(
                "which nearly every path takes; here {} is known to pass",
                Bytes::new(hole.passes)
            )
        };
        let value = Some((size as f64, Unit::Bytes));
        let escapes = if hole.escaped { 0.0 } else { 1.0 };
        let with_size = |side, action: String| {
            let remedy = self.remedy(side, action, value, 0.0);
            // What a path gives that let nothing through, nothing tells.
            let expected = remedy.expected_bytes_per_second.filter(|_| escapes == 0.0);
            Remedy { expected_bytes_per_second: expected, ..remedy }
        };
        vec![
            with_size(
                Side::Path,
                format!(
                    "let ICMP pass that tells of a smaller MTU (type 3 code 4; of IPv6, type 2), or \
                     clamp the MSS before the small link to {}, {known}: {fails} never arrived",
                    Bytes::new(size)
                ),
            ),
            with_size(
                Side::Sender,
                format!(
                    "let it look for a size that passes (on Linux, net.ipv4.tcp_mtu_probing = 1), or \
                     lower its MTU, so that a segment carries {} at most",
                    Bytes::new(size)
                ),
            ),
        ]
    }

    pub(super) fn policer(&self) -> Vec<Remedy> {
        let Some(policer) = &self.subject.finished.policer else { return Vec::new() };
        let measured = self.subject.bytes().per(self.subject.total());
        let predicted =
            law::law(self.subject, Cause::PathPolicer).map_or(policer.rate, |law| law.rate);
        let paced = if predicted < measured { measured } else { predicted };
        let twice = Rate::from_bytes_per_second(measured.bytes_per_second() * 2.0);
        let value = policer.rate.bytes_per_second();
        vec![
            Remedy {
                expected_bytes_per_second: Some(paced),
                ..self.remedy(
                    Side::Sender,
                    format!(
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
                     configuration sets; with twice the rate"
                        .to_owned(),
                    Some((value * 2.0, Unit::BytesPerSecond)),
                    0.5,
                )
            },
        ]
    }
}
