//! HTML of the page, and text of others within it.

/// A piece of HTML.
#[derive(Debug, Default)]
pub(super) struct Html {
    pub(super) text: String,
}

impl Html {
    /// Appends HTML unchanged.
    pub(super) fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    /// Appends escaped text, also for attributes. Control characters are replaced: some could
    /// change the text direction of a line.
    pub(super) fn say(&mut self, text: &str) {
        for one in text.chars() {
            match one {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    self.text.push('\u{fffd}');
                }
                one if one.is_control() => self.text.push('\u{fffd}'),
                one => self.text.push(one),
            }
        }
    }

    /// Appends a table cell, with the name of its column for narrow windows.
    pub(super) fn cell(&mut self, column: &str, text: &str) {
        self.raw("<td data-of=\"");
        self.say(column);
        self.raw("\">");
        self.say(text);
        self.raw("</td>");
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn nothing_that_is_said_is_html() {
        let mut html = Html::default();
        html.cell("a\"b", "<script>'x'&\u{202e}\n");
        assert_eq!(
            html.text,
            "<td data-of=\"a&quot;b\">&lt;script&gt;&#39;x&#39;&amp;\u{fffd}\u{fffd}</td>"
        );
    }
}
