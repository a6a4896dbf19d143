//! Construction of reports from transfers.

use std::collections::BTreeMap;

use windlass_base::verdict::{Caveat, Confidence, Side, Verdict};
use windlass_base::{Bytes, Cause, Span};
use windlass_wire::{Endpoint, EthernetEnds};

use super::{
    AckLatency, Breach, ConnectionReport, Handshake, Interval, Losses, ReceiveWindow, Rtt, audit,
};
use crate::estimate::ecn::EcnResponse;
use crate::estimate::spurious::SpuriousRetransmissions;
use crate::follow::counts::Counts;
use crate::follow::transfer::Transfer;
use crate::judge::causes::path_queue;
use crate::judge::{self, Case, Charge, Facts, Habits, Reasons, Tally, WaitSelection};

/// Judged transfer, with all grounds of the judgement.
struct Judgement {
    facts: Facts,
    habits: Habits,
    tally: Tally,
    /// The causes that the report's figures refuted.
    refuted: Vec<Cause>,
    report: ConnectionReport,
}

impl Transfer {
    /// Returns the report of the transfer. `name` gives the text for an endpoint. `drops` is the
    /// number of packets that the capture's writer says it lost while the connection lived
    /// ([`Transfer::lived`]), if the writer tells when.
    ///
    /// A cause that the report's own figures refute ([`audit`]) is taken back: its time is unknown
    /// then.
    pub fn report(
        &self,
        name: impl Fn(Endpoint) -> String,
        drops: Option<u64>,
    ) -> ConnectionReport {
        self.judge(&name, drops).report
    }

    /// Judges the transfer once more, and returns the reasons of the verdict. `name` and `drops`
    /// are those of its [`report`](Transfer::report), which names the refuted causes.
    pub fn why(
        &self,
        name: impl Fn(Endpoint) -> String,
        drops: Option<u64>,
        which: WaitSelection,
    ) -> Reasons {
        let Judgement { facts, habits, tally, refuted, report } = self.judge(&name, drops);
        let (sender, receiver) = (&*report.sender, &*report.receiver);
        let case = Case { facts: &facts, tally: &tally, sender, receiver };
        let Verdict { confidence, caveats, .. } = &report.verdict;
        Reasons::of(&habits, &case, *confidence, caveats, &refuted, which)
    }

    /// Judges the transfer until no figure of the report refutes the cause that it names.
    fn judge(&self, name: &impl Fn(Endpoint) -> String, drops: Option<u64>) -> Judgement {
        let facts = self.facts(drops);
        let habits = Habits::of(&facts);
        let mut tally = judge::tally(&facts, &habits);
        let (mut refuted, mut caveats): (Vec<Cause>, Vec<Caveat>) = (Vec::new(), Vec::new());
        loop {
            let mut report = self.report_of(&facts, &tally, name);
            let breaches = audit(&report);
            let cause = tally.cause();
            match breaches.iter().find(|breach| breach.refutes()) {
                Some(breach) if cause != Cause::Unknown => {
                    caveats.push(judge::refuted(cause, &breach.to_string()));
                    refuted.push(cause);
                    tally.refute(cause);
                }
                _ => {
                    if breaches.contains(&Breach::Sure) {
                        report.verdict.confidence = Confidence::Medium;
                    }
                    report.verdict.caveats.extend(caveats);
                    return Judgement { facts, habits, tally, refuted, report };
                }
            }
        }
    }

    fn report_of(
        &self,
        facts: &Facts,
        tally: &Tally,
        name: &impl Fn(Endpoint) -> String,
    ) -> ConnectionReport {
        let (sender, receiver) = (name(self.sender), name(self.receiver));
        let case = Case { facts, tally, sender: &sender, receiver: &receiver };
        let verdict = judge::verdict(&case, judge::caveats(&case));
        let mut shares: BTreeMap<&'static str, f64> = BTreeMap::new();
        let mut causes = BTreeMap::new();
        // In floating point, so that no sum of hostile times saturates.
        let whole: f64 = tally.times.values().map(|time| time.as_seconds()).sum();
        for (cause, time) in &tally.times {
            let share = time.as_seconds() / whole;
            *shares.entry(cause.limit().id()).or_default() += share;
            causes.insert(cause.to_string(), share);
        }
        if tally.times.is_empty() {
            shares.insert(Cause::Unknown.limit().id(), 1.0);
            causes.insert(Cause::Unknown.to_string(), 1.0);
        }
        let start = tally.charges.first().and_then(|first| first.interval.start.dated());
        let bytes = case.bytes();
        let think = case.time_of(Cause::SenderIdle) + case.time_of(Cause::AwaitsAnswer);
        let untold = case.time_of(Cause::Unknown);
        let macs = self.link.map(|link| match self.direction {
            0 => [link.source, link.destination],
            _ => [link.destination, link.source],
        });
        let transfer = (tally.total - think - untold).or_zero();
        ConnectionReport {
            number: self.number,
            packets: self.packets,
            bytes,
            seconds: tally.total,
            bytes_per_second: case.measured(),
            think_seconds: think,
            untold_seconds: untold,
            transfer_seconds: transfer,
            bytes_returned: Bytes::new(self.returned),
            handshake: handshake(self),
            ending: self.ending(),
            receive_window: receive_window(self),
            ack_latency_seconds: ack_latency(self, tally),
            rtt_seconds: self.told_rtt().map(|least| Rtt {
                min: least,
                handshake: self.handshake.rtt(),
                capture_to_sender: self.ack_delay,
            }),
            queue_seconds: judge::longest_queue(&case, path_queue::HYPOTHESIS.shows),
            clock_step_seconds: Some(self.clock_step).filter(|step| *step > Span::ZERO),
            losses: losses(
                (&self.counts, &self.sent_in_vain, self.marks),
                facts.needless(),
                self.captured_twice,
            ),
            losses_returned: self.returned_losses.as_ref().map(|(counts, vain, marks)| {
                losses((counts, vain, *marks), counts.spurious, self.captured_twice)
            }),
            timeline_start: start.filter(|_| self.set_backs == 0 && self.leaps.is_empty()),
            timeline: timeline(tally),
            shares,
            causes,
            verdict,
            sender: sender.clone(),
            receiver: receiver.clone(),
            sender_address: self.sender.host.address(),
            sender_port: self.sender.port,
            receiver_address: self.receiver.host.address(),
            receiver_port: self.receiver.port,
            sender_mac: macs.map(|[sender, _]| sender),
            receiver_mac: macs.map(|[_, receiver]| receiver),
            vlans: self.link.iter().flat_map(EthernetEnds::vlans).collect(),
            start_time: self.lived().0.dated(),
            end_time: self.lived().1.dated(),
        }
    }
}

