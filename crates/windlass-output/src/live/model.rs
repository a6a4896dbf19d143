//! Content of a live view: figures over time, limits, a table, and a line of state.
//!
//! A column of the screen is an interval. The number of stored intervals is that of the widest
//! screen's columns. So a view of days takes no more memory than one of minutes.

use std::collections::VecDeque;

use windlass_base::{Bytes, Rate, Span, whole_part};

use crate::{Column, Mark, Table, Text};

/// Maximum number of stored intervals.
const MOST: usize = 1_024;

/// Maximum number of rows of a table.
pub const MOST_ROWS: usize = 200;

/// Figure over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the series.
    pub name: &'static str,
    /// Function that formats a value for people.
    pub show: fn(f64) -> Text,
    /// Values from the oldest to the newest; `None` if unknown.
    pub values: VecDeque<Option<f64>>,
}

impl Series {
    /// Creates a series without values.
    pub const fn new(name: &'static str, show: fn(f64) -> Text) -> Self {
        Self { name, show, values: VecDeque::new() }
    }

    /// Creates a series of bytes per second, shown in bits.
    pub fn rate(name: &'static str) -> Self {
        Self::new(name, |value| Rate::from_bytes_per_second(value).in_bits().into())
    }

    /// Creates a series of bytes.
    pub fn bytes(name: &'static str) -> Self {
        Self::new(name, |value| Bytes::new(whole_part(value)).into())
    }

    /// Creates a series of seconds.
    pub fn time(name: &'static str) -> Self {
        Self::new(name, |value| Span::from_seconds(value).into())
    }

    /// Creates a series of counts.
    pub fn count(name: &'static str) -> Self {
        Self::new(name, |value| whole_part(value).into())
    }
}

/// Interval of a live view.
#[derive(Clone, Debug, Default)]
pub struct ViewInterval {
    /// Start of the interval, since the start of the command.
    pub from: Span,
    /// End of the interval.
    pub to: Span,
    /// Value of each series, in their order.
    pub values: Vec<Option<f64>>,
    /// Limits, with a weight for each.
    pub held: Vec<(Mark, f64)>,
    /// Current rows of the table.
    pub rows: Vec<Vec<Text>>,
    /// Line of state.
    pub state: Text,
}

/// Content of a live view.
#[derive(Clone, Debug)]
pub struct View {
    /// Title of the view.
    pub title: Text,
    /// Length of an interval; none if lengths differ.
    pub every: Option<Span>,
    /// Series; the first is drawn larger than the others.
    pub series: Vec<Series>,
    /// Limits of each interval; none if unknown for all.
    pub band: Option<VecDeque<Vec<(Mark, f64)>>>,
    /// Columns of the table, each with the minimum width of a screen that shows the column.
    pub columns: Vec<(Column, usize)>,
    /// Rows of the table.
    pub rows: Vec<Vec<Text>>,
    /// Line of state.
    pub state: Text,
    /// End of the last interval.
    pub at: Span,
}

impl View {
    /// Creates an empty view of these series; the first is drawn large.
    pub fn new(
        title: impl Into<Text>,
        every: Option<Span>,
        series: impl IntoIterator<Item = Series>,
    ) -> Self {
        Self {
            title: title.into(),
            every,
            series: series.into_iter().collect(),
            band: None,
            columns: Vec::new(),
            rows: Vec::new(),
            state: Text::from("nothing yet"),
            at: Span::ZERO,
        }
    }

    /// Adds a band of the limits of each interval.
    #[must_use]
    pub fn with_band(self) -> Self {
        Self { band: Some(VecDeque::new()), ..self }
    }

    /// Adds a table of these columns.
    #[must_use]
    pub fn with_table(self, columns: impl IntoIterator<Item = (Column, usize)>) -> Self {
        Self { columns: columns.into_iter().collect(), ..self }
    }

    /// Adds a table whose columns fit any screen, given their names as [`Table::headed`] takes
    /// them.
    #[must_use]
    pub fn with_columns(self, names: &str) -> Self {
        let (columns, _) = Table::headed(names).into_parts();
        self.with_table(columns.into_iter().map(|column| (column, 0)))
    }

    /// Adds an interval. One as long as several takes as many columns.
    pub fn push(&mut self, stretch: ViewInterval) {
        let lasted = (stretch.to - stretch.from).or_zero().as_seconds();
        let columns = self.every.map_or(1.0, |every| (lasted / every.as_seconds()).round());
        let columns = usize::try_from(whole_part(columns)).unwrap_or(MOST).clamp(1, MOST);
        for _ in 0..columns {
            for (place, series) in self.series.iter_mut().enumerate() {
                let value = stretch.values.get(place).copied().flatten();
                keep(&mut series.values, value.filter(|value| value.is_finite()));
            }
            if let Some(band) = &mut self.band {
                keep(band, stretch.held.clone());
            }
        }
        self.rows = stretch.rows;
        self.rows.truncate(MOST_ROWS);
        (self.state, self.at) = (stretch.state, stretch.to);
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == MOST {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from: i64, to: i64, value: f64) -> ViewInterval {
        ViewInterval {
            from: Span::from_millis(from),
            to: Span::from_millis(to),
            values: vec![Some(value)],
            rows: vec![vec![Text::from("row")]; MOST_ROWS + 1],
            ..ViewInterval::default()
        }
    }

    #[test]
    fn history_is_bounded() {
        let series = [Series::count("rate")];
        let mut view = View::new("x", Some(Span::from_millis(1_000)), series).with_band();
        for n in 0..2_000_i64 {
            view.push(stretch(n * 1_000, (n + 1) * 1_000, n as f64));
        }
        let values = &view.series[0].values;
        assert_eq!((values.len(), values[0], values[MOST - 1]), (MOST, Some(976.0), Some(1_999.0)));
        assert_eq!(view.band.as_ref().map(VecDeque::len), Some(MOST));
        assert_eq!(view.rows.len(), MOST_ROWS);
        // An interval of a year.
        view.push(stretch(2_000_000, 31_536_000_000, f64::NAN));
        assert_eq!((view.series[0].values.len(), view.series[0].values[0]), (MOST, None));
    }

    #[test]
    fn a_long_interval_takes_the_columns_of_its_time() {
        let series = [Series::count("rate")];
        let mut view = View::new("x", Some(Span::from_millis(1_000)), series.clone());
        view.push(stretch(0, 1_000, 1.0));
        view.push(stretch(1_000, 4_000, 2.0));
        view.push(stretch(4_000, 4_100, 3.0));
        let values: Vec<f64> = view.series[0].values.iter().flatten().copied().collect();
        assert_eq!(values, [1.0, 2.0, 2.0, 2.0, 3.0]);
        assert_eq!(view.at, Span::from_millis(4_100));
        let mut view = View::new("x", None, series);
        view.push(stretch(0, 60_000, 1.0));
        assert_eq!(view.series[0].values.len(), 1);
    }
}
