//! The answers as a page for browsers, in one file.

use std::fmt::Write as _;

use super::{Answer, about};
use crate::sql::cells;

const STYLE: &str = "\
:root { color-scheme: light dark; --line: #8884; --dim: #666; }
@media (prefers-color-scheme: dark) { :root { --dim: #aaa; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p { color: var(--dim); }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left;
  white-space: nowrap; }
.number { text-align: right; }";

/// A text as it may stand in HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The page.
pub(super) fn page(archive: &str, answers: &[Answer]) -> anyhow::Result<String> {
    let archive = escaped(archive);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{archive}: limits of transfers</title>\n<style>\n{STYLE}\n</style>\n\
         <h1>Limits of transfers in {archive}</h1>\n"
    );
    for answer in answers {
        section(&mut page, answer)?;
    }
    Ok(page)
}

fn section(page: &mut String, answer: &Answer) -> anyhow::Result<()> {
    let title = escaped(answer.question.title);
    writeln!(page, "<h2 id=\"{}\">{title}</h2>", answer.question.id)?;
    writeln!(page, "<p>{}</p>", escaped(&about(answer.question.query)))?;
    if answer.rows.num_rows() == 0 {
        writeln!(page, "<p>None.</p>")?;
        return Ok(());
    }
    let schema = answer.rows.schema();
    let class = |column: usize| {
        if schema.field(column).data_type().is_numeric() { " class=\"number\"" } else { "" }
    };
    page.push_str("<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr>");
    for (place, field) in schema.fields().iter().enumerate() {
        let name = escaped(&field.name().replace('_', " "));
        write!(page, "<th scope=\"col\"{}>{name}</th>", class(place))?;
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let columns = answer.rows.columns().iter().map(cells).collect::<Result<Vec<_>, _>>()?;
    for row in 0..answer.rows.num_rows() {
        page.push_str("<tr>");
        for (place, column) in columns.iter().enumerate() {
            write!(page, "<td{}>{}</td>", class(place), escaped(&column[row]))?;
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
    if answer.more {
        page.push_str("<p>More rows follow.</p>\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_capture_says_is_no_html() {
        assert_eq!(escaped("<script>&\"a\""), "&lt;script&gt;&amp;&quot;a&quot;");
    }
}