fn own_latency(finished: &Transfer) -> Option<Span> {
    let path = (finished.told_rtt()? - finished.ack_delay).or_zero();
    Some((finished.latency.median()? - path).or_zero())
}

fn handshake(finished: &Transfer) -> Option<Handshake> {
    let opening = &finished.handshake;
    let [sender, receiver] =
        [opening.offers[finished.direction], opening.offers[1 - finished.direction]];
    let opener = opening.opener;
    let sent = |side: usize| opening.offers[side].map_or(0, |offer| offer.sent);
    (sender.is_some() || receiver.is_some()).then(|| Handshake {
        complete: opening.is_whole(),
        sender,
        receiver,
        rtt_seconds: opening.rtt(),
        opened_by: opener
            .map(|opener| if opener == finished.direction { Side::Sender } else { Side::Receiver }),
        seconds: opening.took(),
        syns: opener.map_or(0, sent),
        syn_acks: opener.map_or(0, |opener| sent(1 - opener)),
    })
}

fn receive_window(finished: &Transfer) -> ReceiveWindow {
    let counts = &finished.counts;
    let bytes = finished.windows.usual().or_else(|| {
        let offer = finished.handshake.offers[1 - finished.direction]?;
        Some(offer.first_window_bytes)
    });
    let heard = finished.windows.seen > 0;
    ReceiveWindow {
        bytes,
        full_frames: bytes.map(|bytes| bytes.get() / finished.segment_size),
        min_bytes: counts.window_least.map(Bytes::new).filter(|_| heard),
        max_bytes: heard.then(|| Bytes::new(finished.window_most)),
        segment_bytes: Bytes::new(finished.segment_size),
        scale: finished.scale.shift(),
        scale_known: finished.scale.is_known(),
        closures: counts.closures,
        closed_seconds: finished.closures.total(),
        longest_closure_seconds: finished.closures.most(),
        probes: counts.probes,
        probe_packets: counts.probed.as_slice().to_vec(),
        zero_windows: counts.zero_windows,
        keep_alives: counts.keep_alives,
        max_flight_bytes: Bytes::new(counts.flight_most),
    }
}

fn ack_latency(finished: &Transfer, tally: &Tally) -> Option<AckLatency> {
    // In front of a full path most of the latency is its queue's.
    let queued = tally.times.get(&Cause::PathQueue).copied().unwrap_or_default();
    let own = if queued.share_of(tally.total) < 0.5 { own_latency(finished) } else { None };
    let latency = &finished.latency;
    Some(AckLatency {
        p50: latency.median()?,
        p90: latency.quantile(0.9)?,
        max: latency.most()?,
        receiver_own: own,
        samples: latency.count,
    })
}

fn losses(
    (counts, vain, marks): (&Counts, &SpuriousRetransmissions, EcnResponse),
    needless: u64,
    captured_twice: u64,
) -> Losses {
    Losses {
        segments: counts.sent(),
        retransmissions: counts.retransmissions,
        fast: counts.fast,
        by_timer: counts.timer,
        needless,
        unheard: vain.acks_lost,
        vain_repairs: vain.vain_repairs,
        timer_seconds: vain.timer(),
        events: counts.loss_events,
        ecn_cuts: marks.cuts,
        ratio: counts.loss_ratio(needless),
        out_of_order: counts.out_of_order,
        duplicate_acks: counts.duplicate_acks,
        captured_twice,
        missing_from_capture_bytes: Bytes::new(counts.missing_bytes),
        super_packets: counts.super_packets,
    }
}

/// Returns the intervals in order. Far from the sender an ACK takes effect later than it was
/// captured, behind packets with higher numbers. Each interval then begins at the highest number so
/// far.
fn timeline(tally: &Tally) -> Vec<Interval> {
    let Some(start) = tally.charges.first().map(|charge| charge.interval.start) else {
        return Vec::new();
    };
    let (mut time, mut packet) = (start, 0);
    let charges = tally.charges.iter();
    charges
        .map(|Charge { cause, interval }| {
            let (begin, first) = (interval.start.max(time), interval.first.max(packet));
            (time, packet) = (interval.end.max(begin), interval.last.max(first));
            Interval {
                cause: *cause,
                start: begin.since(start),
                end: time.since(start),
                charged: interval.charged,
                first_packet: first,
                last_packet: packet,
            }
        })
        .collect()
}
