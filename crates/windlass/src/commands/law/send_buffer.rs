//! `windlass law send-buffer`.

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, Span};

use super::answer::{Answer, SymbolName};
use super::{third, unfit};

/// Two of the three values; the law gives the third.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass law send-buffer --buffer 2048 --ack-delay 500ms     the rate
  windlass law send-buffer --rate 100kB/s --ack-delay 200ms    the buffer for it
  windlass law send-buffer --buffer 8192 --rate 40kB/s         the longest delay for it")]
pub struct SendBufferArgs {
    /// N: send buffer
    #[arg(long, short_alias = 'b', value_name = "SIZE", value_parser = bytes)]
    pub buffer: Option<Bytes>,

    /// D: delay of the receiver's ACK
    #[arg(long, short_alias = 'd', value_name = "TIME", value_parser = span)]
    pub ack_delay: Option<Span>,

    /// Rate to reach
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,
}

const N: SymbolName = ("N", "send buffer");
const D: SymbolName = ("D", "delay of the receiver's ACK");
const R: SymbolName = ("rate", "rate");

impl SendBufferArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let answer = |formula| {
            Answer::new("send-buffer", "A withheld ACK lets one send buffer pass.", formula)
                .source("G. Cooper, Throughput to IMAGEN TCP-IP Printers, 1986")
                .note(
                    "This holds while the send buffer is below the share of the receive window \
                     that makes the receiver acknowledge. The cure is a send buffer as large as \
                     the window that the receiver offers, or a receiver that acknowledges every \
                     second segment.",
                )
        };
        let third = third(answer, [N, D, R], (self.buffer, self.ack_delay, self.rate));
        third.map(|(answer, _)| answer).ok_or_else(|| {
            unfit(
                "send-buffer",
                "it takes two of --buffer, --ack-delay and --rate, and gives the third",
                "--buffer 2048 --ack-delay 500ms",
            )
        })
    }
}
