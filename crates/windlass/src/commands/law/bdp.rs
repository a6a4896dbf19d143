//! `windlass law bdp`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span};

use super::answer::{Answer, Named};
use super::{third, unfit};

/// Two of the three; the law gives the third.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law bdp --rate 1gbit --rtt 2.55ms       the window that fills the path
  windlass law bdp --window 64KiB --rtt 20ms       the capacity that a window fills
  windlass law bdp --window 64KiB --rate 100mbit   the longest path that it fills")]
pub struct BdpArgs {
    /// C: the path's capacity
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// The path's round trip
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Option<Span>,

    /// W: the window
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes)]
    pub window: Option<Bytes>,
}

const C: Named = ("C", "capacity");
const RTT: Named = ("RTT", "round trip");
const W: Named = ("W", "window that keeps the path full");

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
