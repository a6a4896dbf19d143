//! The columns of `verdicts`.

use crate::column::{Column, Get};
use crate::connections::keys;
use crate::rows::ConnectionRow;

type Row = ConnectionRow;

/// Gets a value of the remedy that helps most.
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
            "Limit that cost most time.",
            Get::Text(|row| Some(row.report.verdict.cause.limit().id().into())),
        ),
        Column::told(
            "because",
            "Reason of the limit; null if the limit has only one.",
            Get::Text(|row| row.report.verdict.cause.because().map(|it| it.id().into())),
        ),
        Column::told(
            "between",
            "Possible causes, as `limit/because`, if they cannot be told apart; the likeliest \
             first.",
            Get::Texts(|row| {
                let between = &row.report.verdict.between;
                Some(between.iter().map(|cause| cause.to_string().into()).collect())
            }),
        ),
        Column::told(
            "share",
            "Share of the transfer's time that the limit cost for this reason.",
            Get::Share(|row| Some(row.report.verdict.share)),
        ),
        Column::told(
            "limit_share",
            "Share that the limit cost for all reasons.",
            Get::Share(|row| Some(row.report.verdict.limit_share)),
        ),
        Column::told(
            "sentence",
            "The verdict as a sentence.",
            Get::Text(|row| Some(row.report.verdict.sentence.to_string().into())),
        ),
        Column::told(
            "law.name",
            "Law that predicts the rate, by its name in `windlass law`.",
            Get::Text(|row| row.report.verdict.law.as_ref().map(|law| law.name.into())),
        ),
        Column::told(
            "predicted_bytes_per_second",
            "Rate predicted by the law.",
            Get::Rate(|row| row.report.verdict.predicted_bytes_per_second),
        ),
        Column::told(
            "measured_bytes_per_second",
            "Measured rate.",
            Get::Rate(|row| Some(row.report.verdict.measured_bytes_per_second)),
        ),
        Column::told(
            "next",
            "Limit that cost most time after this one.",
            Get::Text(|row| row.report.verdict.next.map(|limit| limit.id().into())),
        ),
        Column::told(
            "confidence",
            "Confidence of the verdict: `low`, `medium` or `high`.",
            Get::Text(|row| Some(row.report.verdict.confidence.id().into())),
        ),
        Column::told(
            "caveats",
            "Names of the doubts that weaken the verdict.",
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
            "Number of changes that would raise the rate. The following columns are of the best \
             change: the one with the highest expected rate, else the first.",
            Get::Count(|row: &Row| Some(row.report.verdict.remedies.len() as u64)),
        ),
        Column::own(
            "remedy_side",
            "Side of the change: `sender`, `receiver` or `path`.",
            best!(Text, |it| Some(it.side.id().into())),
        ),
        Column::own(
            "remedy_action",
            "The change.",
            best!(Text, |it| Some(it.action.to_string().into())),
        ),
        Column::own("remedy_value", "Value to set.", best!(Value, |it| it.value)),
        Column::own(
            "remedy_unit",
            "Unit of the value: `bytes`, `seconds`, `bytes-per-second`, `share` or `count`.",
            best!(Text, |it| it.unit.map(|unit| unit.id().into())),
        ),
        Column::own(
            "remedy_what_if",
            "The change as an argument of `windlass explain --what-if`.",
            best!(Text, |it| it.what_if.as_deref().map(Into::into)),
        ),
        Column::own(
            "remedy_expected_bytes_per_second",
            "Expected rate after the change; null if unknown.",
            best!(Rate, |it| it.expected_bytes_per_second),
        ),
        Column::own(
            "remedy_at_most_bytes_per_second",
            "Maximum rate by the law after the change, if no rate is expected.",
            best!(Rate, |it| it.at_most_bytes_per_second),
        ),
        Column::own(
            "remedy_then",
            "Limit after the change.",
            best!(Text, |it| it.then.map(|limit| limit.id().into())),
        ),
    ]
}
