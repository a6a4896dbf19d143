//! Parts of forms that several pages have.

use windlass_output::html::Html;
use windlass_output::html::site::Field;
use windlass_ui::Fields;

use super::forms::Problem;

/// Ends a form with the button that sends it.
pub(super) fn end_form(html: &mut Html, word: &str) {
    html.raw(&format!(
        "</div>\n<div class=\"buttons\"><button class=\"go\">{word}</button></div>\n</form>\n"
    ));
}

/// A form as sent, or in its initial state.
pub(super) struct Form<'a> {
    pub(super) fields: &'a Fields,
    pub(super) problems: &'a [Problem],
}

impl<'a> Form<'a> {
    pub(super) fn field(
        &self,
        name: &'a str,
        label: &'a str,
        hint: &'a str,
        usual: &'a str,
    ) -> Field<'a> {
        let problem = self.problems.iter().find(|problem| problem.field == name);
        let said = self.fields.text(name);
        // A field that was emptied by hand stays empty. Fields of another form were not sent.
        let value = if self.fields.has(name) { said } else { usual };
        Field { name, label, hint, value, problem: problem.map(|problem| problem.why.as_str()) }
    }
}

/// Writes the problems of a form, with links to its fields.
pub(super) fn complaints(html: &mut Html, problems: &[Problem]) {
    if problems.is_empty() {
        return;
    }
    html.raw("<div class=\"problems\" role=\"alert\" tabindex=\"-1\" autofocus>\n");
    html.element("h2", "This cannot run");
    html.raw("<ul>\n");
    for Problem { field, why } in problems {
        html.raw("<li>");
        if field.is_empty() {
            html.element("span", why);
        } else {
            html.element(&format!("a href=\"#{field}\""), why);
        }
        html.raw("</li>\n");
    }
    html.raw("</ul>\n</div>\n");
}

/// Returns the error of a program and its advice: `error: …` and `tip: …` of standard error.
pub(super) fn complaint(said: &str) -> (Option<String>, Option<String>) {
    let mut parts = said.split("\n\n");
    let first = parts.next().unwrap_or_default().trim();
    let wrong = first.strip_prefix("error:").unwrap_or(first).trim();
    let tip = parts.find_map(|part| part.trim().strip_prefix("tip:"));
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    (Some(wrong).filter(|wrong| !wrong.is_empty()).map(one_line), tip.map(str::trim).map(one_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_told_in_the_programs_words() {
        let said =
            "error: cannot send to nowhere.invalid: cannot\nfind it\n\n  tip: Check the name.\n";
        assert_eq!(
            complaint(said),
            (
                Some("cannot send to nowhere.invalid: cannot find it".to_owned()),
                Some("Check the name.".to_owned())
            )
        );
        let warned = "windlass: warning: cannot keep this run. Use --no-save to keep no run.\n";
        assert_eq!(complaint(warned).0.as_deref(), Some(warned.trim()));
        assert_eq!(complaint(""), (None, None));
    }
}
