//! From a model to a setting of the simulator.

use windlass_base::{Bytes, Cause, Rate, Span, whole_part};
use windlass_sim::device::{AckPolicy, Drain, StallEvery, Stalls, Window};
use windlass_sim::segment::line_bytes;
use windlass_sim::sender::{PartialSegmentPolicy, WritePattern};
use windlass_sim::{Habits, Hop, Latency, LinkSettings, Policer, SenderSettings, Setting, Stream};

use super::model::{Acks, ClosurePattern, Model, Pauses, Recurrence};

/// Shortest delayed-ACK timer of Linux.
const ACK_TIMER: Span = Span::from_millis(40);

/// Returns the setting that reproduces the model's transfer, with `bytes` bytes in all.
pub(super) fn setting(model: &Model, bytes: Bytes, seed: u64) -> Setting {
    let each = Bytes::new(bytes.get().div_ceil(u64::from(model.streams.max(1))));
    let stream = Stream { sender: sender(model, each), device: device(model, each) };
    let half = model.rtt / 2;
    let plain = LinkSettings { delay: half, ..LinkSettings::PERFECT };
    // A link counts what a full segment takes on the line.
    let factor = f64::from(line_bytes(u32::from(model.segment) + 40)) / f64::from(model.segment);
    let on_line = |(rate, bytes): (Rate, Bytes)| {
        let rate = Rate::from_bytes_per_second(rate.bytes_per_second() * factor);
        (rate, Bytes::new(scaled(bytes, factor)))
    };
    let (rate, queue) = model.capacity.zip(model.queue).map(on_line).unzip();
    let policer = model.policer.zip(model.burst).map(on_line);
    let policer = policer.map(|(rate, burst)| Policer { rate, burst });
    let (reorder, reorder_by) = (model.reordering, model.rtt / 4);
    let loss = model.loss_of_one();
    let forward = LinkSettings { rate, queue, loss, reorder, reorder_by, policer, ..plain };
    let backward = LinkSettings { delay: model.rtt - half, loss: model.ack_loss, ..plain };
    Setting {
        path: vec![Hop { forward, backward }],
        streams: vec![stream; usize::from(model.streams.max(1))],
        seed,
    }
}

/// Returns a recurring event, scaled so that a shorter transfer contains it once.
fn within(recurring: Recurrence, bytes: Bytes) -> Recurrence {
    let most = bytes.get().div_ceil(2).max(1);
    let every = recurring.every.get().max(1);
    if every <= most {
        return Recurrence { every: Bytes::new(every), ..recurring };
    }
    let lasting = recurring.lasting.scaled(most as f64 / every as f64);
    Recurrence { every: Bytes::new(most), lasting }
}

fn scaled(bytes: Bytes, factor: f64) -> u64 {
    whole_part(bytes.get() as f64 * factor)
}

fn sender(model: &Model, bytes: Bytes) -> SenderSettings {
    let buffer = match (model.send_buffer, model.hold) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let mut settings = SenderSettings::new(bytes);
    match model.pauses {
        Pauses::Never => {}
        Pauses::Paced(pauses) => {
            let pauses = within(pauses, bytes);
            let piece = pauses.every;
            settings.writes = WritePattern::Paced { first: piece, piece, every: pauses.lasting };
        }
        Pauses::Answered(pauses) => {
            // A whole number of requests, so that each one gets its answer.
            let every = within(pauses, bytes).every;
            let count = bytes.get().div_ceil(every.get()).max(1);
            settings.bytes = Bytes::new(count * every.get());
            settings.writes = WritePattern::Requests { bytes: every, answer: Bytes::new(1) };
        }
    }
    SenderSettings {
        mss: model.segment,
        send_buffer: buffer,
        // The flight shows the written data, not the wake-ups of the program: Linux's flights fill
        // each round trip (`docs/what-if.md`).
        wakes_at: 0.0,
        initial_window: model.initial_window,
        nagle: model.nagle,
        // A sender that is limited by a small window sends as much as fits.
        segmenting: if model.cause == Cause::WindowBelowMss
            && model.window.get() < 2 * u64::from(model.segment)
        {
            PartialSegmentPolicy::WhatFits
        } else {
            PartialSegmentPolicy::Careful
        },
        sack: model.sack,
        window_scale: Some(7),
        // The sender has measured the delay of the ACKs.
        least_timeout: model
            .timer
            .unwrap_or(settings.least_timeout.max((model.rtt + model.ack_latency) * 2)),
        fast_retransmit: model.repairs_fast,
        ..settings
    }
}

fn device(model: &Model, bytes: Bytes) -> Habits {
    let (window, drain) = match (model.closing, model.reader) {
        (ClosurePattern::Never, Some(rate)) => {
            // Several streams share the reader.
            let each = rate.bytes_per_second() / f64::from(model.streams.max(1));
            let chunk = u64::from(model.segment).min(model.window.get() / 2).max(1);
            let rate = Rate::from_bytes_per_second(each);
            (Window::Buffer(model.window), Drain::Rate { rate, chunk: Bytes::new(chunk) })
        }
        (ClosurePattern::AfterAck(later), _) => {
            (Window::Buffer(model.window), Drain::AfterAck(Latency::of(later)))
        }
        (ClosurePattern::Stalls(_), _) => (Window::Buffer(model.window), Drain::AtOnce),
        (ClosurePattern::Reads(reads), _) => {
            let drain = Drain::Rate { rate: reads.every.per(reads.lasting), chunk: reads.every };
            (Window::Buffer(model.window), drain)
        }
        (ClosurePattern::Never, None) => (Window::Fixed(model.window), Drain::AtOnce),
    };
    let stalls = match model.closing {
        ClosurePattern::Stalls(stall) => {
            // The window closes only when it is full, a round trip later.
            let lasting = stall.lasting + model.rtt + model.ack_latency;
            let stall = within(Recurrence { lasting, ..stall }, bytes);
            let every = StallEvery::Bytes(stall.every);
            Some(Stalls { every, lasting: Latency::of(stall.lasting) })
        }
        _ => None,
    };
    let (ack, latency) = match model.acks {
        Acks::EachSegment => (AckPolicy::EverySegment, model.ack_latency),
        Acks::EverySecondSegment => {
            (AckPolicy::EverySecond { timer: ACK_TIMER }, model.ack_latency)
        }
        Acks::Withheld(share) => {
            (AckPolicy::ShareOfWindow { share, timer: model.ack_latency }, Span::ZERO)
        }
    };
    let answer = match model.pauses {
        Pauses::Answered(pauses) => within(pauses, bytes).lasting,
        Pauses::Paced(_) | Pauses::Never => Span::ZERO,
    };
    Habits {
        mss: model.segment,
        window,
        window_scale: Some(window.least_scale()),
        sack: model.sack,
        keeps_out_of_order: model.keeps,
        ack,
        ack_latency: Latency::of(latency),
        answer_latency: Latency::of(answer),
        drain,
        stalls,
        ..Habits::HEALTHY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_recurs_seldom_weighs_the_same_in_a_shorter_transfer() {
        let stall = Recurrence { every: Bytes::new(1_000_000), lasting: Span::from_millis(800) };
        assert_eq!(within(stall, Bytes::new(2_000_000)), stall);
        let shorter = within(stall, Bytes::new(500_000));
        assert_eq!(shorter.every, Bytes::new(250_000));
        assert_eq!(shorter.lasting, Span::from_millis(200));
    }
}
