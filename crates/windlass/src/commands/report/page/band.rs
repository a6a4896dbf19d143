//! The timeline of limits: a band, with a letter and a colour for each.

use windlass_base::{Limit, Span};
use windlass_output::html::escaped;
use windlass_output::{figures, mark};
use windlass_trace::report::ConnectionReport;

use super::chart::percent;
use super::path::{GRID, Ground};

/// Minimum share of the band for a letter.
const LEAST_LETTER: f64 = 0.03;

/// Draws the band over the time of a connection, whose transfer begins `lead` after its first
/// packet.
pub(super) fn band(report: &ConnectionReport, ground: &Ground, lead: Span) -> String {
    let mut paths = [const { String::new() }; Limit::ALL.len()];
    let mut letters = String::new();
    for part in &report.timeline {
        let (from, to) = (ground.at(lead + part.start), ground.at(lead + part.end));
        let limit = part.cause.limit();
        let Some(place) = Limit::ALL.iter().position(|one| *one == limit) else { continue };
        paths[place].push_str(&format!("M{from} 0h{}v1h{}z", to - from, from - to));
        let (middle, breadth) = ((from + to) as f64 / 2.0, (to - from) as f64 / GRID as f64);
        let hidden = if breadth < LEAST_LETTER { " hidden" } else { "" };
        letters.push_str(&format!(
            "<span{hidden} data-from=\"{from}\" data-to=\"{to}\" style=\"left:{}\">{}</span>",
            percent(middle / GRID as f64),
            mark(limit).letter
        ));
    }
    let mut svg = format!(
        "<div class=\"band\"><svg viewBox=\"0 0 {GRID} 1\" preserveAspectRatio=\"none\" \
         aria-hidden=\"true\">"
    );
    for (limit, path) in Limit::ALL.iter().zip(paths).filter(|(_, path)| !path.is_empty()) {
        svg.push_str(&format!("<path class=\"limit {}\" d=\"{path}\"/>", limit.id()));
    }
    format!("{svg}</svg><div class=\"letters\" aria-hidden=\"true\">{letters}</div></div>\n")
}

/// Returns the share of each limit, the largest first.
pub(super) fn shares(report: &ConnectionReport) -> Vec<(Limit, f64)> {
    let mut shares: Vec<(Limit, f64)> = Limit::ALL
        .iter()
        .filter_map(|limit| Some((*limit, *report.shares.get(limit.id())?)))
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    shares
}

/// Returns the key of the letters, with the share of each limit.
pub(super) fn key(report: &ConnectionReport) -> String {
    let mut key = String::from("<ul class=\"key limits\">");
    for (limit, share) in shares(report) {
        let mark = mark(limit);
        key.push_str(&format!(
            "<li><span class=\"limit {}\">{}</span>{} {}</li>",
            limit.id(),
            mark.letter,
            escaped(&mark.name),
            escaped(&figures::percent(share).plain())
        ));
    }
    key.push_str("</ul>\n");
    key
}
