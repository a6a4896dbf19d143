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

/// A form as it was sent, or as it is at first.
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
        // What was emptied by hand stays empty. A form beside this one was not sent.
        let value = if self.fields.has(name) { said } else { usual };
        Field { name, label, hint, value, problem: problem.map(|problem| problem.why.as_str()) }
    }
}

/// What is wrong with a form, with links to its fields.
pub(super) fn complaints(html: &mut Html, problems: &[Problem]) {
    if problems.is_empty() {
        return;
    }
    html.raw("<div class=\"problems\" role=\"alert\" tabindex=\"-1\" autofocus>\n");
    html.element("h2", "That cannot be run");
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
