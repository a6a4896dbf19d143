//! A report as one page: no network, no framework, light and dark.

mod band;
mod caption;
mod chart;
mod charts;
mod ladder;
mod path;
mod picture;

use windlass_output::html::{self, escaped};
use windlass_output::records::capture_head;
use windlass_output::records::explain;
use windlass_output::{Rows, Text, figures, verdict};
use windlass_trace::report::{ConnectionReport, Interval};
use windlass_trace::time_sequence::Series;

use self::charts::Charts;
use self::path::Ground;
pub(super) use self::picture::Picture;
use super::CaptureContents;
use super::contents::{connection_section, section};
use super::gather::ChartData;

/// Style sheet of a report.
const STYLE: &str = concat!(include_str!("colours.css"), include_str!("style.css"));
/// Script for zooming. The page is complete without it.
const SCRIPT: &str = include_str!("zoom.js");

/// Element around good and bad states: they are the subject of a report.
const OF_STATE: &str = "strong";

fn marked(text: &Text) -> String {
    html::marked(text, OF_STATE)
}

fn rows(rows: &Rows) -> String {
    html::rows_markup(rows.iter(), OF_STATE)
}

/// Begins a page.
pub(super) fn begin(title: &str) -> String {
    let style = [STYLE, &html::run_style()].concat();
    let mut out = html::begin(title, &style, SCRIPT);
    out.push_str(&format!("<h1>{}</h1>\n", escaped(title)));
    out
}

