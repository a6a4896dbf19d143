//! `windlass law window`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span, laws};

use super::answer::{Answer, Quantity};
use super::unfit;

/// Two of the three; the law gives the third.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law window --window 2920 --time 117695us     the rate
  windlass law window --rate 10MB/s --time 36ms         the window for it
  windlass law window --rate 1MB/s --window 64KiB       the longest round trip for it")]
pub struct WindowArgs {
    /// W: the receive window, or any other bound on the flight
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes)]
    pub window: Option<Bytes>,

    /// T: the path's round trip plus the receiver's own ACK latency
    #[arg(long, short = 't', visible_alias = "rtt", value_name = "TIME", value_parser = span)]
    pub time: Option<Span>,

    /// The rate to reach
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,
}

const W: (&str, &str) = ("W", "window");
const T: (&str, &str) = ("T", "round trip with the receiver's ACK latency");
const R: (&str, &str) = ("rate", "rate");

impl WindowArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let window = |window| Quantity::Bytes(window);
        let answer = |formula| {
            Answer::new("window", "At most one window is in flight per round trip.", formula)
                .source("RFC 9293 section 3.8.6; measured on print servers, about 2000")
        };
        match (self.window, self.time, self.rate) {
            (Some(w), Some(t), None) => Ok(answer("rate = W / T")
                .given(W.0, W.1, window(w))
                .given(T.0, T.1, Quantity::Seconds(t))
                .result(R.0, R.1, Quantity::BytesPerSecond(laws::window_rate(w, t)))
                .window_note(w)),
            (None, Some(t), Some(r)) => {
                let w = laws::window_for(r, t);
                Ok(answer("W = rate · T")
                    .given(R.0, R.1, Quantity::BytesPerSecond(r))
                    .given(T.0, T.1, Quantity::Seconds(t))
                    .result(W.0, W.1, window(w))
                    .window_note(w))
            }
            (Some(w), None, Some(r)) => Ok(answer("T = W / rate")
                .given(W.0, W.1, window(w))
                .given(R.0, R.1, Quantity::BytesPerSecond(r))
                .result(T.0, T.1, Quantity::Seconds(r.time_for(w)))
                .window_note(w)),
            _ => Err(unfit(
                "window",
                "it takes two of --window, --time and --rate, and gives the third",
                "--window 64KiB --time 36ms",
            )),
        }
    }
}
