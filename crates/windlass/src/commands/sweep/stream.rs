//! What `windlass sweep --json-stream` says before its report: a line for each event.

use std::io;

use serde::Serialize;
use windlass_base::{
    Because, Bytes, Cause, CongestionControl, Limit, Measurement, Rate, Schema, Span,
};
use windlass_output::{Output, Page, Record};
use windlass_sweep::{Direction, Probe, Sweep};

/// A line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: Schema,
    #[serde(flatten)]
    event: Event<'a>,
}

/// What happens.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event<'a> {
    /// A sweep begins.
    Begins {
        /// What is swept.
        name: &'a str,
        /// The most that all measurements take.
        within_seconds: Option<Span>,
    },
    /// A measurement is over.
    Measurement {
        /// From 1.
        number: usize,
        #[serde(flatten)]
        asked: Asked,
        #[serde(flatten)]
        measured: Measured,
        /// What all of them took so far.
        spent_seconds: Span,
    },
    /// The sender does not offer the congestion control.
    Refused {
        #[serde(flatten)]
        asked: Asked,
    },
}

/// What was asked for.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    direction: Direction,
    /// Of each stream; null where the kernel sizes it.
    window_bytes: Option<Bytes>,
    streams: u16,
    asked_congestion: Option<CongestionControl>,
    /// From 1: how often this was asked for.
    repeat: u16,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    bits_per_second: f64,
    rtt_seconds: Option<Span>,
    retransmissions: u64,
    congestion: Option<CongestionControl>,
    verdict: Option<Limit>,
    because: Option<Because>,
}

impl From<Probe> for Asked {
    fn from(Probe { setting, repeat }: Probe) -> Self {
        Self {
            direction: setting.direction,
            window_bytes: setting.window,
            streams: setting.streams,
            asked_congestion: setting.congestion,
            repeat,
        }
    }
}

impl From<&Measurement> for Measured {
    fn from(measurement: &Measurement) -> Self {
        Self {
            bits_per_second: Rate::bits_per_second(measurement.rate()),
            rtt_seconds: measurement.mean_rtt,
            retransmissions: measurement.retransmissions,
            congestion: measurement.congestion,
            verdict: measurement.cause.map(Cause::limit),
            because: measurement.cause.and_then(Cause::because),
        }
    }
}

/// Where the lines go.
pub(super) struct Stream<'a> {
    output: &'a mut Output,
    /// Why no more can be written. What is measured goes on where nobody reads it.
    unwritable: Option<io::Error>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(output: &'a mut Output) -> Self {
        Self { output, unwritable: None }
    }

    pub(super) fn say(&mut self, event: Event<'_>) {
        if self.unwritable.is_none() {
            let line = Line { schema: Line::SCHEMA, event };
            let said = self.output.print_line(&line).and_then(|()| self.output.flush());
            self.unwritable = said.err();
        }
    }

    /// What came of a probe.
    pub(super) fn tell(&mut self, probe: Probe, measurement: Option<&Measurement>, sweep: &Sweep) {
        let asked = probe.into();
        self.say(match measurement {
            Some(measurement) => Event::Measurement {
                number: sweep.taken(),
                asked,
                measured: measurement.into(),
                spent_seconds: sweep.spent(),
            },
            None => Event::Refused { asked },
        });
    }

    /// # Errors
    /// Where a line could not be written.
    pub(super) fn end(self) -> io::Result<()> {
        self.unwritable.map_or(Ok(()), Err)
    }
}

impl Line<'_> {
    /// The shape of the JSON, described by `schemas/sweep-stream.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.sweep-stream", version: 1 };
}

impl Record for Line<'_> {
    // It is JSON that is asked for.
    fn text(&self, _: &mut Page) {}
}
