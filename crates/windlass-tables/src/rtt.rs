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
            "Start of the second; null if the capture has no dates.",
            Get::Time(|row: &Row| {
                let nanos = row.of.second.checked_mul(1_000_000_000)?;
                Timestamp::from_nanos(nanos).dated()
            }),
        ),
        Column::own(
            "second",
            "Number of the second, from 1970 or from the zero of the capture's clock.",
            Get::Number(|row| Some(row.of.second)),
        ),
        Column::own(
            "seconds",
            "Time that the row covers: 1 s; 2, 4, 8 s… for a connection with more than 3,600 rows, \
             or if there are very many connections.",
            Get::Seconds(|row| Some(Span::from_seconds(row.of.seconds.into()))),
        ),
        Column::own("samples", "Number of ACKs of data.", Get::Count(|row| Some(row.of.samples))),
        Column::own(
            "ack_latency_seconds_min",
            "Time from a segment to its ACK, at the capture point: minimum.",
            Get::Seconds(|row| Some(row.of.min)),
        ),
        Column::own(
            "ack_latency_seconds_mean",
            "Mean, each ACK counted once.",
            Get::Seconds(|row| Some(row.of.sum.part_of(row.of.samples))),
        ),
        Column::own("ack_latency_seconds_max", "Maximum.", Get::Seconds(|row| Some(row.of.max))),
        Column::own(
            "bucket_seconds",
            "Histogram: upper bound of each bucket, at most 1/16 above its times; shortest first, \
             without empty buckets.",
            Get::Spans(|row| {
                Some(row.of.buckets.iter().map(|(at, _)| LatencySecond::upper(*at)).collect())
            }),
        ),
        Column::own(
            "bucket_segments",
            "Number of full segments in each bucket. An ACK counts once for each segment that it \
             covers, as in `ack_latency_seconds_p50` of `connections`.",
            Get::Counts(|row| Some(row.of.buckets.iter().map(|(_, count)| *count).collect())),
        ),
    ]);
    columns
}
