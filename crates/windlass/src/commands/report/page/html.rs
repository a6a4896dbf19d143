//! What the program's text is as HTML.

use crate::page::escaped;
use crate::print::{Rows, Style, Text};

/// Styled text.
pub(super) fn text(text: &Text) -> String {
    let piece = |(style, piece): (Style, &str)| {
        let piece = escaped(piece);
        match style {
            Style::Plain | Style::Hue(_) => piece,
            Style::Strong => format!("<strong>{piece}</strong>"),
            Style::Dim => format!("<span class=\"soft\">{piece}</span>"),
            Style::Good => format!("<strong class=\"good\">{piece}</strong>"),
            Style::Warn => format!("<strong class=\"warn\">{piece}</strong>"),
            Style::Bad => format!("<strong class=\"bad\">{piece}</strong>"),
        }
    };
    text.pieces().map(piece).collect()
}

/// Names and values. A value without a name goes with the name before.
pub(super) fn rows(rows: &Rows) -> String {
    let mut out = String::from("<dl class=\"rows\">\n");
    for (name, value) in rows.iter() {
        if !name.is_empty() {
            out.push_str(&format!("<dt>{}</dt>", text(name)));
        }
        out.push_str(&format!("<dd>{}</dd>\n", text(value)));
    }
    out.push_str("</dl>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_become_marks_and_names_do_not() {
        let said = Text::from("<i>").strong("fast").and(" & ").with(Style::Bad, "slow");
        assert_eq!(
            text(&said),
            "&lt;i&gt;<strong>fast</strong> &amp; <strong class=\"bad\">slow</strong>"
        );
    }
}
