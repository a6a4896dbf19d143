//! Frame of each page, and the parts of forms.

use crate::html::{Html, STYLE, escaped, run_style};

/// Returns the style sheet of the pages: that of all windlass pages, and that of forms.
pub fn style() -> String {
    [STYLE, &run_style(), include_str!("style.css")].concat()
}

/// Script that keeps the page of a run up to date.
pub const SCRIPT: &str = include_str!("script.js");

/// Icon beside the title.
pub const ICON: &str = include_str!("icon.svg");

/// Pages in the navigation: names and paths.
const PLACES: [(&str, &str); 5] = [
    ("Measure", ""),
    ("Captures", "captures"),
    ("Connections", "connections"),
    ("Runs", "runs"),
    ("Play", "play"),
];

/// Returns the links to the pages, after a link that skips them. `place` is the address of the
/// current part.
fn navigation(base: &str, place: &str) -> String {
    let mut text = String::from(
        "<a class=\"skip\" href=\"#main\">Skip to content</a>\n\
         <header><nav aria-label=\"Pages\"><ul>\n",
    );
    for (name, path) in PLACES {
        let current = if path == place { " aria-current=\"page\"" } else { "" };
        text.push_str(&format!("<li><a href=\"{base}/{path}\"{current}>{name}</a></li>\n"));
    }
    text.push_str("</ul></nav></header>\n");
    text
}

/// Turns a stand-alone page into one of these pages: with the navigation, `actions` above the
/// content, and a `nonce` for its own script alone.
pub fn framed(page: &str, base: &str, place: &str, nonce: &str, actions: &str) -> String {
    // The head of a page precedes any content from a capture.
    let Some((head, rest)) = page.split_once("</head>\n<body>\n<main>\n") else {
        return page.to_owned();
    };
    let head = head.replacen("<script>", &format!("<script nonce=\"{nonce}\">"), 1);
    let (style, navigation) = (include_str!("style.css"), navigation(base, place));
    format!(
        "{head}<style>\n{style}</style>\n</head>\n<body>\n{navigation}<main id=\"main\">\n\
         {actions}{rest}"
    )
}

impl Html {
    /// Begins a page up to its `<h1>`. `place` is the address of its part.
    pub fn page(base: &str, title: &str, place: &str) -> Self {
        Self::page_with(base, title, place, "")
    }

    /// Begins a page, with `head` added to its `<head>`.
    pub fn page_with(base: &str, title: &str, place: &str, head: &str) -> Self {
        let mut html = Self::new(base);
        let title = escaped(title);
        html.raw(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} · windlass</title>\n\
             <link rel=\"stylesheet\" href=\"{base}/style.css\">\n\
             <link rel=\"icon\" href=\"{base}/icon.svg\" type=\"image/svg+xml\">\n\
             <script src=\"{base}/script.js\" defer></script>\n{head}</head>\n<body>\n"
        ));
        html.raw(&navigation(base, place));
        html.raw(&format!("<main id=\"main\">\n<h1>{title}</h1>\n"));
        html
    }

    /// Returns the complete page.
    pub fn finish(mut self) -> String {
        self.raw("</main>\n</body>\n</html>\n");
        self.text
    }
}

/// Field of a form.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Name in the form.
    pub name: &'a str,
    /// Label for people.
    pub label: &'a str,
    /// Hint below the field; may be empty.
    pub hint: &'a str,
    /// Current value.
    pub value: &'a str,
    /// Error of the value.
    pub problem: Option<&'a str>,
}

impl Field<'_> {
    /// Returns the attributes that tie a control to its label, its hint and its problem.
    fn attributes(&self) -> String {
        let Self { name, hint, problem, .. } = self;
        let mut ids = Vec::new();
        if !hint.is_empty() {
            ids.push(format!("{name}-hint"));
        }
        let invalid = match problem {
            Some(_) => {
                ids.push(format!("{name}-problem"));
                " aria-invalid=\"true\""
            }
            None => "",
        };
        let described = match ids.as_slice() {
            [] => String::new(),
            ids => format!(" aria-describedby=\"{}\"", ids.join(" ")),
        };
        format!("id=\"{name}\" name=\"{name}\"{described}{invalid}")
    }

    fn around(&self, html: &mut Html, control: &str) {
        let Self { name, label, hint, problem, .. } = self;
        html.raw("<div class=\"field\">\n");
        html.element(&format!("label for=\"{name}\""), label);
        html.raw(control);
        if !hint.is_empty() {
            html.element(&format!("p class=\"soft\" id=\"{name}-hint\""), hint);
        }
        if let Some(problem) = problem {
            html.element(&format!("p class=\"bad\" id=\"{name}-problem\""), problem);
        }
        html.raw("</div>\n");
    }

    /// Writes a line of text. `more` are further attributes, such as `required`.
    pub fn line(&self, html: &mut Html, more: &str) {
        let (attributes, value) = (self.attributes(), escaped(self.value));
        let control = format!(
            "<input type=\"text\" {attributes} value=\"{value}\" autocomplete=\"off\" \
             spellcheck=\"false\" {more}>\n"
        );
        self.around(html, &control);
    }

    /// Writes a choice: for each value its name in the form and its text for people.
    pub fn choice(&self, html: &mut Html, all: &[(&str, &str)]) {
        let mut control = format!("<select {}>\n", self.attributes());
        for (value, text) in all {
            let selected = if *value == self.value { " selected" } else { "" };
            let (value, text) = (escaped(value), escaped(text));
            control.push_str(&format!("<option value=\"{value}\"{selected}>{text}</option>\n"));
        }
        control.push_str("</select>\n");
        self.around(html, &control);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_tied_to_its_words_and_holds_no_markup() {
        let mut html = Html::new("/t");
        let field = Field {
            name: "host",
            label: "Host",
            hint: "A name",
            value: "\"><script>",
            problem: Some("<no>"),
        };
        field.line(&mut html, "required");
        let text = html.part();
        for expected in [
            "<label for=\"host\">Host</label>",
            "aria-describedby=\"host-hint host-problem\" aria-invalid=\"true\"",
            "value=\"&quot;&gt;&lt;script&gt;\"",
            "id=\"host-problem\">&lt;no&gt;</p>",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn a_page_of_its_own_gets_the_links_and_runs_its_own_script_alone() {
        let whole = crate::html::begin("</head>", "b{}", "own()") + "<script>other()</script>";
        let page = framed(&whole, "/t", "captures", "n0", "<p>save</p>\n");
        assert!(page.contains("<script nonce=\"n0\">\nown()</script>"), "{page}");
        assert!(page.contains("<script>other()</script>"), "{page}");
        assert!(page.contains("<a href=\"/t/captures\" aria-current=\"page\">"), "{page}");
        assert!(page.contains("<main id=\"main\">\n<p>save</p>\n"), "{page}");
        assert_eq!(framed("no page", "/t", "", "n0", ""), "no page");
    }

    #[test]
    fn a_page_has_no_script_or_style_in_itself() {
        let page = Html::page("/t", "<b>", "runs").finish();
        assert!(page.contains("<title>&lt;b&gt; · windlass</title>"), "{page}");
        assert!(page.contains("<a href=\"/t/runs\" aria-current=\"page\">"), "{page}");
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("style=") && !page.contains("<style") && !page.contains("http"));
    }
}
