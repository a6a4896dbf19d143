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

/// Gets a text of the report.
macro_rules! text {
    (|$row:ident| $value:expr) => {
        Get::Text(|$row: &Row| $value.map(Into::into))
    };
}

/// Makes a column of a field of the report, which the JSON has at the path of the same names. Its
/// arguments are the field, its type and its meaning. `?` marks a part that may be missing.
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

/// Gets a field of a part of the report; null if the part is missing.
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
            "Sender of the data, as `host:port`.",
            Get::Text(|row| Some(Cow::Borrowed(&row.report.sender))),
        ),
        Column::told(
            "receiver",
            "Receiver of the data, as `host:port`.",
            Get::Text(|row| Some(Cow::Borrowed(&row.report.receiver))),
        ),
        Column::told(
            "sender_address",
            "Sender's address as text; null if the capture has a name instead.",
            text!(|row| row.report.sender_address.map(|address| address.to_string())),
        ),
        Column::own(
            "sender_address_binary",
            "The address as 4 bytes, or 16 for IPv6.",
            Get::Address(|row| row.report.sender_address),
        ),
        Column::own(
            "sender_prefix",
            "Network of the address, as `192.0.2.0/24`; for IPv6, 64 bits.",
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
            "The address as 4 bytes, or 16 for IPv6.",
            Get::Address(|row| row.report.receiver_address),
        ),
        Column::own(
            "receiver_prefix",
            "Network of the address.",
            text!(|row| row.report.receiver_address.map(prefix)),
        ),
        told!(receiver_port, Small, "The receiver's port."),
        Column::own(
            "service_port",
            "Port that was connected to; the lower port if no SYN was captured.",
            Get::Small(|row| Some(row.service_port)),
        ),
        Column::own(
            "service",
            "Side of the service port: `sender` or `receiver`.",
            text!(|row| Some(row.service.id())),
        ),
        Column::told(
            "sender_mac",
            "MAC address on the sender's side: of the sender, or of the nearest router. Null \
             without Ethernet headers.",
            text!(|row| row.report.sender_mac.map(|mac| mac.to_string())),
        ),
        Column::told(
            "receiver_mac",
            "MAC address on the receiver's side.",
            text!(|row| row.report.receiver_mac.map(|mac| mac.to_string())),
        ),
        Column::told(
            "vlans",
            "VLAN tags of the first packet, outer first.",
            Get::Counts(|row| Some(row.report.vlans.iter().copied().map(u64::from).collect())),
        ),
    ]
}

fn amounts() -> Vec<Column<Row>> {
    vec![
        told!(start_time, Time, "Time of the first packet; null if the capture has no dates."),
        told!(end_time, Time, "Time of the last packet."),
        told!(packets, Count, "Packets of both directions."),
        told!(bytes, Bytes, "Payload of the larger transfer, each byte counted once."),
        told!(
            seconds,
            Seconds,
            "Time from the first data to the last ACK, or to the last packet of the transfer."
        ),
        told!(bytes_per_second, Rate, "`bytes` / `seconds`."),
        told!(
            think_seconds,
            Seconds,
            "Time in which the programs paused: nothing was in flight, and no data was due."
        ),
        told!(untold_seconds, Seconds, "Time that the capture does not explain."),
        told!(transfer_seconds, Seconds, "The remaining time, in which data was transferred."),
        told!(bytes_returned, Bytes, "Payload of the other direction."),
    ]
}

/// Makes the columns of the TCP options that one side offered.
macro_rules! offer {
    ($side:ident, $(($json:literal, $about:literal, $get:ident, |$it:ident| $value:expr)),+ $(,)?) => {
        [$(Column::told(
            concat!("handshake.", stringify!($side), ".", $json),
            $about,
            part!($get, handshake, |handshake| handshake.$side.and_then(|$it| $value)),
        )),+]
    };
}

