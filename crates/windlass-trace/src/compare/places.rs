//! One connection seen at two places on its path.

use serde::Serialize;
use windlass_base::thresholds::{MISSED_SHARE, NEARLY_ALL};
use windlass_base::verdict::{Confidence, Side, Verdict};
use windlass_base::{Cause, Sentence, sentence};
use windlass_macros::Named;

use super::acks::AckPath;
use super::alignment::{Alignment, Clocks, DelayQuantiles, Order};
use super::delivery::DataPath;
use super::fingerprint::Match;
use super::recording::Recording;
use super::runs::{Figure, figures};
use super::twins::PreservedFields;
use crate::follow::handshake::Offer;
use crate::report::ConnectionReport;

/// A place of a capture on the path of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum RelativePosition {
    /// The one nearer the sender.
    NearerSender,
    /// The one nearer the receiver.
    NearerReceiver,
    /// Either: nothing tells them apart.
    SamePlace,
}

/// An option of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum RewrittenItem {
    /// The largest segment that the side takes.
    Mss,
    /// The shift of its window.
    WindowScale,
    /// Selective acknowledgments.
    Sack,
    /// Timestamps.
    Timestamps,
    /// Multipath TCP.
    Multipath,
    /// Explicit congestion notification.
    Ecn,
}

/// An option of a SYN that a device between the places rewrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rewrite {
    /// The side whose SYN it is.
    pub side: Side,
    /// The option.
    pub option: RewrittenItem,
    /// Its value in the first capture and in the second; null where it is not there, and 1 where it
    /// has none.
    pub values: [Option<u64>; 2],
}

/// The reason why one verdict is to be trusted more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum TrustReason {
    /// Both say the same.
    BothAgree,
    /// The other one does not tell the limit.
    OtherDoesNotTell,
    /// The other capture misses packets that this one holds.
    OtherMissesPackets,
    /// The other one holds only a part of the transfer.
    OtherIsShorter,
    /// The other one lacks the scale of windows.
    OtherLacksScale,
    /// The other one is not sure at all.
    OtherIsUnsure,
    /// Capture nearer to the sender: it sees the sender's own times, and data before its loss.
    NearerSender,
    /// No reason to prefer one of them.
    NothingTells,
}

/// The verdict that is to be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trust {
    /// The capture: 1 or 2; null where nothing makes one of them better.
    pub capture: Option<u64>,
    /// The reason.
    pub reason: TrustReason,
    /// Sentence that says so.
    pub sentence: Sentence,
}

/// A connection at two places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TwoPlaces {
    /// The connection.
    #[serde(flatten)]
    pub found: Match,
    /// Connections with data that both captures hold.
    pub common_connections: u64,
    /// The places of the captures.
    pub places: [RelativePosition; 2],
    /// The sign by which that shows.
    pub places_shown_by: Order,
    /// True if the captures name its ends differently, as a NAT does.
    pub translated: bool,
    /// True if a capture holds more packets of it than are compared.
    pub cut: bool,
    /// The clocks of both.
    pub clocks: Clocks,
    /// The delay of data between the places, less the least; null where none is common.
    pub data_delay_seconds: Option<DelayQuantiles>,
    /// That of ACKs.
    pub ack_delay_seconds: Option<DelayQuantiles>,
    /// The data on its way between the places.
    pub data: DataPath,
    /// The ACKs on theirs.
    pub acks: AckPath,
    /// Options that something between rewrote.
    pub rewrites: Vec<Rewrite>,
    /// The figures of both, in the order of the captures.
    pub figures: Vec<Figure>,
    /// True if both verdicts have the same cause.
    pub verdicts_agree: bool,
    /// The verdict that is to be trusted.
    pub trust: Trust,
}

impl TwoPlaces {
    /// Compares a connection at two places; nothing where its packets are not the same after all.
    pub fn of(
        found: Match,
        common_connections: u64,
        recordings: [&Recording; 2],
        reports: [&ConnectionReport; 2],
    ) -> Option<Self> {
        let alignment = Alignment::of(recordings)?;
        let [first, second] = recordings;
        let (near, far) = if alignment.is_turned { (second, first) } else { (first, second) };
        let preserved = PreservedFields::of_data(near, far);
        let mut data = DataPath::of(near, far, &alignment, preserved);
        if !data.is_of_one_connection() {
            return None;
        }
        if alignment.order == Order::SamePlace {
            // Each copy arrives at its own place.
            data.forget_repairs();
        }
        let mut acks = AckPath::of(near, far, &alignment);
        let near_misses = is_missing(data.missed_by_near, data.segments);
        if near_misses {
            acks.doubt_losses();
            data.needless_ack_lost = 0;
        }
        let places = match (alignment.order, alignment.is_turned) {
            (Order::SamePlace, _) => [RelativePosition::SamePlace; 2],
            (_, false) => [RelativePosition::NearerSender, RelativePosition::NearerReceiver],
            (_, true) => [RelativePosition::NearerReceiver, RelativePosition::NearerSender],
        };
        let misses = {
            let far = is_missing(acks.missed_by_far - acks.made_between, acks.acks);
            if alignment.is_turned { [far, near_misses] } else { [near_misses, far] }
        };
        let causes = reports.map(|report| report.verdict.cause);
        let Alignment { order, clocks, data_delay, ack_delay, .. } = alignment;
        Some(Self {
            found,
            common_connections,
            places,
            places_shown_by: order,
            translated: first.ends != second.ends,
            cut: first.is_cut || second.is_cut,
            clocks,
            data_delay_seconds: data_delay,
            ack_delay_seconds: ack_delay,
            data,
            acks,
            rewrites: rewrites(reports),
            figures: figures(reports),
            verdicts_agree: causes[0] == causes[1],
            trust: trust(reports, places, misses),
        })
    }

