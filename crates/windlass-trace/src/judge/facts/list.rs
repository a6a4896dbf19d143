//! The facts as a list, for whoever asks why: each with its name, its unit and its error.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span};

use super::{Facts, Quantiles};
use crate::estimate::far::FarLimit;
use crate::estimate::trains::LineSpacing;
use crate::follow::counts::Counts;

/// A fact: its name, its value and the unit of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Its name, by the group that it belongs to: `path.rtt`.
    pub name: String,
    /// Its value; 1 for yes and 0 for no.
    pub value: f64,
    /// Its unit: `s`, `B`, `B/s`, or nothing for a number, a share, yes and no.
    pub unit: Option<&'static str>,
    /// By how much a measured time may be off: a step of the capture's clock, and how far its
    /// packets are out of order. Null for what is counted.
    pub error: Option<f64>,
}

/// A list of facts under way.
struct List {
    facts: Vec<Fact>,
    /// The error of times.
    error: Span,
}

/// A value that may stand in the list.
trait FactValue {
    fn list(&self, name: &str, list: &mut List);
}

impl List {
    fn push(&mut self, name: &str, value: f64, unit: Option<&'static str>, error: Option<f64>) {
        self.facts.push(Fact { name: name.to_owned(), value, unit, error });
    }
}

impl FactValue for Span {
    fn list(&self, name: &str, list: &mut List) {
        let error = list.error.as_seconds();
        list.push(name, self.as_seconds(), Some("s"), Some(error));
    }
}

impl FactValue for Bytes {
    fn list(&self, name: &str, list: &mut List) {
        list.push(name, self.get() as f64, Some("B"), None);
    }
}

impl FactValue for Rate {
    fn list(&self, name: &str, list: &mut List) {
        list.push(name, self.bytes_per_second(), Some("B/s"), None);
    }
}

impl FactValue for u64 {
    fn list(&self, name: &str, list: &mut List) {
        list.push(name, *self as f64, None, None);
    }
}

impl FactValue for f64 {
    fn list(&self, name: &str, list: &mut List) {
        list.push(name, *self, None, None);
    }
}

impl FactValue for bool {
    fn list(&self, name: &str, list: &mut List) {
        list.push(name, f64::from(u8::from(*self)), None, None);
    }
}

impl<T: FactValue> FactValue for Option<T> {
    fn list(&self, name: &str, list: &mut List) {
        if let Some(value) = self {
            value.list(name, list);
        }
    }
}

impl FactValue for Quantiles {
    fn list(&self, name: &str, list: &mut List) {
        if self.count == 0 {
            return;
        }
        for (part, value) in [
            ("least", self.least()),
            ("p10", self.p10()),
            ("p50", self.median()),
            ("p90", self.p90()),
            ("most", self.most()),
        ] {
            value.list(&format!("{name}.{part}"), list);
        }
        self.count.list(&format!("{name}.count"), list);
    }
}

impl FactValue for LineSpacing {
    fn list(&self, name: &str, list: &mut List) {
        self.rate.list(&format!("{name}.rate"), list);
        self.gap.list(&format!("{name}.gap"), list);
        self.few.list(&format!("{name}.is_of_few_trains"), list);
    }
}

/// Lists fields of a group by their names.
macro_rules! list {
    ($list:ident, $group:literal, $of:expr, $($field:ident)+) => {
        $($of.$field.list(concat!($group, ".", stringify!($field)), $list);)+
    };
}

impl Facts {
    /// Returns the facts as a list, those that are not known left out.
    pub(crate) fn list(&self) -> Vec<Fact> {
        let error = self.capture.clock_step + self.capture.disorder;
        let mut all = List { facts: Vec::new(), error };
        let list = &mut all;
        list!(list, "capture", self.capture,
            packets captured_twice drops clock_step set_backs set_ahead set_ahead_by disorder
            answered_before one_sided lacks_acks rewritten made_up_times distance is_far
            unanswered);
        u64::from(self.capture.hop_limit).list("capture.hop_limit", list);
        u64::from(self.capture.receiver_hop_limit).list("capture.receiver_hop_limit", list);
        self.opening.handshake.rtt().list("opening.rtt", list);
        self.opening.handshake.is_whole().list("opening.is_captured", list);
        list!(list, "opening", self.opening, is_subflow);
        list!(list, "path", self.path,
            rtt told_rtt returned_rtt rtt_of_few may_be_split answers_became_slower
            acks_became_slower data_lateness has_stale_echoes);
        let power_save = self.path.power_save.as_ref();
        power_save.map(|waits| u64::from(waits.in_step)).list("path.acks_at_beacons", list);
        self.path.longer.map(|longer| longer.latency).list("path.longer", list);
        self.path.split.map(|split| split.soonest).list("path.answered_nearer", list);
        self.list_line(list);
        list!(list, "window", self.window, usual usual_share offers closures both_closed);
        Bytes::new(self.window.most).list("window.most", list);
        Bytes::new(self.window.segment).list("window.segment", list);
        u64::from(self.window.scale.shift()).list("window.shift", list);
        self.window.scale.is_known().list("window.is_scale_known", list);
        if let Some(reading) = self.window.reading {
            list!(list, "window.reading", reading, rate steady sure);
        }
        if let Some(reader) = &self.window.reader {
            list!(list, "window.reader", reader,
                is_told is_steady moves_out_of_step makes_room_by_itself leaves_some
                out_of_step own_room largest spread);
        }
        list!(list, "acks", self.acks, latency cycles mean_stay);
        self.list_loss(list);
        for (name, limit) in [
            ("far.bursts_end_at_edges", FarLimit::Window),
            ("far.bursts_follow_messages", FarLimit::Messages),
            ("far.bursts_end_as_writes", FarLimit::Program),
        ] {
            (self.far.limit == Some(limit)).list(name, list);
        }
        self.far.decides.list("far.decides", list);
        self.far.is_unprompted.list("far.is_unprompted", list);
        list!(list, "far", self.far.shares,
            at_edges with_message by_message messages short_tails prompt level regular in_time in_rate silent);
        Bytes::new(self.sent.bytes).list("sent.bytes", list);
        Bytes::new(self.sent.returned).list("sent.returned", list);
        list!(list, "sent", self.sent, is_paced_by_program is_let_go_by_messages by_messages);
        if let Some(pace) = self.sent.pace {
            list!(list, "sent.pace", pace, own behind_tails behind_short paced);
        }
        Bytes::new(self.sent.initial_flight).list("sent.initial_flight", list);
        list_counts(&self.counts, list);
        self.list_times(list);
        all.facts
    }

