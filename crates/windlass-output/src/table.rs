//! Tables: aligned columns, numbers to the right.

use super::{Style, Text};

/// Column of a [`Table`].
#[derive(Clone, Debug)]
pub struct Column {
    name: Text,
    right: bool,
    flexible: bool,
    least: usize,
}

impl Column {
    /// Creates a column of words.
    pub fn left(name: impl Into<Text>) -> Self {
        Self { name: name.into(), right: false, flexible: false, least: 0 }
    }

    /// Creates a column of numbers.
    pub fn right(name: impl Into<Text>) -> Self {
        Self { right: true, ..Self::left(name) }
    }

    /// Allows the column to be cut, as `print-server.exam…`, if the page is too narrow.
    #[must_use]
    pub const fn flexible(mut self) -> Self {
        self.flexible = true;
        self
    }

    /// Sets the minimum width of the column. A table that is printed row by row ([`Table::head`],
    /// [`Table::line`]) has only these widths.
    #[must_use]
    pub const fn least(mut self, width: usize) -> Self {
        self.least = width;
        self
    }

    fn width(&self) -> usize {
        self.least.max(self.name.width())
    }
}

/// Function that makes the cell of a row.
type Cell<T> = fn(&T) -> Text;

/// Rows of cells under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Text>>,
}

impl Table {
    /// Number of spaces between columns.
    const GAP: usize = 2;
    /// Minimum width to which a flexible column is cut.
    const NARROWEST: usize = 8;

    /// Creates a table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Creates a table without rows from its line of names: `process… | pid: | time:`. After a
    /// name, `:` marks a column of numbers, as in Markdown, and `…` a flexible one.
    pub fn headed(names: &str) -> Self {
        Self::new(names.split('|').map(str::trim).map(|name| {
            match (name.strip_suffix(':'), name.strip_suffix('…')) {
                (Some(name), _) => Column::right(name),
                (None, Some(name)) => Column::left(name).flexible(),
                (None, None) => Column::left(name),
            }
        }))
    }

    /// Creates a table with a row for each of `rows`; each column comes with the function that
    /// makes its cells.
    pub fn of<'a, T: 'a>(
        rows: impl IntoIterator<Item = &'a T>,
        columns: &[(Column, Cell<T>)],
    ) -> Self {
        let mut table = Self::new(columns.iter().map(|(column, _)| column.clone()));
        for row in rows {
            table.push(columns.iter().map(|(_, cell)| cell(row)));
        }
        table
    }

    /// Adds a row. Extra cells are left out, missing ones are empty.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Text>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the columns and the rows, for another layout.
    pub fn into_parts(self) -> (Vec<Column>, Vec<Vec<Text>>) {
        (self.columns, self.rows)
    }

    /// Returns the names of the columns, each with whether it holds numbers.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&Text, bool)> {
        self.columns.iter().map(|column| (&column.name, column.right))
    }

    /// Returns the rows, as cells.
    pub(super) fn rows(&self) -> &[Vec<Text>] {
        &self.rows
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns only the line of names, at the columns' minimum widths, to print a table whose rows
    /// are not known yet.
    pub fn head(&self) -> Text {
        self.names(&self.least_widths())
    }

    /// Returns only one row, at the columns' minimum widths. A cell that is wider shifts the rest
    /// of its row.
    pub fn line(&self, cells: &[Text]) -> Text {
        self.join(cells, &self.least_widths())
    }

    /// Returns the lines of the table on a page of `width` columns. If no column has a name, there
    /// is no line of names.
    pub fn lines(&self, width: usize) -> impl Iterator<Item = Text> + '_ {
        let widths = self.widths(width);
        let named = self.columns.iter().any(|column| !column.name.is_empty());
        let names = named.then(|| self.names(&widths));
        names.into_iter().chain(self.rows.iter().map(move |row| self.join(row, &widths)))
    }

    fn names(&self, widths: &[usize]) -> Text {
        let names: Vec<Text> = self
            .columns
            .iter()
            .map(|column| Text::styled(Style::Dim, column.name.clone()))
            .collect();
        self.join(&names, widths)
    }

    fn join(&self, cells: &[Text], widths: &[usize]) -> Text {
        let empty = Text::new();
        let mut line = Text::new();
        // After a cell of words, before the next cell.
        let mut space = 0;
        for (place, (column, &width)) in self.columns.iter().zip(widths).enumerate() {
            let mut cell = cells.get(place).unwrap_or(&empty);
            let mut columns = cell.width();
            let cut;
            if column.flexible && columns > width {
                cut = cell.clone().cut(width);
                columns = cut.width();
                cell = &cut;
            }
            let gap = if place > 0 { Self::GAP } else { 0 };
            let pad = width.saturating_sub(columns);
            let (before, behind) = if column.right { (pad, 0) } else { (0, pad) };
            line.add(space + gap + before, cell);
            space = behind;
        }
        line
    }

    fn least_widths(&self) -> Vec<usize> {
        self.columns.iter().map(Column::width).collect()
    }

    fn widths(&self, page: usize) -> Vec<usize> {
        let mut widths = self.least_widths();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let gaps = Self::GAP * widths.len().saturating_sub(1);
        let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(page);
        // The widest flexible column shrinks first.
        while over > 0 {
            let widest = (0..widths.len())
                .filter(|&place| self.columns[place].flexible && widths[place] > Self::NARROWEST)
                .max_by_key(|&place| widths[place]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
            over -= 1;
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Bytes;

    use super::*;

    fn table() -> Table {
        let mut table = Table::headed("n: | sender… | bytes: | limit");
        let cells = |n: u64, sender: &str, bytes: u64, limit: &str| {
            [n.into(), sender.into(), Bytes::new(bytes).into(), limit.into()]
        };
        table.push(cells(1, "10.0.0.1:1024", 22_226_432, "receiver-window"));
        table.push(cells(12, "print-server.example:515", 80, "loss"));
        table
    }

    fn plain(lines: impl Iterator<Item = Text>) -> Vec<String> {
        lines.map(|line| line.plain().trim_end().to_owned()).collect()
    }

    #[test]
    fn numbers_align_to_the_right() {
        assert_eq!(
            plain(table().lines(80)),
            [
                " n  sender                           bytes  limit",
                " 1  10.0.0.1:1024             22,226,432 B  receiver-window",
                "12  print-server.example:515          80 B  loss",
            ]
        );
    }

    #[test]
    fn a_flexible_column_gives_way() {
        assert_eq!(
            plain(table().lines(50)),
            [
                " n  sender                  bytes  limit",
                " 1  10.0.0.1:1024    22,226,432 B  receiver-window",
                "12  print-server.e…          80 B  loss",
            ]
        );
    }

    #[test]
    fn rows_can_go_out_one_by_one() {
        let table = Table::new([Column::right("delta").least(9), Column::left("note")]);
        assert_eq!(table.head().plain(), "    delta  note");
        assert_eq!(table.line(&["117.7 ms".into(), "ACK".into()]).plain(), " 117.7 ms  ACK");
    }
}
