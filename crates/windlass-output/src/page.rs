//! Page of text: headings, rows, paragraphs, tables and bars, aligned and wrapped.

use crate::html::markup::{IN_LINE, marked, rows_markup, table_markup};
use crate::{Bar, Style, Table, Text};

/// Text for people, built from the top down.
///
/// Text is written at once, so a page may have any length. Only [`Rows`] and [`Table`] hold their
/// lines until they know their widths.
#[derive(Debug)]
pub struct Page {
    out: String,
    width: usize,
    indent: usize,
    color: bool,
    /// True for HTML.
    markup: bool,
}

impl Page {
    /// Maximum width of a page: longer lines are hard to read.
    pub const WIDEST: usize = 100;
    /// Minimum width of a page that still wraps.
    const NARROWEST: usize = 40;
    /// Number of columns of one indent ([`Page::indented`]).
    const STEP: usize = 2;

    /// Creates an empty page. `width` is limited to 40 through [`Page::WIDEST`].
    pub fn new(width: usize, color: bool) -> Self {
        let width = width.clamp(Self::NARROWEST, Self::WIDEST);
        Self { out: String::new(), width, indent: 0, color, markup: false }
    }

    /// Creates an empty part of an HTML page, which a browser wraps and aligns.
    pub fn html() -> Self {
        Self { markup: true, ..Self::new(Self::WIDEST, false) }
    }

    /// Writes an element and returns true, if the page is HTML.
    fn element(&mut self, name: &str, text: &Text) -> bool {
        if self.markup {
            self.out.push_str(&format!("<{name}>{}</{name}>\n", marked(text, IN_LINE)));
        }
        self.markup
    }

    /// Returns the columns left for text at the current indent.
    pub const fn width(&self) -> usize {
        self.width.saturating_sub(self.indent)
    }

    /// Writes one line without wrapping.
    pub fn line(&mut self, text: impl Into<Text>) {
        let text = text.into();
        if self.element("p", &text) {
            return;
        }
        let rendered = text.render(self.color);
        let rendered = rendered.trim_end();
        if !rendered.is_empty() {
            self.out.push_str(&" ".repeat(self.indent));
            self.out.push_str(rendered);
        }
        self.out.push('\n');
    }

    /// Writes an empty line, but never two and never the first.
    pub fn gap(&mut self) {
        if !self.markup && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Writes the heading of a part, after a gap.
    pub fn heading(&mut self, text: impl Into<Text>) {
        let text = text.into();
        if self.element("h3", &text) {
            return;
        }
        self.gap();
        for line in Text::styled(Style::Strong, text).wrap(self.width()) {
            self.line(line);
        }
    }

    /// Writes sentences, wrapped at the page's width.
    pub fn paragraph(&mut self, text: impl Into<Text>) {
        let text = text.into();
        if self.element("p", &text) {
            return;
        }
        for line in text.wrap(self.width()) {
            self.line(line);
        }
    }

    /// Writes sentences behind a mark such as `-` or `1.`, with a hanging indent.
    pub fn item(&mut self, mark: impl Into<Text>, text: impl Into<Text>) {
        let mark = mark.into();
        if self.markup {
            self.paragraph(mark.and(" ").and(text));
            return;
        }
        let hang = mark.width() + 1;
        self.hanging(&mark, hang, &text.into());
    }

    /// Writes names and values in two aligned columns, with a hanging indent for long values.
    pub fn rows(&mut self, rows: &Rows) {
        if self.markup {
            self.out.push_str(&rows_markup(rows.iter(), IN_LINE));
            return;
        }
        let names = rows.rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, value) in &rows.rows {
            self.hanging(&Text::styled(Style::Dim, name.clone()), names + 2, value);
        }
    }

    /// Writes a table, shrunk to the page's width if its columns allow it.
    pub fn table(&mut self, table: &Table) {
        if self.markup {
            self.out.push_str(&table_markup(table));
            return;
        }
        for line in table.lines(self.width()) {
            self.line(line);
        }
    }

    /// Writes a bar of marks with its legend.
    pub fn bar(&mut self, bar: &Bar) {
        for line in bar.lines(self.width()) {
            self.line(line);
        }
    }

    /// Writes a part of the page two columns further in.
    pub fn indented(&mut self, part: impl FnOnce(&mut Self)) {
        self.indent += Self::STEP;
        part(self);
        self.indent -= Self::STEP;
    }

    /// Returns the page for the terminal, or as HTML.
    pub fn finish(self) -> String {
        self.out
    }

    fn hanging(&mut self, first: &Text, hang: usize, text: &Text) {
        // A value keeps at least a third of the page, however long its name is.
        let columns = self.width().saturating_sub(hang).max(self.width() / 3);
        let pad = " ".repeat(hang.saturating_sub(first.width()));
        for (place, line) in text.wrap(columns).into_iter().enumerate() {
            let head = if place == 0 {
                first.clone().and(pad.as_str())
            } else {
                Text::from(" ".repeat(hang))
            };
            self.line(head.and(line));
        }
    }
}

/// Names and their values, aligned by [`Page::rows`].
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: Vec<(Text, Text)>,
}

impl Rows {
    /// Creates an empty list of rows.
    pub const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Returns these rows with one more.
    #[must_use]
    pub fn row(mut self, name: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a row for each value; only the first has the name.
    pub fn list(&mut self, name: &str, values: impl IntoIterator<Item = impl Into<Text>>) {
        for (place, value) in values.into_iter().enumerate() {
            self.push(if place == 0 { name } else { "" }, value);
        }
    }

    /// Appends other rows.
    pub fn append(&mut self, more: &Self) {
        self.rows.extend_from_slice(&more.rows);
    }

    /// Returns the rows as names and values; a name is empty if the value belongs to the previous
    /// one.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.rows.iter().map(|(name, value)| (name, value))
    }

    /// Adds a row.
    pub fn push(&mut self, name: impl Into<Text>, value: impl Into<Text>) {
        self.rows.push((name.into(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::{Bytes, Rate};

    use super::*;

    #[test]
    fn a_page_reads_from_the_top_down() {
        let mut page = Page::new(44, false);
        page.heading("10.0.0.1:1024 → 10.0.0.2:9100");
        page.indented(|page| {
            let rate = Rate::from_bytes_per_second(24_801.0);
            page.rows(&Rows::new().row("moved", Bytes::new(22_226_432)).row(
                "goodput",
                Text::from(rate).and(" where the window would allow more than that"),
            ));
            page.gap();
            page.gap();
            page.item("1.", "On the receiver, raise the receive window to 64 kB.");
        });
        page.paragraph("That is all that the capture tells about it here.");
        assert_eq!(
            page.finish(),
            "10.0.0.1:1024 → 10.0.0.2:9100
  moved    22,226,432 B
  goodput  24.8 kB/s where the window would
           allow more than that

  1. On the receiver, raise the receive
     window to 64 kB.
That is all that the capture tells about it
here.
"
        );
    }
}
