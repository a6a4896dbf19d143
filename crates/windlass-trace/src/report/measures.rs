//! Figures of a transfer for a model of it, beside those of its report.

use windlass_base::{Bytes, Cause, Rate, Span};

use crate::estimate::distribution::Distribution;
use crate::follow::transfer::Transfer;
use crate::judge::bounds::Bounds;
use crate::judge::causes::path_queue::capacity_seen;
use crate::judge::confidence::is_split;
use crate::judge::repair::path_loss;
use crate::judge::{self, Case, Habits};

/// Measurements of a transfer, for a model of it.
#[derive(Clone, Debug)]
pub struct Measures {
    /// Time from the first segment of a flight to the effect of its ACK; `None` if no ACK answered
    /// data.
    pub cycle: Option<Spread>,
    /// The time for which the window stayed closed; `None` where it never closed.
    pub closure: Option<Spread>,
    /// Number of closures of the window.
    pub closures: u64,
    /// The first flight of the transfer.
    pub initial_flight: Bytes,
    /// The flight at which a send buffer holds the transfer, on average.
    pub plateau: Option<Bytes>,
    /// Data segments in the capture.
    pub segments: u64,
    /// ACKs that acknowledged something.
    pub acks: u64,
    /// True if segments were larger than any on the wire.
    pub super_packets: bool,
    /// Rate of the path while it was full; `None` if it never was.
    pub capacity: Option<Rate>,
    /// Rate of the line that spaced its data, or the ACKs of enough bursts, full or not; `None` if
    /// it does not show.
    pub line: Option<Rate>,
    /// Fastest rate of the path that the capture shows; `None` if it shows none.
    pub shown: Option<Rate>,
    /// Rate of the path's line if the capture proves it, full or not.
    pub known_line: Option<Rate>,
    /// Fastest rate that the path was seen to carry.
    pub best: Option<Rate>,
    /// Most that a change can bring; `None` without a known round trip.
    pub bounds: Option<Bounds>,
    /// True if the path's round trip rests on a few ACKs, which a host nearer than the receiver may
    /// have sent.
    pub rtt_of_few: bool,
    /// True if the cause lies beyond the host that opened the connection.
    pub is_split: bool,
    /// Waits of Nagle's algorithm for a delayed ACK.
    pub nagle: u64,
    /// Share of segments that the path itself lost, if the receiver discards data behind a hole;
    /// `None` if it keeps that data.
    pub path_loss: Option<f64>,
    /// Rate and burst of a policer.
    pub policer: Option<(Rate, Bytes)>,
}

/// Distribution of a measure.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// 10th percentile.
    pub p10: Span,
    /// The median.
    pub p50: Span,
    /// 90th percentile.
    pub p90: Span,
    /// The mean.
    pub mean: Span,
}

impl Spread {
    fn of(values: &Distribution, more: Span) -> Option<Self> {
        Some(Self {
            p10: values.quantile(0.1)? + more,
            p50: values.median()? + more,
            p90: values.quantile(0.9)? + more,
            mean: values.total().part_of(values.count) + more,
        })
    }
}

impl Transfer {
    /// Returns the figures for a model of this transfer.
    pub fn measures(&self) -> Measures {
        let facts = self.facts(None);
        let tally = judge::tally(&facts, &Habits::of(&facts));
        let full = tally.times.contains_key(&Cause::PathQueue);
        let case = Case { facts: &facts, tally: &tally, sender: "", receiver: "" };
        Measures {
            cycle: Spread::of(&self.cycles, self.ack_delay),
            closure: Spread::of(&self.closures, Span::ZERO),
            closures: self.closures.count,
            initial_flight: Bytes::new(self.initial_flight),
            plateau: tally.plateau.map(Bytes::new),
            segments: self.counts.segments,
            acks: self.counts.acks,
            super_packets: self.counts.super_packets > 0,
            capacity: if full { capacity_seen(&case) } else { None },
            line: facts
                .data_line()
                .map(|line| line.rate)
                .or(facts.service().filter(|pace| pace.sure).map(|pace| pace.rate)),
            shown: case.shown(),
            known_line: case.known_line(),
            best: case.demonstrated(),
            bounds: Bounds::of(&case),
            rtt_of_few: facts.path.rtt_of_few,
            is_split: is_split(&case, tally.cause()),
            nagle: self.counts.nagle,
            path_loss: self.discarding.as_ref().map(|_| path_loss(&case)),
            policer: self.policer.as_ref().map(|policer| (policer.rate, policer.burst)),
        }
    }
}
