//! `windlass law window`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span};

use super::answer::{Answer, SymbolName};
use super::{third, unfit};

/// Two of the three values; the law gives the third.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law window --window 2920 --time 117695us     the rate
  windlass law window --rate 10MB/s --time 36ms         the window for it
  windlass law window --rate 1MB/s --window 64KiB       the longest round trip for it")]
pub struct WindowArgs {
    /// W: receive window, or any other limit on the bytes in flight
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes)]
    pub window: Option<Bytes>,

    /// T: round trip time of the path plus the receiver's ACK latency
    #[arg(long, short_alias = 't', visible_alias = "rtt", value_name = "TIME", value_parser = span)]
    pub time: Option<Span>,

    /// Rate to reach
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,
}

const W: SymbolName = ("W", "window");
const T: SymbolName = ("T", "round trip with the receiver's ACK latency");
const R: SymbolName = ("rate", "rate");

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
