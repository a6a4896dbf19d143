//! `windlass law loss`.

use clap::{ArgGroup, Args};
use windlass_base::values::{bytes, rate, share, span};
use windlass_base::{Bytes, Failure, Rate, Span, laws};

use super::answer::{Answer, Quantity};
use super::unfit;

/// The loss of a path, or the rate to reach.
#[derive(Args, Clone, Copy, Debug)]
#[command(
    group = ArgGroup::new("which way").required(true).args(["loss", "rate"]),
    after_long_help = "\
Examples:
  windlass law loss --mss 1460 --rtt 370ms --loss 3.7%     the rate
  windlass law loss --mss 1460 --rtt 20ms --rate 100mbit   the loss that still allows it"
)]
pub struct LossArgs {
    /// Data in one full segment
    #[arg(long, short = 'M', short_alias = 'm', value_name = "SIZE", default_value = "1460", value_parser = bytes)]
    pub mss: Bytes,

    /// Round trip time of the path
    #[arg(long, short_alias = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Span,

    /// p: share of lost segments
    #[arg(long, short_alias = 'l', value_name = "SHARE", value_parser = share)]
    pub loss: Option<f64>,

    /// Rate to reach
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// T0: first retransmission timeout [default: RTT + 200ms, the minimum of Linux]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub timeout: Option<Span>,

    /// b: segments per ACK
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub segments_per_ack: u32,

    /// Receive window, an upper limit for PFTK
    #[arg(long, short = 'w', value_name = "SIZE", conflicts_with = "rate", value_parser = bytes)]
    pub window: Option<Bytes>,
}

/// Minimum that Linux adds to the round trip: `TCP_RTO_MIN`, 200 ms.
const LINUX_RTO_MIN: Span = Span::from_millis(200);

impl LossArgs {
    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        let timeout = self.timeout.unwrap_or(self.rtt + LINUX_RTO_MIN);
        let acked = self.segments_per_ack;
        let answer = |formula| {
            Answer::new("loss", "Loss keeps the congestion window small.", formula)
                .source("Mathis, Semke, Mahdavi, Ott, 1997, equation 3")
                .source("PFTK: Padhye, Firoiu, Towsley, Kurose, 1998, equation 30")
                .given(("MSS", "data in one full segment"), Quantity::Bytes(self.mss))
                .given(("RTT", "round trip"), Quantity::Seconds(self.rtt))
                .given(("T0", "first retransmission timeout"), Quantity::Seconds(timeout))
                .given(("b", "segments per ACK"), Quantity::Count(u64::from(acked)))
        };
        let unbounded = || unfit("loss", "these values give no bound", "--rtt 370ms --loss 3.7%");
        match (self.loss, self.rate) {
            (Some(p), _) => {
                let mathis = laws::mathis_rate(self.mss, self.rtt, p).ok_or_else(unbounded)?;
                let pftk = laws::pftk_rate(self.mss, self.rtt, p, timeout, acked, self.window)
                    .ok_or_else(unbounded)?;
                let mut answer = answer("rate = MSS / RTT · √(3/2) / √p")
                    .given(("p", "share of segments lost"), Quantity::Ratio(p));
                if let Some(window) = self.window {
                    answer = answer.given(("W", "receive window"), Quantity::Bytes(window));
                }
                Ok(answer
                    .result(("Mathis", "rate without timeouts"), Quantity::BytesPerSecond(mathis))
                    .result(("PFTK", "rate with timeouts"), Quantity::BytesPerSecond(pftk)))
            }
            (None, Some(rate)) => {
                let mathis = laws::mathis_loss(self.mss, self.rtt, rate).ok_or_else(unbounded)?;
                let pftk = laws::pftk_loss(self.mss, self.rtt, rate, timeout, acked)
                    .ok_or_else(unbounded)?;
                Ok(answer("p = (MSS / RTT · √(3/2) / rate)²")
                    .given(("rate", "rate to reach"), Quantity::BytesPerSecond(rate))
                    .result(("Mathis", "loss allowed without timeouts"), Quantity::Ratio(mathis))
                    .result(("PFTK", "loss allowed with timeouts"), Quantity::Ratio(pftk)))
            }
            (None, None) => Err(unbounded()),
        }
    }
}
