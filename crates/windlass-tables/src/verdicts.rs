//! The columns of `verdicts`.

use crate::column::{Column, Get};
use crate::connections::keys;
use crate::rows::ConnectionRow;

type Row = ConnectionRow;

/// What is said of the remedy that brings most.
macro_rules! best {
    ($get:ident, |$it:ident| $value:expr) => {
        Get::$get(|row: &Row| row.best().and_then(|$it| $value))
    };
}

pub(crate) fn columns() -> Vec<Column<Row>> {
    let mut columns: Vec<Column<Row>> =
        keys!(Row, |row| row.report.number, "").into_iter().collect();
    columns.extend(verdict());
    columns.extend(remedy());
    columns
}

fn verdict() -> Vec<Column<Row>> {
    vec![
        Column::told(
            "limit",
            "The limit that cost most time.",
            Get::Text(|row| Some(row.report.verdict.cause.limit().id().into())),
        ),
        Column::told(
            "because",
            "Its reason; null where the limit has only one.",
            Get::Text(|row| row.report.verdict.cause.because().map(|it| it.id().into())),
        ),
        Column::told(
            "between",
            "The causes of which it is one, as `limit/because`, where they cannot be told \
             apart, the likelier first.",
            Get::Texts(|row| {
                let between = &row.report.verdict.between;
                Some(between.iter().map(|cause| cause.to_string().into()).collect())
            }),
        ),
        Column::told(
            "share",
            "The share of the transfer's time that it cost, for this reason.",
            Get::Share(|row| Some(row.report.verdict.share)),
        ),
        Column::told(
            "limit_share",
            "The share that the limit cost for all of its reasons.",
            Get::Share(|row| Some(row.report.verdict.limit_share)),
        ),
        Column::told(
            "sentence",
            "The same for people.",
            Get::Text(|row| Some(row.report.verdict.sentence.to_string().into())),
        ),
        Column::told(
            "law.name",
            "The law that predicts the rate, as `windlass law` knows it.",
            Get::Text(|row| row.report.verdict.law.as_ref().map(|law| law.name.into())),
        ),
        Column::told(
            "predicted_bytes_per_second",
            "The rate by that law.",
            Get::Rate(|row| row.report.verdict.predicted_bytes_per_second),
        ),
        Column::told(
            "measured_bytes_per_second",
            "The rate that was measured.",
            Get::Rate(|row| Some(row.report.verdict.measured_bytes_per_second)),
        ),
        Column::told(
            "next",
            "The limit that cost most time after this one.",
            Get::Text(|row| row.report.verdict.next.map(|limit| limit.id().into())),
        ),
        Column::told(
            "confidence",
            "How sure this is: `low`, `medium` or `high`.",
            Get::Text(|row| Some(row.report.verdict.confidence.id().into())),
        ),
        Column::told(
            "caveats",
            "The names of what weakens it.",
            Get::Texts(|row| {
                let caveats = &row.report.verdict.caveats;
                Some(caveats.iter().map(|caveat| caveat.id.id().into()).collect())
            }),
        ),
    ]
}

fn remedy() -> Vec<Column<Row>> {
    vec![
        Column::own(
            "remedies",
            "How many changes would lift the rate. The columns behind this one are of the one \
             that brings most: of those of which a rate is expected the one with the highest, \
             else the first.",
            Get::Count(|row: &Row| Some(row.report.verdict.remedies.len() as u64)),
        ),
        Column::own(
            "remedy_side",
            "Who has to change it: `sender`, `receiver` or `path`.",
            best!(Text, |it| Some(it.side.id().into())),
        ),
        Column::own(
            "remedy_action",
            "What to do.",
            best!(Text, |it| Some(it.action.to_string().into())),
        ),
        Column::own("remedy_value", "The value to set.", best!(Value, |it| it.value)),
        Column::own(
            "remedy_unit",
            "Its unit: `bytes`, `seconds`, `bytes-per-second`, `share` or `count`.",
            best!(Text, |it| it.unit.map(|unit| unit.id().into())),
        ),
        Column::own(
            "remedy_what_if",
            "The same as `windlass explain --what-if` takes it.",
            best!(Text, |it| it.what_if.as_deref().map(Into::into)),
        ),
        Column::own(
            "remedy_expected_bytes_per_second",
            "The rate to expect then; null where nothing tells it.",
            best!(Rate, |it| it.expected_bytes_per_second),
        ),
        Column::own(
            "remedy_at_most_bytes_per_second",
            "The most that the law allows then, where no rate is expected.",
            best!(Rate, |it| it.at_most_bytes_per_second),
        ),
        Column::own(
            "remedy_then",
            "The limit that holds the transfer then.",
            best!(Text, |it| it.then.map(|limit| limit.id().into())),
        ),
    ]
}
