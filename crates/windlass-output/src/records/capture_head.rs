//! Facts and warnings of a capture, before the report on it.

use windlass_capture::CaptureFacts;
use windlass_trace::Totals;

use crate::records::not_tcp;
use crate::{Page, Style, Text, figures};

/// Format of a capture on an interface.
pub const LIVE: &str = "live capture";

/// Writes the head of a report: the facts of the capture, and its warnings.
pub fn write(page: &mut Page, capture: &CaptureFacts, totals: Totals) {
    page.paragraph(head(capture));
    for warning in warnings(capture, totals) {
        page.paragraph(Text::styled(Style::Warn, warning));
    }
}

/// Returns the facts of the capture.
pub fn head(capture: &CaptureFacts) -> Text {
    let mut head = Text::default().strong(capture.file.as_str()).and(": ");
    head = head.and(capture.format.as_str());
    if !capture.link_types.is_empty() {
        head = head.and(format!(", {}", capture.link_types.join(", ")));
    }
    head = head
        .and(", ")
        .and(figures::counted(capture.packets, "packet"))
        .and(" over ")
        .and(capture.duration_seconds);
    if let Some(snap) = capture.snap_length.filter(|snap| *snap < 1_500) {
        head = head.and(format!(", the first {snap} bytes of each"));
    }
    head
}

/// Returns the warnings on the capture.
pub fn warnings(capture: &CaptureFacts, totals: Totals) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(drops) = capture.drops.filter(|drops| *drops > 0) {
        let packets = figures::counted(drops, "packet");
        let says = if capture.format == LIVE { "the kernel" } else { "its file" };
        warnings.push(format!("The capture lost {}, as {says} says.", packets.plain()));
    }
    if let Some(damage) = &capture.damage {
        warnings.push(format!("Damaged {damage}. Everything before it is used."));
    }
    if capture.interrupted {
        warnings
            .push("Stopped by Ctrl-C: this report covers the packets read until then.".to_owned());
    }
    let unreadable = capture.passed_over.unreadable;
    if unreadable > 0 {
        let unreadable = figures::counted(unreadable, "packet").plain();
        warnings.push(format!("{unreadable} could not be read: cut short or contradictory."));
    }
    let encrypted = not_tcp::encrypted(&capture.not_tcp_kinds);
    if encrypted > 0 {
        let frames = figures::counted(encrypted, "frame");
        warnings.push(format!("{} could not be read: encrypted 802.11.", frames.plain()));
    }
    if totals.given_up > 0 {
        let given_up = figures::counted(totals.given_up, "silent connection").plain();
        let were = if totals.given_up == 1 { "was" } else { "were" };
        warnings.push(format!("{given_up} {were} taken as ended, to save memory."));
    }
    warnings
}
