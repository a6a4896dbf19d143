//! A part of what a bench tells: a table, and what holds or does not.

/// Bound of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Least(f64),
    Most(f64),
}

impl Bound {
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            Self::Least(least) => value >= least,
            Self::Most(most) => value <= most,
        }
    }

    pub(crate) fn words(self) -> String {
        match self {
            Self::Least(least) => format!("at least {least}"),
            Self::Most(most) => format!("at most {most}"),
        }
    }
}

/// Mark of a bound that does not hold.
const NOT_HELD: &str = "NOT HELD";

/// A table with its name and what it is of.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// True if the bound holds.
    pub(crate) held: bool,
    about: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Part {
    pub(crate) fn new(name: &'static str, about: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        let (rows, notes) = (Vec::new(), Vec::new());
        Self { name, held: true, about: about.into(), columns, rows, notes }
    }

    /// A row, of a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The words of a bound, for a cell, and a mark where it does not hold.
    pub(crate) fn bound(&mut self, words: &str, holds: bool) -> String {
        self.held &= holds;
        if holds { words.to_owned() } else { format!("{words}: {NOT_HELD}") }
    }

    /// A line below the table.
    pub(crate) fn note(&mut self, words: impl Into<String>) {
        self.notes.push(words.into());
    }

    /// A figure below the table, with what it must be.
    pub(crate) fn figure(&mut self, name: &str, value: f64, bound: Option<Bound>) {
        let places = if value.fract() == 0.0 { 0 } else { 3 };
        let bound = bound.map(|bound| self.bound(&bound.words(), bound.holds(value)));
        let bound = bound.map_or_else(String::new, |bound| format!(" ({bound})"));
        self.note(format!("{name}: {value:.places$}{bound}"));
    }

    /// The part for a terminal.
    pub(crate) fn text(&self) -> String {
        let all = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |place: usize| {
            let cells = all().filter_map(|row| row.get(place));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("{}: {}\n", self.name, self.about);
        for row in all() {
            let mut line = String::new();
            for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
                match place {
                    0 => line.push_str(&format!("  {cell:<width$}")),
                    _ => line.push_str(&format!("  {cell:>width$}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("  {note}\n"));
        }
        text.trim_end().to_owned()
    }

    /// The part for the results file, without its name.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut rule = vec!["---:".to_owned(); self.columns.len()];
        rule[0] = "---".to_owned();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let notes: String = self.notes.iter().map(|note| format!("- {note}\n")).collect();
        let mut about = self.about.trim_end_matches('.').chars();
        let first = about.next().map(|first| first.to_uppercase().to_string());
        let about = first.unwrap_or_default() + about.as_str();
        format!("{about}.\n\n{}{}{rows}\n{notes}", line(&self.columns), line(&rule))
    }
}
