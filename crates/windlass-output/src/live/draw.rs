//! View as the lines of a screen.
//!
//! The first series has several rows, the others one each, or three if there is room. Below them
//! follow the limits, the state, the table, and the keys. On a small screen the lower parts give
//! way first, except the keys.

use windlass_base::figures::fixed;
use windlass_base::{Span, whole_part};

use super::model::{Series, View};
use crate::{Mark, Style, Table, Text, figures};

/// The user's position in a view.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ViewPosition {
    /// Number of table rows above the screen.
    pub scrolled: usize,
    /// True if the view is frozen.
    pub frozen: bool,
}

/// View as lines.
#[derive(Clone, Debug)]
pub(super) struct ScreenLines {
    /// Lines, none wider than the screen.
    pub lines: Vec<Text>,
    /// Number of table rows that fit.
    pub fits: usize,
}

/// Columns of a value beside its series.
const VALUE: usize = 12;

/// Minimum number of columns of a plot.
const NARROWEST: usize = 8;

/// Minimum number of rows of a screen with larger plots.
const TALL: usize = 40;

/// Minimum number of columns of a screen whose head shows the length of a column.
const WIDE: usize = 60;

/// Eighths of a cell.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a view on a screen of this size.
pub(super) fn draw(
    view: &View,
    gaze: ViewPosition,
    (width, height): (usize, usize),
) -> ScreenLines {
    let body = height.saturating_sub(2);
    let plots = Plots::of(view, width);
    let mut lines = Vec::new();
    let others = view.series.len().saturating_sub(1);
    let small = if height >= TALL { 3 } else { 1 };
    let held = if view.band.is_some() { 2 } else { 0 };
    // Line of state, and the empty line before the table.
    let around = if view.columns.is_empty() { 1 } else { 2 };
    let free = body.saturating_sub(others * small + held + around);
    let large = if view.columns.is_empty() {
        free.min(height / 2)
    } else {
        free.saturating_sub(1 + (body / 3).max(3)).min(height / 4)
    };
    for (place, series) in view.series.iter().enumerate() {
        let rows = if place == 0 { large.max(1) } else { small };
        lines.extend(plots.series(series, rows, hue(place)));
        if place == 0 {
            lines.extend(plots.band(view, width));
        }
    }
    lines.push(view.state.clone());
    let mut fits = 0;
    if !view.columns.is_empty() {
        lines.push(Text::new());
        fits = body.saturating_sub(lines.len() + 1);
        lines.extend(table(view, gaze, width, fits));
    }
    lines.truncate(body);
    lines.resize(body, Text::new());
    lines.insert(0, head(view, gaze, width));
    lines.push(keys(view, gaze, fits));
    lines.truncate(height);
    let lines = lines.into_iter().map(|line| line.cut(width)).collect();
    ScreenLines { lines, fits }
}

/// Returns the title and the time of the view.
fn head(view: &View, gaze: ViewPosition, width: usize) -> Text {
    let seconds = |span: Span| format!("{} s", fixed(span.as_seconds(), 1));
    let mut right = Text::new();
    if gaze.frozen {
        right = right.with(Style::Warn, "frozen ");
    }
    right = right.and(format!("at {}", seconds(view.at)));
    if let Some(every) = view.every.filter(|_| width >= WIDE) {
        right = right.dim(format!("   a column is {every}"));
    }
    let title = Text::styled(Style::Strong, view.title.clone());
    let title = title.cut(width.saturating_sub(right.width() + 2));
    let between = width.saturating_sub(title.width() + right.width());
    title.and(" ".repeat(between)).and(right)
}

/// Returns the keys of the view.
fn keys(view: &View, gaze: ViewPosition, fits: usize) -> Text {
    let key = |text: Text, key: &str, does: &str| text.strong(key).dim(format!(" {does}   "));
    let mut text = key(Text::new(), "q", "end and report");
    text = key(text, "space", if gaze.frozen { "go on" } else { "freeze" });
    let all = view.rows.len();
    if all > fits && fits > 0 {
        text = key(text, "↑ ↓", "scroll");
        let from = gaze.scrolled.min(all - fits);
        text = text.dim(format!("{}-{} of {all}", from + 1, from + fits));
    }
    text
}

/// Returns the table: its head, and the rows on the screen.
fn table(view: &View, gaze: ViewPosition, width: usize, fits: usize) -> Vec<Text> {
    let has_room = |(_, least): &(_, usize)| width >= *least;
    let columns: Vec<_> = view.columns.iter().filter(|column| has_room(column)).collect();
    let mut table = Table::new(columns.iter().map(|(column, _)| column.clone()));
    for row in &view.rows {
        let cells = view.columns.iter().zip(row).filter(|(column, _)| has_room(column));
        table.push(cells.map(|(_, cell)| cell.clone()));
    }
    let mut lines = table.lines(width);
    let head = lines.next();
    let above = gaze.scrolled.min(view.rows.len().saturating_sub(fits));
    head.into_iter().chain(lines.skip(above).take(fits)).collect()
}