/// Ends the page; `has_packets` if it reports on a capture.
pub(super) fn end(out: &mut String, has_packets: bool) {
    let packets = if has_packets {
        " Packet numbers are Wireshark's; times in charts count from the first packet of their \
         connection."
    } else {
        ""
    };
    out.push_str(&format!(
        "<footer><p>Made by windlass {}.{packets}</p></footer>\n</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    ));
}

/// Writes a capture; `place` distinguishes its parts from those of other captures.
pub(super) fn capture(out: &mut String, reported: &CaptureContents, place: usize) {
    let CaptureContents { capture, totals, reports, gathered } = reported;
    out.push_str(&format!(
        "<section class=\"capture\" id=\"{}\">\n<p class=\"soft\">{}</p>\n",
        section(place),
        marked(&capture_head::head(capture))
    ));
    for warning in capture_head::warnings(capture, *totals) {
        out.push_str(&format!("<p class=\"warn\">{}</p>\n", escaped(&warning)));
    }
    for (report, gathered) in reports.iter().zip(gathered) {
        connection(out, report, gathered, place);
    }
    if reported.left_out() > 0 {
        out.push_str(&format!(
            "<p class=\"soft\">{} carried data; windlass explain --all explains each.</p>\n",
            figures::counted(reported.left_out(), "more connection").plain()
        ));
    }
    out.push_str("</section>\n");
}

fn connection(out: &mut String, report: &ConnectionReport, gathered: &ChartData, capture: usize) {
    let ConnectionReport { number, sender, receiver, verdict, .. } = report;
    let id = connection_section(capture, *number);
    let lived = gathered.series.as_ref().and_then(Series::lived);
    let span = lived.map_or(0.0, |(_, span)| span.as_seconds());
    let packets = gathered.series.as_ref().map_or_else(String::new, packets);
    let stream = format!("   (Wireshark: tcp.stream eq {})", number.saturating_sub(1));
    out.push_str(&format!(
        "<section class=\"connection\" id=\"{id}\" data-span=\"{span}\" \
         data-packets=\"{packets}\">\n\
         <h2>{number}&nbsp; {} → {}</h2>\n<p>{}</p>\n\
         <div class=\"verdict\"><p class=\"headline\">{}</p>\n<p>{}</p>{}</div>\n{}",
        escaped(sender),
        escaped(receiver),
        marked(&explain::moved(report).dim(stream)),
        marked(&verdict::headline(verdict)),
        marked(&Text::from(&verdict.sentence)),
        verdict::alternative(verdict)
            .map_or_else(String::new, |others| { format!("\n<p>{}</p>", marked(&others)) }),
        rows(&verdict::rows(verdict))
    ));
    caveats(out, report);
    out.push_str(&band::key(report));
    if let Some(series) = &gathered.series {
        out.push_str(CONTROLS);
        let charts = Charts { id: &id, report, series, lead: gathered.lead() };
        for chart in charts.all() {
            out.push_str(&chart.html());
        }
    }
    if let Some((began, _)) = lived {
        out.push_str(&ladder::html(&gathered.ladder.rungs, began));
    }
    out.push_str("<h3>The connection</h3>\n");
    out.push_str(&rows(&explain::facts(report)));
    causes(out, report);
    timeline(out, &report.timeline);
    out.push_str("</section>\n");
}

/// Returns the numbers of the packets, for the script.
fn packets(series: &Series) -> String {
    let (began, span) = series.lived().unwrap_or_default();
    let ground = Ground { began, span, top: 1.0, low: 0.0 };
    path::numbers(&ground, series.packets.stretches())
}

/// Buttons that zoom; the script shows them.
const CONTROLS: &str = "\
<div class=\"controls\" role=\"toolbar\" aria-label=\"Zoom\" hidden>
<button type=\"button\" data-zoom=\"in\" aria-label=\"Zoom in\">+</button>
<button type=\"button\" data-zoom=\"out\" aria-label=\"Zoom out\">−</button>
<button type=\"button\" data-zoom=\"left\" aria-label=\"Earlier\">←</button>
<button type=\"button\" data-zoom=\"right\" aria-label=\"Later\">→</button>
<button type=\"button\" data-zoom=\"all\">All</button>
<span class=\"soft\">Drag over a range to zoom in, or turn the wheel with Ctrl. \
Point at a chart to read its values and the packet.</span>
</div>
";

fn caveats(out: &mut String, report: &ConnectionReport) {
    let caveats = verdict::caveats(&report.verdict);
    if caveats.is_empty() {
        return;
    }
    out.push_str("<h3>Limits of this capture</h3>\n<ul>\n");
    for caveat in caveats {
        out.push_str(&format!("<li>{}</li>\n", marked(&Text::from(&caveat.text))));
    }
    out.push_str("</ul>\n");
}

/// Writes the share of each limit and reason.
fn causes(out: &mut String, report: &ConnectionReport) {
    let mut causes: Vec<(&String, f64)> =
        report.causes.iter().map(|(cause, share)| (cause, *share)).collect();
    causes.sort_by(|one, other| other.1.total_cmp(&one.1));
    out.push_str(
        "<h3>Where the time went</h3>\n<table class=\"small\">\n<thead><tr>\
         <th scope=\"col\" class=\"word\">Limit</th><th scope=\"col\">Share</th></tr></thead>\n\
         <tbody>\n",
    );
    for (cause, share) in causes {
        out.push_str(&format!(
            "<tr><td class=\"word\" data-name=\"Limit\">{}</td>\
             <td data-name=\"Share\">{}</td></tr>\n",
            escaped(&cause.replace('/', " / ")),
            figures::percent(share).plain()
        ));
    }
    out.push_str("</tbody>\n</table>\n");
}

/// Writes the intervals of the band.
fn timeline(out: &mut String, timeline: &[Interval]) {
    let intervals = figures::counted(timeline.len() as u64, "interval").plain();
    out.push_str(&format!(
        "<details><summary>The timeline, {intervals}</summary>\n<table>\n<thead><tr>\
         <th scope=\"col\" class=\"word\">Limit</th><th scope=\"col\">From</th>\
         <th scope=\"col\">To</th><th scope=\"col\">Charged</th>\
         <th scope=\"col\">Packets</th></tr></thead>\n<tbody>\n"
    ));
    for part in timeline {
        out.push_str(&format!(
            "<tr><td class=\"word\" data-name=\"Limit\">{}</td><td data-name=\"From\">{}</td>\
             <td data-name=\"To\">{}</td><td data-name=\"Charged\">{}</td>\
             <td data-name=\"Packets\">{} to {}</td></tr>\n",
            verdict::cause(part.cause),
            part.start,
            part.end,
            part.charged,
            figures::count(part.first_packet),
            figures::count(part.last_packet)
        ));
    }
    out.push_str("</tbody>\n</table>\n</details>\n");
}
