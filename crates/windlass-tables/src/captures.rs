//! Columns of every table of captures.

use std::borrow::Cow;

use windlass_base::Bytes;

use crate::column::{Column, Get};
use crate::rows::CaptureRow;

type Row = CaptureRow;

fn borrowed(text: Option<&String>) -> Option<Cow<'_, str>> {
    text.map(|text| Cow::Borrowed(text.as_str()))
}

macro_rules! fact {
    ($get:ident, |$facts:ident| $value:expr) => {
        Get::$get(|row: &Row| row.facts.as_ref().and_then(|$facts| $value))
    };
}

/// Makes a column of a fact of the capture, which the JSON has at the path of the same names.
macro_rules! told {
    ($at:ident $(.$then:ident)*, $get:ident, $about:literal) => {
        Column::named(
            concat!(stringify!($at) $(, "_", stringify!($then))*),
            concat!("capture.", stringify!($at) $(, ".", stringify!($then))*),
            $about,
            Get::$get(|row: &Row| row.facts.as_ref()?.$at$(.$then)*.into()),
        )
    };
}

macro_rules! total {
    ($name:ident) => {
        Get::Count(|row: &Row| row.totals.map(|totals| totals.$name))
    };
}

/// Returns the columns that every table of captures has.
pub(crate) fn own() -> Vec<Column<Row>> {
    vec![
        Column::own(
            "capture",
            "SHA-256 of the file, or of the readable part of a member of an archive, in \
             hexadecimal digits; the key of the other tables. Null if the file could not be read, \
             and for a damaged archive.",
            Get::Text(|row| row.capture.as_deref().map(Cow::Borrowed)),
        ),
        Column::named(
            "file",
            "capture.file",
            "The file, as named on the command line. Bytes that are not UTF-8 are U+FFFD.",
            Get::Text(|row| Some(Cow::Borrowed(&row.file))),
        ),
        Column::named(
            "member",
            "capture.member",
            "Name of the member in its archive; null outside an archive.",
            fact!(Text, |facts| borrowed(facts.member.as_ref())),
        ),
        Column::own(
            "file_bytes",
            "Size of the file; null in an archive.",
            Get::Bytes(|row| row.size),
        ),
        Column::own(
            "copy_of",
            "An earlier file with the same content. Only the earlier file has rows in the other \
             tables.",
            Get::Text(|row| borrowed(row.copy_of.as_ref())),
        ),
        Column::own(
            "error",
            "Reason why the capture could not be explained; null if it was.",
            Get::Text(|row| borrowed(row.error.as_ref())),
        ),
        Column::named(
            "damage",
            "capture.damage",
            "Place where reading stopped. Everything before it is used.",
            fact!(Text, |facts| borrowed(facts.damage.as_ref())),
        ),
        Column::named(
            "format",
            "capture.format",
            "Format of the capture.",
            fact!(Text, |facts| Some(facts.format.as_str().into())),
        ),
        told!(packets, Count, "Packets; for text, packet lines."),
        Column::named(
            "link_types",
            "capture.link_types",
            "Link types of the interfaces.",
            fact!(Texts, |facts| {
                Some(facts.link_types.iter().map(|link| Cow::Borrowed(&**link)).collect())
            }),
        ),
        Column::named(
            "link_type",
            "capture.link_type",
            "The first link type.",
            fact!(Text, |facts| borrowed(facts.link_type.as_ref())),
        ),
        Column::named(
            "snap_length",
            "capture.snap_length",
            "Maximum number of bytes kept of a packet.",
            Get::Bytes(|row| {
                let snap = row.facts.as_ref().and_then(|facts| facts.snap_length);
                snap.map(|snap| Bytes::new(snap.into()))
            }),
        ),
        told!(start_time, Time, "Time of the first packet; null if the capture has no dates."),
        told!(end_time, Time, "Time of the last packet."),
        told!(duration_seconds, Seconds, "From the first packet to the last."),
        told!(
            received,
            Count,
            "Packets received by the capturing program, if the capture says so."
        ),
        told!(drops, Count, "Packets lost by the capturing program, if the capture says so."),
        told!(passed_over.not_tcp, Count, "Packets that are not TCP over IP."),
        told!(
            passed_over.fragments,
            Count,
            "Fragments of datagrams that were joined or are still incomplete."
        ),
        told!(
            passed_over.unreadable,
            Count,
            "Packets whose headers contradict themselves or were cut off."
        ),
        Column::told("totals.segments", "TCP segments.", total!(segments)),
        Column::told("totals.connections", "Connections.", total!(connections)),
        Column::told(
            "totals.connections_with_data",
            "Connections that carried data. Each of them has a row in the other tables.",
            total!(connections_with_data),
        ),
        Column::told(
            "totals.bytes",
            "Payload, each byte counted once.",
            Get::Bytes(|row| row.totals.map(|totals| Bytes::new(totals.bytes))),
        ),
        Column::told(
            "totals.captured_twice",
            "Packets that the capture holds twice.",
            total!(captured_twice),
        ),
        Column::told(
            "totals.given_up",
            "Connections taken as ended, to save memory.",
            total!(given_up),
        ),
        Column::own(
            "analyser",
            "Version of windlass that explained the capture.",
            Get::Text(|_| Some(Cow::Borrowed(crate::ANALYSER))),
        ),
    ]
}
