//! Report of a connection as text: the answer, or all of its evidence.

pub mod comparison;
pub mod overview;
mod parallel;
mod what_if;
mod why;

use windlass_base::{Limit, Span};
use windlass_lab::what_if::WhatIf;
use windlass_trace::Reasons;
use windlass_trace::report::{
    Confidence, ConnectionReport, Ending, EndingKind, Offer, Side, Verdict,
};

use crate::{Bar, Column, Page, Rows, Style, Table, Text, figures, mark, verdict as verdicts};

/// Number of changes in a short answer.
const CHANGES: usize = 2;

/// Prints one line for a connection, which begins with its file if one is given.
pub fn in_brief(page: &mut Page, file: Option<&str>, report: &ConnectionReport) {
    let file = file.map_or_else(Text::default, |file| Text::default().dim(format!("{file}: ")));
    let text = file.and(ends(report)).and(": ").and(report.bytes).and(", ");
    let text = text.strong(report.bytes_per_second).and(", ");
    page.line(text.and(verdicts::headline(&report.verdict)));
}

/// Prints a table of connections.
pub fn table<'a>(page: &mut Page, reports: impl Iterator<Item = &'a ConnectionReport>) {
    page.table(&Table::of(
        reports,
        &[
            (Column::right("no."), |it| it.number.into()),
            (Column::left("connection").flexible(), |it| {
                format!("{} → {}", it.sender, it.receiver).into()
            }),
            (Column::right("bytes"), |it| it.bytes.get().into()),
            (Column::right("rate"), |it| it.bytes_per_second.into()),
            (Column::left("limit").flexible(), |it| verdicts::cause(it.verdict.cause).into()),
            (Column::right("share"), |it| figures::percent(it.verdict.share)),
            (Column::left("sure"), |it| verdicts::confidence(it.verdict.confidence)),
        ],
    ));
}

/// Returns the number of a connection, and its ends.
fn ends(report: &ConnectionReport) -> Text {
    Text::from(format!("{}  {} → {}", report.number, report.sender, report.receiver))
}

/// Amount of detail about a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// The answer with its first change, for the first of several connections.
    First,
    /// Answer: the rate, the verdict, and what to change.
    Answer,
    /// All details.
    Whole,
}

/// Prints one connection.
pub fn connection(
    page: &mut Page,
    extent: Extent,
    report: &ConnectionReport,
    what_if: Option<&WhatIf>,
    why: Option<&Reasons>,
) {
    page.heading(ends(report));
    page.indented(|page| {
        let (moved, bar) = (moved(report), bar(report));
        match extent {
            Extent::First | Extent::Answer => {
                page.line(moved);
                page.gap();
                verdicts::answer(page, &report.verdict, |page| page.bar(&bar));
                page.rows(&match extent {
                    Extent::First => verdicts::changes(&report.verdict, 1),
                    _ => changes(&report.verdict),
                });
            }
            Extent::Whole => {
                let stream = format!("   (Wireshark: tcp.stream eq {})", report.number - 1);
                page.line(moved.dim(stream));
                page.gap();
                verdicts::whole(page, &report.verdict, |page| page.bar(&bar));
            }
        }
        page.gap();
        if let Some(what_if) = what_if {
            page.rows(&what_if::rows(what_if));
            page.gap();
        }
        if extent == Extent::Whole {
            page.rows(&facts(report));
            caveats(page, &report.verdict);
        }
        if let Some(why) = why {
            page.gap();
            why::why(page, why);
        }
    });
}

/// Returns the first changes, and the reason of an uncertain verdict.
fn changes(verdict: &Verdict) -> Rows {
    let mut rows = verdicts::changes(verdict, CHANGES);
    let caveats = verdicts::caveats(verdict);
    if let Some(first) = caveats.first().filter(|_| verdict.confidence < Confidence::High) {
        rows.push("but", &first.text);
    }
    rows
}

/// Returns bytes, time and rate of a transfer.
pub fn moved(report: &ConnectionReport) -> Text {
    let moved = Text::from(report.bytes).and(" in ").and(report.seconds);
    moved.and(": ").strong(figures::both(report.bytes_per_second))
}

/// Returns the timeline of the limits, and their shares.
fn bar(report: &ConnectionReport) -> Bar {
    let parts = report.timeline.iter().map(|part| {
        let length = (part.end - part.start).as_seconds();
        (mark(part.cause.limit()), length)
    });
    let shares = Limit::ALL.iter().filter_map(|limit| {
        let share = report.shares.get(limit.id())?;
        Some((mark(*limit), *share))
    });
    Bar::new(parts).with_shares(shares)
}

