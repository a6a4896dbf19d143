//! Tables: columns that align, numbers to the right.

use super::{Style, Text};

/// One column of a [`Table`].
#[derive(Clone, Debug)]
pub struct Column {
    name: Text,
    right: bool,
    flexible: bool,
    least: usize,
}

impl Column {
    /// A column of words.
    pub fn left(name: impl Into<Text>) -> Self {
        Self { name: name.into(), right: false, flexible: false, least: 0 }
    }

    /// A column of numbers.
    pub fn right(name: impl Into<Text>) -> Self {
        Self { right: true, ..Self::left(name) }
    }

    /// The column may be cut, as `print-server.exam…`, where the page is too
    /// narrow.
    #[must_use]
    pub const fn flexible(mut self) -> Self {
        self.flexible = true;
        self
    }

    /// The column is at least so wide. A table that is printed row by row
    /// ([`Table::head`], [`Table::line`]) has these widths only.
    #[must_use]
    pub const fn least(mut self, width: usize) -> Self {
        self.least = width;
        self
    }

    fn width(&self) -> usize {
        self.least.max(self.name.width())
    }
}

/// What a column says of a row.
type Cell<T> = fn(&T) -> Text;

/// Rows of cells under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Text>>,
}

impl Table {
    /// So many spaces stand between columns.
    const GAP: usize = 2;
    /// The narrowest that a flexible column is cut to.
    const NARROWEST: usize = 8;

    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// A table without rows, by its line of names: `process… | pid: | time:`. Behind a name `:`
    /// says that the column is one of numbers, as in Markdown, and `…` that it is flexible.
    pub fn headed(names: &str) -> Self {
        Self::new(names.split('|').map(str::trim).map(|name| {
            match (name.strip_suffix(':'), name.strip_suffix('…')) {
                (Some(name), _) => Column::right(name),
                (None, Some(name)) => Column::left(name).flexible(),
                (None, None) => Column::left(name),
            }
        }))
    }

    /// A table with a row for each of `rows`: a column stands beside what it says of
    /// one.
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

    /// Adds a row. Cells beyond the columns are left out, missing ones empty.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Text>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Its columns and its rows, for who lays them out.
    pub fn into_parts(self) -> (Vec<Column>, Vec<Vec<Text>>) {
        (self.columns, self.rows)
    }

    /// The names of the columns, each with whether it is one of numbers.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&Text, bool)> {
        self.columns.iter().map(|column| (&column.name, column.right))
    }

    /// The rows, as cells.
    pub(super) fn rows(&self) -> &[Vec<Text>] {
        &self.rows
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The line of names alone, at the columns' least widths: to print a table
    /// whose rows are not known yet.
    pub fn head(&self) -> Text {
        self.names(&self.least_widths())
    }

    /// One row alone, at the columns' least widths. A cell that is wider pushes
    /// the rest of its row.
    pub fn line(&self, cells: &[Text]) -> Text {
        self.join(cells, &self.least_widths())
    }

    /// The lines of the table on a page of `width` columns. Where no column has
    /// a name there is no line of names.
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
        // Behind a cell of words, before the next one.
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
        // The widest flexible column gives first.
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
