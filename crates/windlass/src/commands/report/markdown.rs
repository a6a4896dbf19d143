//! A report as Markdown, for tickets: the verdict, a small table, no pictures.

use windlass_output::records::capture_head;
use windlass_output::records::explain;
use windlass_output::{Rows, Text, figures, verdict};
use windlass_trace::report::ConnectionReport;

use super::CaptureContents;

/// Begins a report with its title.
pub(super) fn begin(title: &str) -> String {
    format!("# {}\n", escaped(title))
}

/// Writes the part of a capture.
pub(super) fn capture(out: &mut String, reported: &CaptureContents) {
    let CaptureContents { capture, totals, reports, .. } = reported;
    line(out, &plain(&capture_head::head(capture)));
    for warning in capture_head::warnings(capture, *totals) {
        line(out, &format!("**{}**", escaped(&warning)));
    }
    for report in reports {
        connection(out, report);
    }
    if reported.left_out() > 0 {
        let more = figures::counted(reported.left_out(), "more connection").plain();
        line(out, &format!("{more} carried data; `windlass explain --all` explains each."));
    }
}

/// Writes a paragraph.
fn line(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(text);
    out.push('\n');
}

fn connection(out: &mut String, report: &ConnectionReport) {
    let ConnectionReport { number, sender, receiver, verdict, .. } = report;
    line(out, &format!("## {number}: {} → {}", escaped(sender), escaped(receiver)));
    line(out, &format!("**{}**", plain(&verdict::headline(verdict))));
    line(out, &plain(&Text::from(&verdict.sentence)));
    if let Some(others) = verdict::alternative(verdict) {
        line(out, &plain(&others));
    }
    let mut rows = Rows::new().row("moved", explain::moved(report));
    rows.append(&verdict::rows(verdict));
    rows.append(&explain::facts(report));
    out.push_str("\n| | |\n|---|---|\n");
    for (name, value) in rows.iter() {
        out.push_str(&format!("| {} | {} |\n", plain(name), plain(value)));
    }
    let caveats = verdict::caveats(verdict);
    if !caveats.is_empty() {
        line(out, "Limits of this capture:\n");
        for caveat in caveats {
            out.push_str(&format!("- {}\n", plain(&Text::from(&caveat.text))));
        }
    }
}

fn plain(text: &Text) -> String {
    escaped(&text.plain())
}

/// Escapes the markup in a text, of Markdown and of HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_becomes_markup() {
        assert_eq!(escaped("<b>a|b\n*c* &amp; [x](y)"), "\\<b\\>a\\|b \\*c\\* \\&amp; \\[x\\](y)");
    }
}