/// Returns the facts of a connection, besides its verdict.
pub fn facts(report: &ConnectionReport) -> Rows {
    let mut rows = Rows::new();
    rows.push("handshake", handshake(report));
    if let Some(set_up) = set_up(report) {
        rows.push("set-up", set_up);
    }
    rows.push("time", time(report));
    rows.push("window", window(report));
    rows.push("ACK latency", latency(report));
    rows.push("path RTT", rtt(report));
    rows.push("loss", loss(report));
    rows.push("ended", ending(report));
    rows
}

fn handshake(report: &ConnectionReport) -> Text {
    let Some(opening) = &report.handshake else {
        return "not captured".into();
    };
    let side = |name: &str, offer: Option<&Offer>| match offer {
        Some(offer) => Text::from(format!("{name} offers ")).and(offer_text(offer)),
        None => Text::from(format!("{name}'s SYN not captured")),
    };
    side("sender", opening.sender.as_ref())
        .and("; ")
        .and(side("receiver", opening.receiver.as_ref()))
}

/// Returns the time and the attempts of the set-up.
fn set_up(report: &ConnectionReport) -> Option<Text> {
    let opening = report.handshake.as_ref().filter(|opening| opening.syns > 0)?;
    let mut text = match opening.seconds {
        Some(took) => Text::from(took).and(" from the first SYN to the third segment"),
        None => Text::from("not captured whole"),
    };
    text = text.and(", SYN sent ").and(times(opening.syns.into()));
    if opening.syn_acks > 0 {
        text = text.and(", SYN-ACK ").and(times(opening.syn_acks.into()));
    }
    let waited = match (opening.seconds, opening.rtt_seconds) {
        (Some(took), Some(rtt)) if opening.syns > 1 => (took - rtt).or_zero(),
        _ => Span::ZERO,
    };
    if waited > Span::ZERO {
        text = text.and("; ").strong(waited).and(" of it waiting for an answer that did not come");
    }
    Some(text)
}

fn times(count: u64) -> Text {
    if count == 1 { "once".into() } else { figures::counted(count, "time") }
}

/// Returns the programs' time, the network's time, and the unexplained rest.
fn time(report: &ConnectionReport) -> Text {
    let mut text = if report.think_seconds == Span::ZERO {
        Text::from("no think time, ")
    } else {
        Text::from(report.think_seconds).and(" of think time (nothing in flight or owed), ")
    };
    text = text.and(report.transfer_seconds).and(" of transfer");
    if report.untold_seconds > Span::ZERO {
        text = text.and(", ").and(report.untold_seconds).and(" that the capture does not tell");
    }
    text
}

fn ending(report: &ConnectionReport) -> Text {
    let Ending { how, by, packet, both_closed, silent_seconds, .. } = report.ending;
    let name = |side: Side| match side {
        Side::Sender => "the sender",
        Side::Receiver => "the receiver",
        Side::Path => "the path",
    };
    let by = by.map_or("a side", name);
    let packet = packet.map_or_else(String::new, |packet| format!(" in packet {packet}"));
    match how {
        EndingKind::Fin if both_closed == Some(true) => {
            Text::from(format!("closed by both sides (FIN), first by {by}{packet}"))
        }
        EndingKind::Fin if both_closed.is_none() => {
            Text::from(format!("closed by {by} (FIN{packet}); the other side was not captured"))
        }
        EndingKind::Fin => Text::from(format!(
            "half closed: {by} sent its FIN{packet}, the other side none before the capture's end"
        )),
        EndingKind::Reset => Text::from(format!("reset (RST) by {by}{packet}")),
        EndingKind::Replaced => {
            "neither closed nor reset: another connection took its ports".into()
        }
        EndingKind::Open => "still open at the capture's end".into(),
        EndingKind::Silence => {
            match (report.ending.unanswered_bytes, report.ending.unanswered_seconds) {
                (Some(bytes), Some(waited)) => Text::from(format!("in silence: {by} left "))
                    .and(bytes)
                    .and(" unanswered for ")
                    .and(waited),
                _ => Text::from("in silence: nothing more came for ")
                    .and(silent_seconds.unwrap_or_default())
                    .and(" until the capture's end"),
            }
        }
    }
}

fn offer_text(offer: &Offer) -> Text {
    // An option beyond the snap length may still have been sent.
    let without = |name: &str| match offer.options_cut {
        true => format!("{name} not captured"),
        false => format!("no {name}"),
    };
    let mut text = match offer.mss {
        Some(mss) => Text::whole(&format!("MSS {mss}")),
        None => Text::whole(&without("MSS")),
    };
    text = text.and(", ").and(match offer.window_scale {
        Some(shift) => Text::whole(&format!("scale {shift}")),
        None => Text::whole(&without("scale")),
    });
    for (name, has) in [("SACK", offer.sack_permitted), ("timestamps", offer.timestamps)] {
        text = text.and(", ").and(if has { name.to_owned() } else { without(name) });
    }
    if offer.ecn {
        text = text.and(", ECN");
    }
    if offer.multipath {
        text = text.and(", Multipath TCP");
    }
    text = text.and(", first window ").and(offer.first_window_bytes);
    if offer.sent > 1 {
        text = text.and(format!(", sent {} times", offer.sent));
    }
    if offer.options_cut {
        text = text.and(", options cut by the snap length");
    }
    text
}

