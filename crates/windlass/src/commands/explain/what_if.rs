//! What a change would bring, as rows.

use windlass_base::figures::fixed;
use windlass_lab::what_if::{AckedWhen, Figures, PausedWhen, Told, WhatIf};
use windlass_trace::report::Unit;

use crate::print::{Rows, Text, figures, verdict};

/// The rows of `--what-if`.
pub(super) fn rows(answer: &WhatIf) -> Rows {
    let mut rows = Rows::new();
    rows.push("what if", head(answer));
    if let (Some(modelled), Some(fit)) = (answer.modelled_bytes_per_second, answer.fit) {
        rows.push(
            "",
            Text::from("the model gives ")
                .strong(modelled)
                .and(" where ")
                .strong(answer.measured_bytes_per_second)
                .and(" was measured ")
                .and(Text::whole(&format!("(fit {})", ratio(fit)))),
        );
    }
    if let Some(model) = &answer.model {
        rows.push("its model", model_text(model));
    }
    rows.list("but", &answer.remarks);
    rows
}

fn head(answer: &WhatIf) -> Text {
    let mut text = Text::joined(answer.changes.iter().map(change_text), ", ");
    let (Some(rate), Some(factor)) = (answer.expected_bytes_per_second, answer.factor) else {
        return text.and(": nothing can be said");
    };
    text = if answer.fits() {
        text.and(": ").strong(rate)
    } else {
        text.and(": no promise, for the model does not fit; it would give ").and(rate)
    };
    text = text.and(", ").and(Text::whole(&format!("{} times", ratio(factor)))).and(" as fast");
    if let Some(limit) = answer.next_limit {
        let cause = verdict::limit_and_cause(limit, answer.next_because);
        text = text.and("; next limit: ").and(cause);
    }
    text.and("; confidence ").and(verdict::confidence(answer.confidence))
}

fn change_text(change: &Told) -> Text {
    let Told { key, value, unit } = *change;
    let text = Text::from(format!("{key} "));
    match unit {
        Unit::Count if key == "reassembly" => text.and(if value > 0.0 { "on" } else { "off" }),
        _ => text.and(verdict::amount(value, unit)),
    }
}

/// Two places below ten, none above a hundred.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.1 => fixed(ratio, 4),
        ratio if ratio < 10.0 => fixed(ratio, 2),
        ratio if ratio < 100.0 => fixed(ratio, 1),
        ratio => fixed(ratio, 0),
    }
}

fn model_text(model: &Figures) -> Text {
    let mut text = Text::from("window ").and(model.window_bytes);
    text = text.and(", segments of ").and(model.segment_bytes);
    text = text.and(", path RTT ").and(model.rtt_seconds);
    text = text.and(", ACK latency ").and(model.ack_latency_seconds);
    text = text.and(match model.acks {
        AckedWhen::EachSegment => "",
        AckedWhen::Withheld => " as a timer",
        AckedWhen::EverySecondSegment => ", an ACK for every second segment",
    });
    if let (Some(rate), Some(queue)) = (model.capacity_bytes_per_second, model.queue_bytes) {
        text = text.and(", capacity ").and(rate).and(" behind a queue of ").and(queue);
    }
    if model.loss > 0.0 {
        text = text.and(", loss ").and(figures::fine_percent(model.loss));
    }
    if model.ack_loss > 0.0 {
        text = text.and(", ACKs lost ").and(figures::fine_percent(model.ack_loss));
    }
    if model.reordering > 0.0 {
        text = text.and(", out of order ").and(figures::fine_percent(model.reordering));
    }
    if let Some(timer) = model.timer_seconds {
        text = text.and(", a timer of ").and(timer);
    }
    if !model.keeps_out_of_order {
        text = text.and(", nothing kept behind a hole");
    }
    if let (Some(rate), Some(burst)) = (model.policer_bytes_per_second, model.policer_burst_bytes) {
        text = text.and(", policed to ").and(rate).and(" after a burst of ").and(burst);
    }
    if let Some(buffer) = model.send_buffer_bytes {
        text = text.and(", send buffer ").and(buffer);
    }
    if let Some(flight) = model.held_flight_bytes {
        text = text.and(", a flight held at ").and(flight);
    }
    if let Some(closed) = model.closed_seconds {
        text = text.and(", closed for ").and(closed);
        text = match model.closed_every_bytes {
            Some(every) => text.and(" after each ").and(every),
            None => text.and(" after each ACK"),
        };
    }
    if let (Some(reads), Some(every)) = (model.read_seconds, model.read_every_bytes) {
        text = text.and(", ").and(every).and(" read every ").and(reads);
    }
    if let (Some(pause), Some(every)) = (model.pause_seconds, model.pause_every_bytes) {
        text = text.and(", ").and(every);
        text = text.and(match model.pause_is {
            Some(PausedWhen::AfterAnswer) => " written so long after an answer: ",
            _ => " written every ",
        });
        text = text.and(pause);
    }
    text = text.and(", first flight ").and(model.initial_window_bytes);
    text = text.and("; ").and(model.simulated_bytes).and(" simulated");
    match model.calibrated {
        Some(name) => text.and(format!("; {name} calibrated within what was seen")),
        None => text,
    }
}
