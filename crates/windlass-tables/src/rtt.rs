//! The columns of `rtt`.

use windlass_base::{Span, Timestamp};
use windlass_trace::LatencySecond;

use crate::column::{Column, Get};
use crate::connections::keys;
use crate::rows::RttRow;

type Row = RttRow;

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns: Vec<Column<Row>> = keys!(Row, |row| row.connection, "").into_iter().collect();
    columns.extend([
        Column::own(
            "start_time",
            "When the second begins; null where the capture has no dates.",
            Get::Time(|row: &Row| {
                let nanos = row.of.second.checked_mul(1_000_000_000)?;
                Timestamp::from_nanos(nanos).dated()
            }),
        ),
        Column::own(
            "second",
            "The second, counted from 1970 or from the capture's own zero.",
            Get::Number(|row| Some(row.of.second)),
        ),
        Column::own(
            "seconds",
            "The time that the row stands for: 1 s, and 2, 4, 8 s… of a connection with more \
             than 3,600 rows, or of one among very many.",
            Get::Seconds(|row| Some(Span::from_seconds(row.of.seconds.into()))),
        ),
        Column::own("samples", "ACKs that answered data.", Get::Count(|row| Some(row.of.samples))),
        Column::own(
            "ack_latency_seconds_min",
            "From a segment to the ACK that answers it, at the place of the capture: the \
             shortest.",
            Get::Seconds(|row| Some(row.of.min)),
        ),
        Column::own(
            "ack_latency_seconds_mean",
            "The mean, each ACK counted once.",
            Get::Seconds(|row| Some(row.of.sum.part_of(row.of.samples))),
        ),
        Column::own(
            "ack_latency_seconds_max",
            "The longest.",
            Get::Seconds(|row| Some(row.of.max)),
        ),
        Column::own(
            "bucket_seconds",
            "The histogram: the longest time that counts into each bucket, at most 1/16 more \
             than what is in it; the shortest first, and none that is empty.",
            Get::Spans(|row| {
                Some(row.of.buckets.iter().map(|(at, _)| LatencySecond::upper(*at)).collect())
            }),
        ),
        Column::own(
            "bucket_segments",
            "How many full segments waited so long. An ACK counts once for each that it \
             covers, as in `ack_latency_seconds_p50` of `connections`.",
            Get::Counts(|row| Some(row.of.buckets.iter().map(|(_, count)| *count).collect())),
        ),
    ]);
    columns
}