/// Makes the columns of the TCP options that each side offered.
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
            "True if both SYNs were captured with all options; null if no SYN was."
        ),
        told!(
            handshake?.rtt_seconds,
            Seconds,
            "Time from the last SYN to the third segment; null if one of the three is missing."
        ),
        Column::told(
            "handshake.opened_by",
            "Side that opened the connection: `sender` or `receiver`.",
            part!(Text, handshake, |it| it.opened_by.map(|side| side.id().into())),
        ),
        told!(
            handshake?.seconds,
            Seconds,
            "Time of the set-up, from the first SYN to the third segment."
        ),
        Column::told(
            "handshake.syns",
            "Number of SYNs.",
            part!(Count, handshake, |it| Some(it.syns.into())),
        ),
        Column::told(
            "handshake.syn_acks",
            "Number of SYN-ACKs.",
            part!(Count, handshake, |it| Some(it.syn_acks.into())),
        ),
    ];
    columns.extend(offers![
        ("mss", "MSS of this side.", Bytes, |it| it.mss.map(|mss| Bytes::new(mss.into()))),
        ("window_scale", "Window scale of this side; null without scaling.", Small, |it| it
            .window_scale
            .map(u16::from)),
        ("sack_permitted", "True if this side permits SACK.", Flag, |it| Some(it.sack_permitted)),
        ("timestamps", "True if this side sends timestamps.", Flag, |it| Some(it.timestamps)),
        ("first_window_bytes", "Window in the SYN, which is never scaled.", Bytes, |it| Some(
            it.first_window_bytes
        )),
    ]);
    columns
}

fn ending() -> Vec<Column<Row>> {
    vec![
        Column::told(
            "ending.how",
            "End of the connection: `fin`, `reset`, `silence`, `replaced` by another connection, \
             or `open` at the capture's end.",
            text!(|row| Some(row.report.ending.how.id())),
        ),
        Column::told(
            "ending.by",
            "Side that closed first, reset the connection or stopped answering.",
            text!(|row| row.report.ending.by.map(Side::id)),
        ),
        told!(ending.packet, Count, "Packet of the FIN or RST."),
        told!(
            ending.both_closed,
            Flag,
            "True if both sides closed; null if only one side was captured."
        ),
        told!(
            ending.silent_seconds,
            Seconds,
            "Time from the last packet to the capture's end; null if the connection was closed."
        ),
        told!(
            ending.unanswered_bytes,
            Bytes,
            "Data without an answer from the side that stopped answering."
        ),
        told!(ending.unanswered_seconds, Seconds, "Time that this data waits."),
    ]
}

fn receive_window() -> Vec<Column<Row>> {
    vec![
        told!(
            receive_window.bytes,
            Bytes,
            "Window advertised most often while open; null if no ACK was captured."
        ),
        told!(
            receive_window.full_frames,
            Count,
            "Number of full segments that fit into the \
                                                  window."
        ),
        told!(receive_window.min_bytes, Bytes, "Minimum window advertised."),
        told!(receive_window.max_bytes, Bytes, "Maximum window advertised."),
        told!(receive_window.segment_bytes, Bytes, "Payload of a full segment."),
        Column::told(
            "receive_window.scale",
            "Window scale.",
            Get::Small(|row| Some(row.report.receive_window.scale.into())),
        ),
        told!(
            receive_window.scale_known,
            Flag,
            "True if the handshake has the scale; else it is the minimum that fits."
        ),
        told!(receive_window.closures, Count, "Number of times that the window closed."),
        told!(receive_window.closed_seconds, Seconds, "Total time with a closed window."),
        told!(
            receive_window.longest_closure_seconds,
            Seconds,
            "Longest time with a closed window."
        ),
        told!(receive_window.probes, Count, "Zero-window probes."),
        told!(receive_window.zero_windows, Count, "ACKs with a zero window."),
        told!(receive_window.keep_alives, Count, "Keep-alive segments."),
        told!(receive_window.max_flight_bytes, Bytes, "Maximum flight."),
    ]
}

