//! A verdict in short, as reports of several transfers have it.

use windlass_trace::report::Verdict;

use crate::print::{Page, Style, Text, figures};

/// The limit of a verdict, and why.
pub(super) fn cause(verdict: &Verdict) -> String {
    match verdict.because {
        Some(because) => format!("{} / {}", verdict.limit, because),
        None => verdict.limit.to_string(),
    }
}

/// What it was, for how long, and how sure that is.
pub(super) fn sentence(page: &mut Page, verdict: &Verdict) {
    page.paragraph(
        Text::styled(Style::Bad, cause(verdict))
            .and(", ")
            .and(figures::percent(verdict.share))
            .and(" of the time; confidence ")
            .and(verdict.confidence.id())
            .and(". ")
            .and(verdict.sentence.as_str()),
    );
}

/// What to change first, where there is something.
pub(super) fn remedy(page: &mut Page, verdict: &Verdict) {
    let Some(remedy) = verdict.remedies.first() else { return };
    let mut text = Text::styled(Style::Good, remedy.side.id()).and(": ");
    text = text.and(remedy.action.as_str());
    if let Some(rate) = remedy.expected_bytes_per_second {
        text = text.and("; expect ").strong(rate);
    }
    page.paragraph(text);
}
