//! What a live view shows: figures over time, what held things back, a table, and a line of state.
//!
//! A column of the screen is an interval. So many of them are kept as the widest screen has
//! columns: a view that runs for days takes no more memory than one of minutes.

use std::collections::VecDeque;

use windlass_base::{Bytes, Rate, Span, whole_part};

use crate::{Column, Mark, Table, Text};

/// The most intervals that are kept.
const MOST: usize = 1_024;

/// The most rows of a table.
pub const MOST_ROWS: usize = 200;

/// A figure over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is called.
    pub name: &'static str,
    /// A value as people read it.
    pub show: fn(f64) -> Text,
    /// From the oldest to the newest; nothing where it was not known.
    pub values: VecDeque<Option<f64>>,
}

impl Series {
    /// One without values.
    pub const fn new(name: &'static str, show: fn(f64) -> Text) -> Self {
        Self { name, show, values: VecDeque::new() }
    }

    /// One of bytes per second, shown in bits.
    pub fn rate(name: &'static str) -> Self {
        Self::new(name, |value| Rate::from_bytes_per_second(value).in_bits().into())
    }

    /// One of bytes.
    pub fn bytes(name: &'static str) -> Self {
        Self::new(name, |value| Bytes::new(whole_part(value)).into())
    }

    /// One of seconds.
    pub fn time(name: &'static str) -> Self {
        Self::new(name, |value| Span::from_seconds(value).into())
    }

    /// One of how many.
    pub fn count(name: &'static str) -> Self {
        Self::new(name, |value| whole_part(value).into())
    }
}

/// What an interval brought.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// When it began, from the beginning of all.
    pub from: Span,
    /// When it ended.
    pub to: Span,
    /// A value for each series, in their order.
    pub values: Vec<Option<f64>>,
    /// What held things back, with a weight for each.
    pub held: Vec<(Mark, f64)>,
    /// The rows of the table, as they are now.
    pub rows: Vec<Vec<Text>>,
    /// What else is to be said.
    pub state: Text,
}

/// A view.
#[derive(Clone, Debug)]
pub struct View {
    /// What is shown.
    pub title: Text,
    /// How long an interval is; nothing where each has a length of its own.
    pub every: Option<Span>,
    /// The first is drawn larger than the others.
    pub series: Vec<Series>,
    /// What held each interval back; nothing where that is not known of any.
    pub band: Option<VecDeque<Vec<(Mark, f64)>>>,
    /// The columns of the table, each with the width of a screen that has room for it.
    pub columns: Vec<(Column, usize)>,
    /// Its rows.
    pub rows: Vec<Vec<Text>>,
    /// What else there is to say.
    pub state: Text,
    /// When the last interval ended.
    pub at: Span,
}

impl View {
    /// One of these series, the first large, with nothing in it yet.
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

    /// The same with a band of what held each interval back.
    #[must_use]
    pub fn with_band(self) -> Self {
        Self { band: Some(VecDeque::new()), ..self }
    }

    /// The same with a table of these columns.
    #[must_use]
    pub fn with_table(self, columns: impl IntoIterator<Item = (Column, usize)>) -> Self {
        Self { columns: columns.into_iter().collect(), ..self }
    }

    /// The same with a table of columns that any screen has room for, by their names as
    /// [`Table::headed`] takes them.
    #[must_use]
    pub fn with_columns(self, names: &str) -> Self {
        let (columns, _) = Table::headed(names).into_parts();
        self.with_table(columns.into_iter().map(|column| (column, 0)))
    }

    /// An interval is over. One that lasted as long as several takes as many columns.
    pub fn push(&mut self, stretch: Stretch) {
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

    fn stretch(from: i64, to: i64, value: f64) -> Stretch {
        Stretch {
            from: Span::from_millis(from),
            to: Span::from_millis(to),
            values: vec![Some(value)],
            rows: vec![vec![Text::from("row")]; MOST_ROWS + 1],
            ..Stretch::default()
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
        // A silence of a year.
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
