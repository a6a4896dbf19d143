//! The columns of `connections`.

use std::borrow::Cow;

use windlass_base::verdict::Side;
use windlass_base::{Bytes, Limit};

use crate::column::{Column, Get};
use crate::rows::{ConnectionRow, prefix};

type Row = ConnectionRow;

/// The keys that the tables of connections join by.
macro_rules! keys {
    ($row:ty, |$of:ident| $number:expr, $json:expr) => {
        [
            Column::own(
                "capture",
                "The capture's key, as in `captures`.",
                Get::Text(|row: &$row| Some(std::borrow::Cow::Borrowed(&*row.capture))),
            ),
            Column::named(
                "connection",
                $json,
                "The connection's number in its capture, from 1 in order of appearance: \
                 Wireshark's `tcp.stream` plus one.",
                Get::Count(|$of: &$row| Some($number)),
            ),
        ]
    };
}
pub(crate) use keys;

/// Text that the report has.
macro_rules! text {
    (|$row:ident| $value:expr) => {
        Get::Text(|$row: &Row| $value.map(Into::into))
    };
}

/// A column of what stands in the report where it stands in the JSON, too: the place, what is
/// there, and what it says. Behind `?` is a field of a part that may be missing.
macro_rules! told {
    ($at:ident $(.$then:ident)*, $get:ident, $about:literal) => {
        Column::told(
            concat!(stringify!($at) $(, ".", stringify!($then))*),
            $about,
            Get::$get(|row: &Row| row.report.$at$(.$then)*.into()),
        )
    };
    ($at:ident?.$then:ident, $get:ident, $about:literal) => {
        Column::told(
            concat!(stringify!($at), ".", stringify!($then)),
            $about,
            Get::$get(|row: &Row| row.report.$at.as_ref()?.$then.into()),
        )
    };
}

/// What is a field of a part of the report, where it has that part.
macro_rules! part {
    ($get:ident, $part:ident, |$it:ident| $value:expr) => {
        Get::$get(|row: &Row| row.report.$part.as_ref().and_then(|$it| $value))
    };
}

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns: Vec<Column<Row>> =
        keys!(Row, |row| row.report.number, "number").into_iter().collect();
    columns.extend(ends());
    columns.extend(amounts());
    columns.extend(handshake());
    columns.extend(ending());
    columns.extend(receive_window());
    columns.extend(times());
    columns.extend(losses());
    columns.extend(shares());
    columns
}

fn ends() -> Vec<Column<Row>> {
    vec![
        Column::told(
            "sender",
            "Who sent the data, as `host:port`.",
            Get::Text(|row| Some(Cow::Borrowed(&row.report.sender))),
        ),
        Column::told(
            "receiver",
            "Who received it.",
            Get::Text(|row| Some(Cow::Borrowed(&row.report.receiver))),
        ),
        Column::told(
            "sender_address",
            "The sender's address as text; null where the capture has a name instead.",
            text!(|row| row.report.sender_address.map(|address| address.to_string())),
        ),
        Column::own(
            "sender_address_binary",
            "The same as 4 bytes, of IPv6 16.",
            Get::Address(|row| row.report.sender_address),
        ),
        Column::own(
            "sender_prefix",
            "The network of 24 bits that it is in, as `192.0.2.0/24`; of IPv6 64 bits.",
            text!(|row| row.report.sender_address.map(prefix)),
        ),
        told!(sender_port, Small, "The sender's port."),
        Column::told(
            "receiver_address",
            "The receiver's address as text.",
            text!(|row| row.report.receiver_address.map(|address| address.to_string())),
        ),
        Column::own(
            "receiver_address_binary",
            "The same as 4 bytes, of IPv6 16.",
            Get::Address(|row| row.report.receiver_address),
        ),
        Column::own(
            "receiver_prefix",
            "The network that it is in.",
            text!(|row| row.report.receiver_address.map(prefix)),
        ),
        told!(receiver_port, Small, "The receiver's port."),
        Column::own(
            "service_port",
            "The port that was connected to. Where no SYN tells, the lower one, as servers \
             have.",
            Get::Small(|row| Some(row.service_port)),
        ),
        Column::own(
            "service",
            "The side whose port that is: `sender` or `receiver`.",
            text!(|row| Some(row.service.id())),
        ),
        Column::told(
            "sender_mac",
            "The MAC address of the sender's side: of its first hop, where the sender is \
             further off. Null where the capture has no Ethernet headers.",
            text!(|row| row.report.sender_mac.map(|mac| mac.to_string())),
        ),
        Column::told(
            "receiver_mac",
            "That of the receiver's side.",
            text!(|row| row.report.receiver_mac.map(|mac| mac.to_string())),
        ),
        Column::told(
            "vlans",
            "The VLANs that its first packet was tagged with, the outer first.",
            Get::Counts(|row| Some(row.report.vlans.iter().copied().map(u64::from).collect())),
        ),
    ]
}

