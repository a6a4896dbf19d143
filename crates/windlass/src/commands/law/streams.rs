//! `windlass law streams`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span, laws};

use super::answer::{Answer, Quantity, SymbolName};
use super::unfit;

/// The path, and a window or a number of streams or both.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law streams --rate 1gbit --rtt 2.55ms --window 56kB              the streams
  windlass law streams --rate 1gbit --rtt 2.55ms --window 56kB --streams 4  their rate
  windlass law streams --rate 1gbit --rtt 2.55ms --streams 4                the window of each")]
pub struct StreamsArgs {
    /// C: capacity of the path
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Rate,

    /// T: round trip time of the path
    #[arg(long, short_alias = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Span,

    /// W: window of each connection
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes)]
    pub window: Option<Bytes>,

    /// n: number of connections
    #[arg(long, short = 'P', short_alias = 'n', value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: Option<u32>,
}

const W: SymbolName = ("W", "window of each connection");
const N: SymbolName = ("n", "connections");

impl StreamsArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let answer = |formula| {
            Answer::new("streams", "Parallel connections add up until the path is full.", formula)
                .given(("C", "capacity"), Quantity::BytesPerSecond(self.rate))
                .given(("T", "round trip"), Quantity::Seconds(self.rtt))
                .source(
                    "Sebopetse et al., Throughput and Estimated Packet Delivery Delay vs TCP \
                     Window Size, about 2021",
                )
        };
        let needed = |window| laws::streams_for(self.rate, window, self.rtt).unwrap_or(u64::MAX);
        match (self.window, self.streams) {
            (Some(w), None) => Ok(answer("n = C · T / W, rounded up")
                .given(W, Quantity::Bytes(w))
                .result(N, Quantity::Count(needed(w)))
                .note(
                    "Slow start, loss and uneven shares reduce the rate: the source needed about \
                     ten streams where the law gives six.",
                )),
            (Some(w), Some(n)) => {
                let rate = laws::streams_rate(self.rate, n, w, self.rtt);
                let answer = answer("rate = min(C, n · W / T)")
                    .given(W, Quantity::Bytes(w))
                    .given(N, Quantity::Count(u64::from(n)))
                    .result(("rate", "total rate"), Quantity::BytesPerSecond(rate));
                Ok(if rate < self.rate {
                    answer
                } else {
                    answer.note("The streams fill the path.")
                })
            }
            (None, Some(n)) => {
                let share =
                    Rate::from_bytes_per_second(self.rate.bytes_per_second() / f64::from(n));
                let window = laws::window_for(share, self.rtt);
                Ok(answer("W = C · T / n")
                    .given(N, Quantity::Count(u64::from(n)))
                    .result(W, Quantity::Bytes(window))
                    .window_note(window))
            }
            (None, None) => Err(unfit(
                "streams",
                "it takes --rate and --rtt, with --window, --streams or both",
                "--rate 1gbit --rtt 2.55ms --window 56kB",
            )),
        }
    }
}
