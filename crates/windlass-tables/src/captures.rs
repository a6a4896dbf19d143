//! The columns that every table of captures has.

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

/// A column of what the facts have where they have it in the JSON.
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

/// Those that every table of captures has.
pub(crate) fn own() -> Vec<Column<Row>> {
    vec![
        Column::own(
            "capture",
            "The SHA-256 of the file as it is, or of the member of an archive as far as it could \
             be read, in hexadecimal digits; the key that the other tables join by. Null where \
             the file could not be read, and of an archive that is damaged.",
            Get::Text(|row| row.capture.as_deref().map(Cow::Borrowed)),
        ),
        Column::named(
            "file",
            "capture.file",
            "The file, as it was named. What is no UTF-8 in it is U+FFFD.",
            Get::Text(|row| Some(Cow::Borrowed(&row.file))),
        ),
        Column::named(
            "member",
            "capture.member",
            "What it is called in the archive that it is in; null where it lies by itself.",
            fact!(Text, |facts| borrowed(facts.member.as_ref())),
        ),
        Column::own(
            "file_bytes",
            "How large it is; null in an archive.",
            Get::Bytes(|row| row.size),
        ),
        Column::own(
            "copy_of",
            "The file before it with the same content. What that holds is there once.",
            Get::Text(|row| borrowed(row.copy_of.as_ref())),
        ),
        Column::own(
            "error",
            "Why it could not be explained; null where it was.",
            Get::Text(|row| borrowed(row.error.as_ref())),
        ),
        Column::named(
            "damage",
            "capture.damage",
            "Where it could not be read further. Everything before that is used.",
            fact!(Text, |facts| borrowed(facts.damage.as_ref())),
        ),
        Column::named(
            "format",
            "capture.format",
            "Its format.",
            fact!(Text, |facts| Some(facts.format.as_str().into())),
        ),
        told!(packets, Count, "Its packets; for text, its packet lines."),
        Column::named(
            "link_types",
            "capture.link_types",
            "The link types of its interfaces.",
            fact!(Texts, |facts| {
                Some(facts.link_types.iter().map(|link| Cow::Borrowed(&**link)).collect())
            }),
        ),
        Column::named(
            "link_type",
            "capture.link_type",
            "The first of them.",
            fact!(Text, |facts| borrowed(facts.link_type.as_ref())),
        ),
        Column::named(
            "snap_length",
            "capture.snap_length",
            "The most bytes that it keeps of a packet.",
            Get::Bytes(|row| {
                let snap = row.facts.as_ref().and_then(|facts| facts.snap_length);
                snap.map(|snap| Bytes::new(snap.into()))
            }),
        ),
        told!(start_time, Time, "When its first packet came; null where it has no dates."),
        told!(end_time, Time, "When its last packet came."),
        told!(duration_seconds, Seconds, "From the first packet to the last."),
        told!(received, Count, "Packets that its writer received, where it says so."),
        told!(drops, Count, "Packets that its writer lost, where it says so."),
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
            "Connections that were taken as ended, to save memory.",
            total!(given_up),
        ),
        Column::own(
            "analyser",
            "The version of windlass that explained it.",
            Get::Text(|_| Some(Cow::Borrowed(crate::ANALYSER))),
        ),
    ]
}
