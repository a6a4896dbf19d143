//! `windlass law window`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span};

use super::answer::{Answer, Named};
use super::{third, unfit};

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

const W: Named = ("W", "window");
const T: Named = ("T", "round trip with the receiver's ACK latency");
const R: Named = ("rate", "rate");

impl WindowArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let answer = |formula| {
            Answer::new("window", "At most one window is in flight per round trip.", formula)
                .source("RFC 9293 section 3.8.6; measured on print servers, about 2000")
        };
        let third = third(answer, [W, T, R], (self.window, self.time, self.rate));
        third.map(|(answer, window)| answer.window_note(window)).ok_or_else(|| {
            unfit(
                "window",
                "it takes two of --window, --time and --rate, and gives the third",
                "--window 64KiB --time 36ms",
            )
        })
    }
}
