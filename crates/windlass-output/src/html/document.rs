//! Writer of HTML.

use super::{Figure, Key, escaped};

/// Page, or part of a page. Text is escaped, except where it is added raw.
#[derive(Debug)]
pub struct Html {
    /// Prefix of each address.
    pub base: String,
    /// HTML so far.
    pub text: String,
}

impl Html {
    /// Creates an empty document.
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), text: String::new() }
    }

    /// Adds HTML unchanged.
    pub fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    /// Adds an element with escaped text. `open` is the name of the element, with its attributes if
    /// any.
    pub fn element(&mut self, open: &str, text: &str) {
        let name = open.split(' ').next().unwrap_or_default();
        self.raw(&format!("<{open}>{}</{name}>\n", escaped(text)));
    }

    /// Adds names and values as cards side by side. Unknown values are left out.
    pub fn cards<'a>(
        &mut self,
        cards: impl IntoIterator<Item = (&'a str, String, Option<String>)>,
    ) {
        self.raw("<dl class=\"figures\">\n");
        for (class, name, value) in cards {
            if let Some(value) = value {
                let (name, value) = (escaped(&name), escaped(&value));
                self.raw(&format!(
                    "<div class=\"{class}\"><dt>{name}</dt><dd>{value}</dd></div>\n"
                ));
            }
        }
        self.raw("</dl>\n");
    }

    /// Returns the HTML of a part of a page.
    pub fn part(self) -> String {
        self.text
    }
}

impl Figure {
    /// Writes the figure as a part of a page.
    pub fn write(&self, html: &mut Html) {
        html.raw("<figure>\n");
        html.raw(&self.plot.svg());
        html.raw(&format!("<figcaption>{}", escaped(&self.caption)));
        if !self.keys.is_empty() {
            html.raw("\n<ul class=\"legend\">\n");
            for Key { class, means } in &self.keys {
                html.raw(&format!(
                    "<li><svg viewBox=\"0 0 22 16\" aria-hidden=\"true\"><rect class=\"band {class}\" \
                     width=\"22\" height=\"16\"/></svg>{}</li>\n",
                    escaped(means)
                ));
            }
            html.raw("</ul>");
        }
        html.raw("</figcaption>\n</figure>\n");
    }
}
