//! Lines that `windlass sweep --json-stream` prints before its report: one for each event.

use std::io;

use serde::Serialize;
use windlass_base::{
    Bytes, Cause, CongestionControl, Limit, LimitReason, Measurement, Rate, Schema, Span,
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

/// Event of a sweep.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event<'a> {
    /// A sweep begins.
    Begins {
        /// The path of a sweep.
        name: &'a str,
        /// Maximum time of all measurements.
        within_seconds: Option<Span>,
    },
    /// A measurement is over.
    Measurement {
        /// From 1.
        number: usize,
        #[serde(flatten)]
        asked: RequestedSetting,
        #[serde(flatten)]
        measured: MeasuredFigures,
        /// Time that all measurements took so far.
        spent_seconds: Span,
    },
    /// The sender does not offer the congestion control.
    Refused {
        #[serde(flatten)]
        asked: RequestedSetting,
    },
}

/// Settings of the requested measurement.
#[derive(Debug, Serialize)]
pub(super) struct RequestedSetting {
    direction: Direction,
    /// Window of each stream; null if the kernel sizes it.
    window_bytes: Option<Bytes>,
    streams: u16,
    asked_congestion: Option<CongestionControl>,
    /// Number of this repeat, from 1.
    repeat: u16,
}

/// Figures of a measurement.
#[derive(Debug, Serialize)]
pub(super) struct MeasuredFigures {
    bits_per_second: f64,
    rtt_seconds: Option<Span>,
    retransmissions: u64,
    congestion: Option<CongestionControl>,
    verdict: Option<Limit>,
    because: Option<LimitReason>,
}

impl From<Probe> for RequestedSetting {
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

impl From<&Measurement> for MeasuredFigures {
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

/// Output of the lines.
pub(super) struct Stream<'a> {
    output: &'a mut Output,
    /// Reason why no more lines can be written. The measurement continues without them.
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

    /// Prints the result of a probe.
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

    /// Ends the lines.
    ///
    /// # Errors
    /// Fails if a line could not be written.
    pub(super) fn end(self) -> io::Result<()> {
        self.unwritable.map_or(Ok(()), Err)
    }
}

impl Line<'_> {
    /// The shape of the JSON, described by `schemas/sweep-stream.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.sweep-stream", version: 1 };
}

impl Record for Line<'_> {
    // These lines exist as JSON only.
    fn text(&self, _: &mut Page) {}
}
