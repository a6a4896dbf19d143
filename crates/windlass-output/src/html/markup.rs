//! Markup of HTML pages.

use super::escaped;
use crate::{Style, Table, Text};

/// Element for good and bad text that needs only a colour.
pub(crate) const IN_LINE: &str = "span";

/// Returns text with its styles as elements; `of_state` is the element for good and bad text.
pub fn marked(text: &Text, of_state: &str) -> String {
    let piece = |(style, piece): (Style, &str)| {
        let piece = escaped(piece);
        let (element, class) = match style {
            Style::Plain | Style::Hue(_) => return piece,
            Style::Strong => return format!("<strong>{piece}</strong>"),
            Style::Dim => ("span", "soft"),
            Style::Good => (of_state, "good"),
            Style::Warn => (of_state, "warn"),
            Style::Bad => (of_state, "bad"),
        };
        format!("<{element} class=\"{class}\">{piece}</{element}>")
    };
    text.pieces().map(piece).collect()
}

/// Returns names and values as rows. A value without a name belongs to the name before it.
pub fn rows_markup<'a>(rows: impl Iterator<Item = (&'a Text, &'a Text)>, of_state: &str) -> String {
    let mut html = String::from("<dl class=\"rows\">\n");
    for (name, value) in rows {
        if !name.is_empty() {
            html.push_str(&format!("<dt>{}</dt>", marked(name, of_state)));
        }
        html.push_str(&format!("<dd>{}</dd>\n", marked(value, of_state)));
    }
    html.push_str("</dl>\n");
    html
}

/// Returns a table. Each cell names its column, for pages that are too narrow for columns.
pub(crate) fn table_markup(table: &Table) -> String {
    let columns: Vec<(String, &str)> = table
        .columns()
        .map(|(name, is_number)| {
            (escaped(&name.plain()), if is_number { "" } else { " class=\"word\"" })
        })
        .collect();
    let mut html = "<table>\n<thead><tr>".to_owned();
    for (name, class) in &columns {
        let cell = if name.is_empty() { "td" } else { "th scope=\"col\"" };
        let end = if name.is_empty() { "td" } else { "th" };
        html.push_str(&format!("<{cell}{class}>{name}</{end}>"));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows() {
        html.push_str("<tr>");
        for (place, (name, class)) in columns.iter().enumerate() {
            let cell = row.get(place).map(|cell| marked(cell, IN_LINE)).unwrap_or_default();
            html.push_str(&format!("<td{class} data-name=\"{name}\">{cell}</td>"));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n");
    html
}

#[cfg(test)]
mod tests {
    use crate::{Column, Page, Rows, Style, Table, Text};

    #[test]
    fn styles_become_marks_and_names_do_not() {
        let said = Text::from("<i>").strong("fast").and(" & ").with(Style::Bad, "slow");
        assert_eq!(
            super::marked(&said, "strong"),
            "&lt;i&gt;<strong>fast</strong> &amp; <strong class=\"bad\">slow</strong>"
        );
    }

    #[test]
    fn a_page_is_html_in_which_nothing_that_is_said_is_markup() {
        let mut page = Page::html();
        page.heading("<What> differs");
        page.gap();
        page.indented(|page| page.line(Text::styled(Style::Bad, "no & never")));
        page.item("-", "a \"word\"");
        page.rows(&Rows::new().row("name", "value"));
        let mut table = Table::new([Column::left(""), Column::right("<b>")]);
        table.push(["x".into(), Text::default().strong("1")]);
        page.table(&table);
        assert_eq!(
            page.finish(),
            "<h3>&lt;What&gt; differs</h3>\n\
             <p><span class=\"bad\">no &amp; never</span></p>\n\
             <p>- a &quot;word&quot;</p>\n\
             <dl class=\"rows\">\n<dt>name</dt><dd>value</dd>\n</dl>\n\
             <table>\n<thead><tr><td class=\"word\"></td><th scope=\"col\">&lt;b&gt;</th></tr></thead>\n\
             <tbody>\n<tr><td class=\"word\" data-name=\"\">x</td>\
             <td data-name=\"&lt;b&gt;\"><strong>1</strong></td></tr>\n</tbody>\n</table>\n"
        );
    }
}