fn times() -> Vec<Column<Row>> {
    vec![
        told!(
            ack_latency_seconds?.p50,
            Seconds,
            "Time from a segment to its ACK, at the capture point: median; null without samples."
        ),
        told!(ack_latency_seconds?.p90, Seconds, "90th percentile."),
        told!(ack_latency_seconds?.max, Seconds, "Maximum."),
        told!(
            ack_latency_seconds?.receiver_own,
            Seconds,
            "The receiver's part of the median, beyond the path's RTT."
        ),
        told!(ack_latency_seconds?.samples, Count, "The number of samples."),
        told!(rtt_seconds?.min, Seconds, "Base RTT: the minimum seen; null if unknown."),
        told!(rtt_seconds?.handshake, Seconds, "RTT of the handshake."),
        told!(rtt_seconds?.capture_to_sender, Seconds, "RTT between capture point and sender."),
        told!(queue_seconds, Seconds, "Maximum queueing delay of the path; null without queueing."),
        told!(
            clock_step_seconds,
            Seconds,
            "Resolution of the capture's clock; null if it is too fine to matter."
        ),
    ]
}

/// Makes the columns of the losses in one direction.
macro_rules! lost {
    ($part:literal, |$row:ident| $losses:expr, $(($name:ident, $get:ident, $about:literal)),+ $(,)?) => {
        [$(Column::told(
            concat!($part, ".", stringify!($name)),
            $about,
            Get::$get(|$row: &Row| $losses.and_then(|losses| lost!(@$get losses.$name))),
        )),+]
    };
    // Only the timer may be unknown.
    (@Seconds $value:expr) => { $value };
    (@$get:ident $value:expr) => { Some($value) };
}

/// Makes the columns of the losses in both directions.
macro_rules! both {
    ($($lost:tt),+ $(,)?) => {
        lost!("losses", |row| Some(&row.report.losses), $($lost),+).into_iter().chain(
            lost!("losses_returned", |row| row.report.losses_returned.as_ref(), $($lost),+)
        ).collect()
    };
}

fn losses() -> Vec<Column<Row>> {
    both![
        (segments, Count, "Data segments sent, retransmissions included."),
        (retransmissions, Count, "Retransmissions."),
        (fast, Count, "Fast retransmissions, after duplicate ACKs."),
        (by_timer, Count, "Retransmissions by a timer."),
        (needless, Count, "Spurious retransmissions: nothing was lost."),
        (unheard, Count, "Retransmissions by a timer of segments that had arrived."),
        (vain_repairs, Count, "Fast recoveries caused by reordering, not by loss."),
        (timer_seconds, Seconds, "Minimum silence before a retransmission by a timer."),
        (events, Count, "Loss events found by the sender."),
        (ratio, Share, "Share of `segments` that were retransmissions, spurious ones left out."),
        (out_of_order, Count, "Segments out of order."),
        (duplicate_acks, Count, "Duplicate ACKs."),
        (captured_twice, Count, "Packets that the capture holds twice."),
        (
            missing_from_capture_bytes,
            Bytes,
            "Bytes that were acknowledged but are missing from the capture."
        ),
        (super_packets, Count, "Segments larger than a full one, which the network card splits."),
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
            "Share of the time, by limit; the shares sum to 1. The receiver's advertised window \
             was full."
        ),
        ("zero-window", ZeroWindow, "The receiver advertised a window of zero."),
        ("send-buffer", SendBuffer, "The sender's own buffer was full."),
        ("congestion-window", CongestionWindow, "The sender's congestion window was full."),
        ("loss", Loss, "Segments or their ACKs were lost, and were retransmitted."),
        ("path-capacity", PathCapacity, "The path was full."),
        ("application", Application, "The program of one side did not send, or did not answer."),
        ("small-segments", SmallSegments, "Segments carried much less than they could."),
        ("nagle-delayed-ack", NagleDelayedAck, "A small last segment waited for a delayed ACK."),
        ("unknown", Unknown, "The capture does not show the limit."),
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
