//! `windlass law line`.

use clap::{ArgGroup, Args};
use windlass_base::Rate;
use windlass_base::laws::{self, Framing};
use windlass_base::values::rate;

use super::answer::{Answer, Quantity};

/// The rate of a link, or the wanted goodput.
#[derive(Args, Clone, Copy, Debug)]
#[command(
    group = ArgGroup::new("which way").required(true).args(["rate", "goodput"]),
    after_long_help = "\
Examples:
  windlass law line --rate 1gbit                    the goodput of a link
  windlass law line --rate 1gbit --timestamps       with TCP timestamps, as usual
  windlass law line --rate 10mbit --half-duplex     with ACKs on the same medium
  windlass law line --goodput 110MB/s --mtu 9000    the link rate for it"
)]
pub struct LineArgs {
    /// C: rate of the link
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// Goodput to reach
    #[arg(long, short_alias = 'g', value_name = "RATE", value_parser = rate)]
    pub goodput: Option<Rate>,

    /// Maximum size of an IP packet
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    #[arg(value_parser = clap::value_parser!(u32).range(128..=65_535))]
    pub mtu: u32,

    /// IPv6: 40 bytes of header instead of 20
    #[arg(long)]
    pub ipv6: bool,

    /// TCP timestamps: 12 bytes in each segment
    #[arg(long)]
    pub timestamps: bool,

    /// ACKs share the medium with data, as on half-duplex Ethernet
    #[arg(long)]
    pub half_duplex: bool,

    /// Segments per ACK, with --half-duplex
    #[arg(long, value_name = "N", default_value_t = 2, requires = "half_duplex")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub segments_per_ack: u32,
}

impl LineArgs {
    fn headers(&self) -> u32 {
        let ip = if self.ipv6 { 40 } else { 20 };
        ip + 20 + if self.timestamps { 12 } else { 0 }
    }

    pub(super) fn answer(&self) -> Answer {
        let headers = self.headers();
        let payload = self.mtu - headers;
        let shared = self.half_duplex.then_some(self.segments_per_ack);
        let goodput = |link| laws::line_rate(link, payload, headers, Framing::ETHERNET, shared);
        let unit = Rate::from_bytes_per_second(1.0);
        let efficiency = goodput(unit).bytes_per_second();
        let formula = match (self.rate.is_some(), self.half_duplex) {
            (true, false) => "goodput = C · payload / (payload + headers + framing)",
            (true, true) => "goodput = C · payload / (payload + headers + framing + ACK / n)",
            (false, false) => "C = goodput · (payload + headers + framing) / payload",
            (false, true) => "C = goodput · (payload + headers + framing + ACK / n) / payload",
        };
        let statement = "A busy link carries headers and gaps beside the data.";
        let bytes = |bytes: u32| Quantity::Bytes(windlass_base::Bytes::new(u64::from(bytes)));
        let mut answer = Answer::new("line", statement, formula)
            .source("Stevens, TCP/IP Illustrated, volume 1, section 24.8; IEEE 802.3")
            .given(("payload", "data in one segment"), bytes(payload))
            .given(("headers", "IP and TCP"), bytes(headers))
            .given(
                ("framing", "Ethernet header, FCS, preamble and gap"),
                bytes(Framing::ETHERNET.per_packet),
            );
        if let Some(n) = shared {
            let ack = Framing::ETHERNET.per_packet + headers.max(Framing::ETHERNET.least_packet);
            answer = answer
                .given(("ACK", "one ACK with its framing"), bytes(ack))
                .given(("n", "segments per ACK"), Quantity::Count(u64::from(n)));
        }
        let answer = match (self.rate, self.goodput) {
            (Some(link), _) => {
                answer.given(("C", "rate of the link"), Quantity::BytesPerSecond(link)).result(
                    ("goodput", "data that it carries"),
                    Quantity::BytesPerSecond(goodput(link)),
                )
            }
            (None, goodput) => {
                // The group of arguments requires one of the two; clap checks this.
                let goodput = goodput.unwrap_or(Rate::ZERO);
                let link = Rate::from_bytes_per_second(goodput.bytes_per_second() / efficiency);
                answer
                    .given(("goodput", "data to carry"), Quantity::BytesPerSecond(goodput))
                    .result(("C", "rate of the link"), Quantity::BytesPerSecond(link))
            }
        };
        answer.result(("share", "of the link that is data"), Quantity::Ratio(efficiency))
    }
}