/// Columns of the plots, which are the same for all.
struct Plots {
    /// Number of columns of the names.
    names: usize,
    /// Number of columns of the plots; zero without room.
    columns: usize,
}

impl Plots {
    fn of(view: &View, width: usize) -> Self {
        let names = view.series.iter().map(|series| series.name.chars().count()).max();
        let names = names.unwrap_or(0).max("held by".len());
        let columns = width.saturating_sub(names + VALUE + 3);
        Self { names, columns: if columns < NARROWEST { 0 } else { columns } }
    }

    /// Returns a name and a value, before a plot.
    fn label(&self, name: Text, value: Text) -> Text {
        let name_pad = " ".repeat(self.names.saturating_sub(name.width()) + 1);
        let value_pad = " ".repeat(VALUE.saturating_sub(value.width()));
        name.and(name_pad).and(value_pad).and(value).and("  ")
    }

    /// Returns a series over some rows, the newest value at the right.
    fn series(&self, series: &Series, rows: usize, style: Style) -> Vec<Text> {
        let shown = self.last(series.values.iter().copied());
        let most = shown.iter().flatten().copied().fold(0.0, f64::max);
        let newest = series.values.back().copied().flatten();
        let value = Text::known(newest.map(|value| (series.show)(value)));
        let label = |row: usize| match row {
            0 => self.label(Text::from(series.name), Text::styled(Style::Strong, value.clone())),
            1 if most > 0.0 => self.label(Text::styled(Style::Dim, "max"), (series.show)(most)),
            _ => self.label(Text::new(), Text::new()),
        };
        let line = |row: usize| {
            let under = rows - 1 - row;
            let cells: String = shown.iter().map(|value| cell(*value, most, rows, under)).collect();
            label(row).with(style, cells)
        };
        (0..rows).map(line).collect()
    }

    /// Returns the band of limits, and their sums.
    fn band(&self, view: &View, width: usize) -> Vec<Text> {
        let Some(band) = &view.band else { return Vec::new() };
        let shown = self.last(band.iter().map(Some));
        let mut line = self.label(Text::from("held by"), Text::new());
        let mut sums: Vec<(&Mark, f64)> = Vec::new();
        for held in shown {
            let held = held.map(Vec::as_slice).unwrap_or_default();
            for (mark, weight) in held {
                match sums.iter_mut().find(|(known, _)| *known == mark) {
                    Some((_, sum)) => *sum += weight,
                    None => sums.push((mark, *weight)),
                }
            }
            let most = held.iter().max_by(|one, other| one.1.total_cmp(&other.1));
            line = match most {
                Some((mark, _)) => line.with(mark.style, mark.letter.to_string()),
                None => line.and(" "),
            };
        }
        let all: f64 = sums.iter().map(|(_, sum)| sum).sum();
        sums.sort_by(|one, other| other.1.total_cmp(&one.1));
        let legend = sums.into_iter().filter(|(_, sum)| *sum > 0.0).map(|(mark, sum)| {
            let share = figures::percent(sum / all);
            Text::styled(mark.style, mark.letter.to_string())
                .and(format!(" {} ", mark.name))
                .and(share)
        });
        vec![line, Text::joined(legend, "   ").cut(width)]
    }

    /// Returns the last values that fit, filled up with `None` in front.
    fn last<T>(&self, all: impl ExactSizeIterator<Item = Option<T>>) -> Vec<Option<T>> {
        let (there, skipped) = (all.len(), all.len().saturating_sub(self.columns));
        let missing = self.columns.saturating_sub(there);
        std::iter::repeat_with(|| None).take(missing).chain(all.skip(skipped)).collect()
    }
}

/// Returns the colour of a series.
fn hue(place: usize) -> Style {
    Style::Hue(u8::try_from(place).unwrap_or(u8::MAX))
}

/// Returns the part of a column's bar in the row at this distance above the lowest.
fn cell(value: Option<f64>, most: f64, rows: usize, under: usize) -> char {
    let Some(value) = value else { return ' ' };
    if value <= 0.0 || most <= 0.0 {
        return if under == 0 { '·' } else { ' ' };
    }
    let whole = (rows * 8) as f64;
    let eighths = whole_part((value / most * whole).ceil().clamp(1.0, whole));
    match usize::try_from(eighths).unwrap_or(usize::MAX).saturating_sub(under * 8) {
        0 => ' ',
        eighths => EIGHTHS[eighths.min(8) - 1],
    }
}