fn amounts() -> Vec<Column<Row>> {
    vec![
        told!(start_time, Time, "When its first packet came; null where the capture has no dates."),
        told!(end_time, Time, "When its last packet came."),
        told!(packets, Count, "Packets of both directions."),
        told!(bytes, Bytes, "Payload of the larger transfer, each byte counted once."),
        told!(
            seconds,
            Seconds,
            "From the first data to the last ACK, or the last sign of the transfer."
        ),
        told!(bytes_per_second, Rate, "The one over the other."),
        told!(
            think_seconds,
            Seconds,
            "Of the time, that in which the programs paused: nothing was in flight and \
             nothing was owed."
        ),
        told!(untold_seconds, Seconds, "The part of which the capture does not tell what it was."),
        told!(transfer_seconds, Seconds, "The rest, in which the data moved."),
        told!(bytes_returned, Bytes, "Payload that went the other way."),
    ]
}

/// What one side offered.
macro_rules! offer {
    ($side:ident, $(($json:literal, $about:literal, $get:ident, |$it:ident| $value:expr)),+ $(,)?) => {
        [$(Column::told(
            concat!("handshake.", stringify!($side), ".", $json),
            $about,
            part!($get, handshake, |handshake| handshake.$side.and_then(|$it| $value)),
        )),+]
    };
}

/// The same of both sides.
macro_rules! offers {
    ($($offer:tt),+ $(,)?) => {
        offer!(sender, $($offer),+).into_iter().chain(offer!(receiver, $($offer),+))
    };
}

fn handshake() -> Vec<Column<Row>> {
    let mut columns = vec![
        told!(
            handshake?.complete,
            Flag,
            "Whether both SYNs were captured with all their options; null where no SYN was."
        ),
        told!(
            handshake?.rtt_seconds,
            Seconds,
            "From the last SYN to the third segment; null where one of the three is missing."
        ),
        Column::told(
            "handshake.opened_by",
            "The side that opened it: `sender` or `receiver`.",
            part!(Text, handshake, |it| it.opened_by.map(|side| side.id().into())),
        ),
        told!(
            handshake?.seconds,
            Seconds,
            "From the first SYN to the third segment: what the set-up took."
        ),
        Column::told(
            "handshake.syns",
            "How often the SYN was sent.",
            part!(Count, handshake, |it| Some(it.syns.into())),
        ),
        Column::told(
            "handshake.syn_acks",
            "How often it was answered.",
            part!(Count, handshake, |it| Some(it.syn_acks.into())),
        ),
    ];
    columns.extend(offers![
        ("mss", "The largest segment that this side takes.", Bytes, |it| it
            .mss
            .map(|mss| Bytes::new(mss.into()))),
        (
            "window_scale",
            "The shift of this side's window field; null where it does not scale.",
            Small,
            |it| it.window_scale.map(u16::from)
        ),
        ("sack_permitted", "Whether this side takes selective acknowledgments.", Flag, |it| Some(
            it.sack_permitted
        )),
        ("timestamps", "Whether this side sends timestamps.", Flag, |it| Some(it.timestamps)),
        (
            "first_window_bytes",
            "The window in the SYN itself, which is never scaled.",
            Bytes,
            |it| Some(it.first_window_bytes)
        ),
    ]);
    columns
}

fn ending() -> Vec<Column<Row>> {
    vec![
        Column::told(
            "ending.how",
            "What it came to: `fin`, `reset`, `silence`, `replaced` by another connection, or \
             `open`, as the capture ended first.",
            text!(|row| Some(row.report.ending.how.id())),
        ),
        Column::told(
            "ending.by",
            "Who closed it first, broke it off or stopped answering.",
            text!(|row| row.report.ending.by.map(Side::id)),
        ),
        told!(ending.packet, Count, "The packet of the FIN or RST."),
        told!(
            ending.both_closed,
            Flag,
            "Whether both sides closed it; null where only one was captured."
        ),
        told!(
            ending.silent_seconds,
            Seconds,
            "From its last packet to the capture's end; null where it was ended."
        ),
        told!(
            ending.unanswered_bytes,
            Bytes,
            "The data that waits for an answer of the side that stopped answering."
        ),
        told!(ending.unanswered_seconds, Seconds, "How long it waits."),
    ]
}

fn receive_window() -> Vec<Column<Row>> {
    vec![
        told!(
            receive_window.bytes,
            Bytes,
            "The window that was offered most often while it was open; null where no ACK was \
             captured."
        ),
        told!(receive_window.full_frames, Count, "Full segments that fit into it."),
        told!(receive_window.min_bytes, Bytes, "The least that was offered."),
        told!(receive_window.max_bytes, Bytes, "The most that was offered."),
        told!(receive_window.segment_bytes, Bytes, "The payload of a full segment."),
        Column::told(
            "receive_window.scale",
            "The shift of the window field.",
            Get::Small(|row| Some(row.report.receive_window.scale.into())),
        ),
        told!(
            receive_window.scale_known,
            Flag,
            "Whether the handshake tells the shift; else it is the least one that fits."
        ),
        told!(receive_window.closures, Count, "How often the window was closed."),
        told!(receive_window.closed_seconds, Seconds, "For how long, in all."),
        told!(receive_window.longest_closure_seconds, Seconds, "The longest of them."),
        told!(receive_window.probes, Count, "Probes of the closed window."),
        told!(receive_window.zero_windows, Count, "ACKs that offered no window."),
        told!(
            receive_window.keep_alives,
            Count,
            "Segments that ask whether the other side is still there."
        ),
        told!(receive_window.max_flight_bytes, Bytes, "The most that was in flight."),
    ]
}