fn window(report: &ConnectionReport) -> Text {
    let window = &report.receive_window;
    let Some(bytes) = window.bytes else {
        return match window.closures {
            0 => "not captured: no ACK of the receiver".into(),
            _ => Text::from("never open; closed for ").and(window.closed_seconds),
        };
    };
    let mut text = Text::from(bytes);
    if let Some(frames) = window.full_frames {
        text = text.and(" = ").and(match frames {
            // As in the table of the documentation.
            0 => "<1 full frame".into(),
            frames => figures::counted(frames, "full frame"),
        });
        text = text.and(" of ").and(window.segment_bytes);
    }
    if let (Some(least), Some(most)) = (window.min_bytes, window.max_bytes)
        && least != most
    {
        text = text.and("; from ").and(least).and(" to ").and(most);
    }
    if !window.scale_known {
        text = text.and(match window.scale {
            0 => "; scale unknown".to_owned(),
            shift => format!("; scale unknown, at least {shift}"),
        });
    }
    if window.closures > 0 {
        text = text.and("; closed ").and(figures::counted(window.closures, "time"));
        text = text.and(" for ").and(window.closed_seconds);
    }
    if window.probes > 0 {
        text = text.and(", ").and(figures::counted(window.probes, "probe"));
    }
    text.and("; at most ").and(window.max_flight_bytes).and(" in flight")
}

fn latency(report: &ConnectionReport) -> Text {
    let Some(latency) = &report.ack_latency_seconds else {
        return "no samples".into();
    };
    let mut text = Text::from("p50 ").and(latency.p50);
    text = text.and(", p90 ").and(latency.p90).and(", max ").and(latency.max);
    if let Some(own) = latency.receiver_own {
        text = text.and("; the receiver's own part ").and(own);
    }
    text
}

fn rtt(report: &ConnectionReport) -> Text {
    let Some(rtt) = &report.rtt_seconds else {
        return "not known: no handshake was captured, and what was may be one end's own time"
            .into();
    };
    let mut text = Text::from(rtt.min);
    text = match rtt.handshake {
        Some(handshake) if handshake != rtt.min => text.and("; handshake ").and(handshake),
        Some(_) => text.and(", from the handshake"),
        None => text.and(", the shortest sample"),
    };
    if rtt.capture_to_sender > Span::ZERO {
        text = text.and("; of it ").and(rtt.capture_to_sender);
        text = text.and(" between capture and sender");
    }
    text
}

fn loss(report: &ConnectionReport) -> Text {
    let losses = &report.losses;
    let mut text = Text::default();
    if losses.retransmissions == 0 {
        text = text.and("none seen");
    } else {
        text = text.and(figures::count(losses.retransmissions)).and(" of ");
        text = text.and(figures::counted(losses.segments, "segment"));
        text = text.and(" sent again").and(format!(
            " ({} after duplicate ACKs, {} by a timer)",
            figures::count(losses.fast),
            figures::count(losses.by_timer)
        ));
        if losses.needless > 0 {
            let needless = figures::count(losses.needless);
            text = text.and(format!(", {needless} of them spurious"));
        }
        text = text.and(", ").and(figures::fine_percent(losses.ratio)).and(" lost");
    }
    if losses.ecn_cuts > 0 {
        text = text.and("; window cut ").and(figures::counted(losses.ecn_cuts, "time"));
        text = text.and(" for what a queue marked (ECN)");
    }
    if losses.out_of_order > 0 {
        text = text.and(format!("; {} out of order", figures::count(losses.out_of_order)));
    }
    if losses.duplicate_acks > 0 {
        text = text.and("; ").and(figures::counted(losses.duplicate_acks, "duplicate ACK"));
    }
    if losses.captured_twice > 0 {
        text = text.and(format!("; {} captured twice", figures::count(losses.captured_twice)));
    }
    text
}

fn caveats(page: &mut Page, verdict: &Verdict) {
    let caveats = crate::verdict::caveats(verdict);
    if caveats.is_empty() {
        return;
    }
    page.gap();
    page.line(Text::styled(Style::Warn, "Limits of this capture"));
    for caveat in caveats {
        page.item("-", &caveat.text);
    }
}