    /// Returns the places of the near capture and of the far one among the two.
    pub const fn near_and_far(&self) -> [usize; 2] {
        match self.places[0] {
            RelativePosition::NearerReceiver => [1, 0],
            RelativePosition::NearerSender | RelativePosition::SamePlace => [0, 1],
        }
    }
}

fn is_missing(missed: u64, of: u64) -> bool {
    missed as f64 > of as f64 * MISSED_SHARE.get()
}

/// Returns the options of the SYNs that differ.
fn rewrites(reports: [&ConnectionReport; 2]) -> Vec<Rewrite> {
    type SynOption = (RewrittenItem, fn(&Offer) -> Option<u64>);
    const OPTIONS: &[SynOption] = &[
        (RewrittenItem::Mss, |offer| offer.mss.map(u64::from)),
        (RewrittenItem::WindowScale, |offer| offer.window_scale.map(u64::from)),
        (RewrittenItem::Sack, |offer| offer.sack_permitted.then_some(1)),
        (RewrittenItem::Timestamps, |offer| offer.timestamps.then_some(1)),
        (RewrittenItem::Multipath, |offer| offer.multipath.then_some(1)),
        (RewrittenItem::Ecn, |offer| offer.ecn.then_some(1)),
    ];
    let mut found = Vec::new();
    for side in [Side::Sender, Side::Receiver] {
        let offers = reports.map(|report| {
            let handshake = report.handshake.as_ref()?;
            let offer = match side {
                Side::Sender => handshake.sender,
                _ => handshake.receiver,
            };
            offer.filter(|offer| !offer.options_cut)
        });
        let [Some(first), Some(second)] = offers else { continue };
        for (option, value) in OPTIONS {
            let values = [value(&first), value(&second)];
            if values[0] != values[1] {
                found.push(Rewrite { side, option: *option, values });
            }
        }
    }
    found
}

/// Chooses the verdict that is to be trusted; `misses` tells which captures miss packets.
fn trust(
    reports: [&ConnectionReport; 2],
    places: [RelativePosition; 2],
    misses: [bool; 2],
) -> Trust {
    let verdicts = reports.map(|report| &report.verdict);
    let better = |is_worse: [bool; 2]| match is_worse {
        [true, false] => Some(1),
        [false, true] => Some(0),
        _ => None,
    };
    let is_unknown = verdicts.map(|verdict| verdict.cause == Cause::Unknown);
    let held = reports.map(|report| report.bytes.get() as f64);
    let is_short = [held[0] < held[1] * NEARLY_ALL.get(), held[1] < held[0] * NEARLY_ALL.get()];
    let lacks_scale = reports.map(|report| !report.receive_window.scale_known);
    let is_unsure = |own: &Verdict, other: &Verdict| {
        own.confidence == Confidence::Low && other.confidence == Confidence::High
    };
    let [first, second] = verdicts;
    let is_unsure = [is_unsure(first, second), is_unsure(second, first)];
    let agree = first.cause == second.cause && first.cause != Cause::Unknown;
    let near = places.iter().position(|place| *place == RelativePosition::NearerSender);
    let (capture, reason) = if agree {
        (near, TrustReason::BothAgree)
    } else if let Some(place) = better(is_unknown) {
        (Some(place), TrustReason::OtherDoesNotTell)
    } else if let Some(place) = better(misses) {
        (Some(place), TrustReason::OtherMissesPackets)
    } else if let Some(place) = better(is_short) {
        (Some(place), TrustReason::OtherIsShorter)
    } else if let Some(place) = better(lacks_scale) {
        (Some(place), TrustReason::OtherLacksScale)
    } else if let Some(place) = better(is_unsure) {
        (Some(place), TrustReason::OtherIsUnsure)
    } else if near.is_some() {
        (near, TrustReason::NearerSender)
    } else {
        (None, TrustReason::NothingTells)
    };
    let causes = verdicts.map(|verdict| verdict.cause);
    let sentence = match (reason, capture) {
        (TrustReason::BothAgree, _) => {
            let cause = causes[0];
            sentence!("Both captures name {cause}.")
        }
        (TrustReason::NothingTells, _) | (_, None) => {
            let [first, second] = causes;
            sentence!(
                "The first capture names {first}, the second {second}, and neither is more \
                 reliable."
            )
        }
        (_, Some(place)) => {
            let cause = causes[place];
            let which = if place == 0 { "first" } else { "second" };
            let why = match reason {
                TrustReason::OtherDoesNotTell => "the other capture shows no limit",
                TrustReason::OtherMissesPackets => "the other capture misses packets",
                TrustReason::OtherIsShorter => "the other capture holds only a part of it",
                TrustReason::OtherLacksScale => {
                    "the other capture lacks the handshake with the window scale"
                }
                TrustReason::OtherIsUnsure => "the other capture has low confidence",
                _ => {
                    "near the sender, it shows when ACKs arrived and when all segments left, lost \
                     ones included"
                }
            };
            sentence!("Trust the {which} capture, which names {cause}: {why}.")
        }
    };
    Trust { capture: capture.map(|place| place as u64 + 1), reason, sentence }
}