fn times() -> Vec<Column<Row>> {
    vec![
        told!(
            ack_latency_seconds?.p50,
            Seconds,
            "From a segment to the ACK that answers it, at the place of the capture: the \
             median; null without samples."
        ),
        told!(ack_latency_seconds?.p90, Seconds, "Nine of ten are not longer."),
        told!(ack_latency_seconds?.max, Seconds, "The longest."),
        told!(
            ack_latency_seconds?.receiver_own,
            Seconds,
            "The receiver's own part of the median: what goes beyond the path."
        ),
        told!(ack_latency_seconds?.samples, Count, "The number of samples."),
        told!(
            rtt_seconds?.min,
            Seconds,
            "The path's round trip: the least that was seen; null where nothing tells it."
        ),
        told!(rtt_seconds?.handshake, Seconds, "From the handshake."),
        told!(
            rtt_seconds?.capture_to_sender,
            Seconds,
            "The part of the path between the capture and the sender, and back."
        ),
        told!(
            queue_seconds,
            Seconds,
            "The longest that data stood in the path's queue; null where no queue took time."
        ),
        told!(
            clock_step_seconds,
            Seconds,
            "The step of the capture's clock; null where it is too fine to matter."
        ),
    ]
}

/// What was lost in one direction.
macro_rules! lost {
    ($part:literal, |$row:ident| $losses:expr, $(($name:ident, $get:ident, $about:literal)),+ $(,)?) => {
        [$(Column::told(
            concat!($part, ".", stringify!($name)),
            $about,
            Get::$get(|$row: &Row| $losses.and_then(|losses| lost!(@$get losses.$name))),
        )),+]
    };
    // Of all of these only the timer may be unknown.
    (@Seconds $value:expr) => { $value };
    (@$get:ident $value:expr) => { Some($value) };
}

/// The same of both directions.
macro_rules! both {
    ($($lost:tt),+ $(,)?) => {
        lost!("losses", |row| Some(&row.report.losses), $($lost),+).into_iter().chain(
            lost!("losses_returned", |row| row.report.losses_returned.as_ref(), $($lost),+)
        ).collect()
    };
}

fn losses() -> Vec<Column<Row>> {
    both![
        (segments, Count, "Data segments that were sent, those that were sent again among them."),
        (retransmissions, Count, "Segments sent again."),
        (fast, Count, "Of these, after duplicate ACKs."),
        (by_timer, Count, "Of these, by a timer."),
        (needless, Count, "Of these, needless: nothing was lost."),
        (unheard, Count, "Segments that a timer sent again though they had arrived."),
        (vain_repairs, Count, "Repairs whose first segment others had only overtaken."),
        (timer_seconds, Seconds, "The least silence after which a timer sent again."),
        (events, Count, "Times that the sender found loss."),
        (ratio, Share, "Of `segments`, the share that was sent again and not needlessly."),
        (out_of_order, Count, "Segments that others overtook."),
        (duplicate_acks, Count, "ACKs that repeat the one before."),
        (captured_twice, Count, "Packets that the capture holds twice."),
        (
            missing_from_capture_bytes,
            Bytes,
            "Bytes that were acknowledged but are not in the capture."
        ),
        (super_packets, Count, "Segments larger than a full one, which the network card cuts."),
    ]
}

macro_rules! share {
    ($(($json:literal, $limit:ident, $about:literal)),+ $(,)?) => {
        vec![$(Column::told(
            concat!("shares.", $json),
            $about,
            Get::Share(|row: &Row| {
                Some(row.report.shares.get(Limit::$limit.id()).copied().unwrap_or_default())
            }),
        )),+]
    };
}

fn shares() -> Vec<Column<Row>> {
    share![
        (
            "receiver-window",
            ReceiverWindow,
            "The share of the time that each limit cost; they sum to 1. The window that the \
             receiver advertises was full."
        ),
        ("zero-window", ZeroWindow, "The receiver advertised a window of zero."),
        ("send-buffer", SendBuffer, "The sender's own buffer was full."),
        ("congestion-window", CongestionWindow, "The sender's congestion window was full."),
        ("loss", Loss, "Segments were lost, or their ACKs, and were being sent again."),
        ("path-capacity", PathCapacity, "The path carried all that it can."),
        ("application", Application, "The program on one side did not send, or did not answer."),
        ("small-segments", SmallSegments, "Segments carried much less than they could."),
        (
            "nagle-delayed-ack",
            NagleDelayedAck,
            "A small last segment waited for an ACK that the receiver delays."
        ),
        ("unknown", Unknown, "The capture does not tell."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_its_share() {
        let names: Vec<&str> = shares().iter().map(|column| column.json).collect();
        assert_eq!(names, Limit::ALL.map(|limit| format!("shares.{}", limit.id())));
    }
}