    /// The time of waits, by their kind.
    fn list_times(&self, list: &mut List) {
        let mut times: BTreeMap<&str, Span> = BTreeMap::new();
        let kept = self.waits.iter().map(|wait| (wait.kind, wait.charged));
        let absorbed = self.absorbed.iter().map(|absorbed| (absorbed.kind, absorbed.charged));
        for (kind, time) in kept.chain(absorbed) {
            *times.entry(kind.id()).or_default() += time;
        }
        for (kind, time) in times {
            time.list(&format!("waits.{}", kind.replace('-', "_")), list);
        }
    }

    fn list_line(&self, list: &mut List) {
        let line = &self.line;
        list!(list, "line", line,
            of_data of_acks spacing packet_times capacity tells_lateness);
        line.service.map(|pace| pace.rate).list("line.service", list);
        line.service.map(|pace| pace.sure).list("line.is_service_sure", list);
        if let Some(all) = &line.aggregate {
            list!(list, "line.aggregate", all, is_line rate busy connections mean most span);
        }
        line.full_times.as_ref().map(|full| full.rate).list("line.full_times.rate", list);
        line.full_queue.map(|queue| queue.wait).list("line.full_queue.wait", list);
        line.full_queue.map(|queue| queue.rate).list("line.full_queue.rate", list);
        line.full_queue.map(|queue| queue.is_sure).list("line.full_queue.is_sure", list);
        line.policer.as_ref().map(|policer| policer.rate).list("line.policer.rate", list);
        line.policer.as_ref().map(|policer| policer.burst).list("line.policer.burst", list);
        line.marks.cuts.list("line.marks.cuts", list);
        line.marks.marked.list("line.marks.marked", list);
        line.moving.acked.list("line.moving.acked", list);
        line.moving.read.list("line.moving.read", list);
    }

    fn list_loss(&self, list: &mut List) {
        let loss = &self.loss;
        list!(list, "loss", loss, are_even never_came_back unanswered_again);
        self.lost().list("loss.segments", list);
        self.loss_ratio().list("loss.ratio", list);
        self.needless().list("loss.needless", list);
        loss.in_vain.acks_lost.list("loss.acks_lost", list);
        loss.in_vain.vain_repairs.list("loss.vain_repairs", list);
        loss.in_vain.timer().list("loss.timer", list);
        loss.discarding.as_ref().map(|one| one.segments).list("loss.discarded", list);
        loss.damaged.as_ref().map(|one| one.segments).list("loss.damaged", list);
        loss.damaged.as_ref().map(|one| one.again).list("loss.damaged_again", list);
        loss.black_hole.as_ref().map(|one| Bytes::new(one.passes)).list("loss.passes", list);
        loss.black_hole.as_ref().map(|one| Bytes::new(one.fails)).list("loss.never_arrives", list);
    }
}

fn list_counts(counts: &Counts, list: &mut List) {
    list!(list, "counts", counts,
        segments acks super_packets retransmissions first_retransmissions fast timer spurious early timeouts blind_timeouts
        withheld held_small loss_events skips out_of_order duplicate_acks d_sacks sack_blocks sacks_outside cut_acks
        zero_windows closures late_openings unasked silent_at_end probes keep_alives nagle
        nagle_in_step idle_soon idle_unpushed pushes clock_stood reactions slow_reactions drained
        unprompted doublings unused_room unused_rooms acks_queued acks_late awaits
        awaited_pieces unseen_acks cuts);
    for (name, bytes) in [
        ("counts.bytes", counts.bytes),
        ("counts.acked", counts.acked),
        ("counts.flight_most", counts.flight_most),
        ("counts.stretched", counts.stretched),
        ("counts.missing", counts.missing_bytes),
    ] {
        Bytes::new(bytes).list(name, list);
    }
}
