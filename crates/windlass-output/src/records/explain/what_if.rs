//! The effect of a change, as rows.

use windlass_base::Bytes;
use windlass_base::figures::fixed;
use windlass_lab::what_if::{
    Acks, ClosurePattern, FittedModel, Pauses, Recurrence, ReportedChange, WhatIf,
};
use windlass_trace::report::Unit;

use crate::{Rows, Text, figures, verdict};

/// Returns the rows of `--what-if`.
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
        return text.and(": ").and(match answer.at_most_bytes_per_second {
            Some(most) => verdict::bound(most, answer.at_most_by, answer.measured_bytes_per_second),
            None => Text::from("this capture does not tell what that brings"),
        });
    };
    text = text.and(": expect ").and(verdict::estimate(rate));
    text = text.and(", ").and(Text::whole(&format!("{} times", ratio(factor)))).and(" as fast");
    if let Some(limit) = answer.next_limit {
        let cause = verdict::limit_and_cause(limit, answer.next_because);
        text = text.and("; next limit: ").and(cause);
    }
    text.and("; confidence ").and(verdict::confidence(answer.confidence))
}

fn change_text(change: &ReportedChange) -> Text {
    let ReportedChange { key, value, unit } = *change;
    let text = Text::from(format!("{key} "));
    match unit {
        Unit::Count if key == "reassembly" => text.and(if value > 0.0 { "on" } else { "off" }),
        _ => text.and(verdict::amount(value, unit)),
    }
}

/// Returns a ratio with two decimals below ten, and none above a hundred.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.1 => fixed(ratio, 4),
        ratio if ratio < 10.0 => fixed(ratio, 2),
        ratio if ratio < 100.0 => fixed(ratio, 1),
        ratio => fixed(ratio, 0),
    }
}

fn model_text(fitted: &FittedModel) -> Text {
    let model = &fitted.model;
    let mut text = Text::from("window ").and(model.window);
    text = text.and(", segments of ").and(Bytes::new(model.segment.into()));
    text = text.and(", path RTT ").and(model.rtt);
    text = text.and(", ACK latency ").and(model.ack_latency);
    text = text.and(match model.acks {
        Acks::EachSegment => "",
        Acks::Withheld(_) => " as a timer",
        Acks::EverySecondSegment => ", an ACK for every second segment",
    });
    if let (Some(rate), Some(queue)) = (model.capacity, model.queue) {
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
    if let Some(timer) = model.timer {
        text = text.and(", a timer of ").and(timer);
    }
    if !model.keeps {
        text = text.and(", nothing kept behind a hole");
    }
    if let (Some(rate), Some(burst)) = (model.policer, model.burst) {
        text = text.and(", policed to ").and(rate).and(" after a burst of ").and(burst);
    }
    if let Some(buffer) = model.send_buffer {
        text = text.and(", send buffer ").and(buffer);
    }
    if let Some(flight) = model.hold {
        text = text.and(", a flight held at ").and(flight);
    }
    let closed = |text: Text, closed| text.and(", closed for ").and(closed).and(" after each ");
    text = match model.closing {
        ClosurePattern::Never => text,
        ClosurePattern::AfterAck(later) => closed(text, later).and("ACK"),
        ClosurePattern::Stalls(stall) => closed(text, stall.lasting).and(stall.every),
        ClosurePattern::Reads(reads) => {
            text.and(", ").and(reads.every).and(" read every ").and(reads.lasting)
        }
    };
    let written = |text: Text, pauses: Recurrence, when| {
        text.and(", ").and(pauses.every).and(when).and(pauses.lasting)
    };
    text = match model.pauses {
        Pauses::Never => text,
        Pauses::Paced(pauses) => written(text, pauses, " written every "),
        Pauses::Answered(pauses) => written(text, pauses, " written so long after an answer: "),
    };
    text = text.and(", first flight ").and(model.initial_window);
    text = text.and("; ").and(fitted.simulated_bytes).and(" simulated");
    match fitted.calibrated {
        Some(name) => text.and(format!("; {name} calibrated within what was seen")),
        None => text,
    }
}
