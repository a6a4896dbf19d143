//! `windlass law bdp`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span};

use super::answer::{Answer, SymbolName};
use super::{third, unfit};

/// Two of the three values; the law gives the third.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law bdp --rate 1gbit --rtt 2.55ms       the window that fills the path
  windlass law bdp --window 64KiB --rtt 20ms       the rate that a window fills
  windlass law bdp --window 64KiB --rate 100mbit   the longest round trip for it")]
pub struct BdpArgs {
    /// C: capacity of the path
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// Round trip time of the path
    #[arg(long, short_alias = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Option<Span>,

    /// W: window
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes)]
    pub window: Option<Bytes>,
}

const C: SymbolName = ("C", "capacity");
const RTT: SymbolName = ("RTT", "round trip");
const W: SymbolName = ("W", "window that keeps the path full");

impl BdpArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let answer = |formula| {
            let statement = "A path is full with its bandwidth-delay product in flight.";
            Answer::new("bdp", statement, formula).source(
                "Sebopetse et al., Throughput and Estimated Packet Delivery Delay vs TCP Window \
                 Size, about 2021; RFC 7323 section 1.1",
            )
        };
        let third = third(answer, [W, RTT, C], (self.window, self.rtt, self.rate));
        third.map(|(answer, window)| answer.window_note(window)).ok_or_else(|| {
            unfit(
                "bdp",
                "it takes two of --rate, --rtt and --window, and gives the third",
                "--rate 1gbit --rtt 2.55ms",
            )
        })
    }
}
