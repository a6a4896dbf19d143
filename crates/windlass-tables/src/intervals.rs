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
            "Its place in the connection's timeline, from 1.",
            Get::Count(|row: &Row| Some(row.interval)),
        ),
        Column::own(
            "start_time",
            "When it begins; null where the capture has no dates, or its clock was set back \
             while the connection lived.",
            Get::Time(|row| row.start_time),
        ),
        Column::told(
            "start",
            "When it begins, from the start of the transfer.",
            Get::Seconds(|row| Some(row.of.start)),
        ),
        Column::told("end", "When it ends.", Get::Seconds(|row| Some(row.of.end))),
        Column::told(
            "charged",
            "The time in it that went to this limit: all of it, unless short intervals were \
             merged into it.",
            Get::Seconds(|row| Some(row.of.charged)),
        ),
        Column::told(
            "limit",
            "The limit that cost most of it.",
            Get::Text(|row| Some(row.of.cause.limit().id().into())),
        ),
        Column::told(
            "because",
            "Its reason; null where the limit has only one.",
            Get::Text(|row| row.of.cause.because().map(|because| because.id().into())),
        ),
        Column::told(
            "first_packet",
            "The packet at which it begins.",
            Get::Count(|row| Some(row.of.first_packet)),
        ),
        Column::told(
            "last_packet",
            "The packet at which it ends.",
            Get::Count(|row| Some(row.of.last_packet)),
        ),
    ]);
    columns
}
