//! The columns of `intervals`.

use crate::column::{Column, Get};
use crate::connections::keys;
use crate::rows::IntervalRow;

type Row = IntervalRow;

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns: Vec<Column<Row>> = keys!(Row, |row| row.connection, "").into_iter().collect();
    columns.extend([
        Column::own(
            "interval",
            "Number of the interval in the connection's timeline, from 1.",
            Get::Count(|row: &Row| Some(row.interval)),
        ),
        Column::own(
            "start_time",
            "Start of the interval; null if the capture has no dates, or if its clock was set back \
             during the connection.",
            Get::Time(|row| row.start_time),
        ),
        Column::told(
            "start",
            "Start of the interval, from the start of the transfer.",
            Get::Seconds(|row| Some(row.of.start)),
        ),
        Column::told(
            "end",
            "End of the interval, from the start of the transfer.",
            Get::Seconds(|row| Some(row.of.end)),
        ),
        Column::told(
            "charged",
            "Time of the interval that this limit cost: all of it, unless short intervals were \
             merged into it.",
            Get::Seconds(|row| Some(row.of.charged)),
        ),
        Column::told(
            "limit",
            "Limit that cost most of the interval.",
            Get::Text(|row| Some(row.of.cause.limit().id().into())),
        ),
        Column::told(
            "because",
            "Reason of the limit; null if the limit has only one.",
            Get::Text(|row| row.of.cause.because().map(|because| because.id().into())),
        ),
        Column::told(
            "first_packet",
            "First packet of the interval.",
            Get::Count(|row| Some(row.of.first_packet)),
        ),
        Column::told(
            "last_packet",
            "Last packet of the interval.",
            Get::Count(|row| Some(row.of.last_packet)),
        ),
    ]);
    columns
}
