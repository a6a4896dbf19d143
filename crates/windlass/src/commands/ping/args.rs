//! The command line of `windlass ping`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Span};
use windlass_drive::ping::Target;
use windlass_drive::ping::buckets::{Buckets, buckets};

use crate::arguments::JsonArgs;
use crate::commands::far_host::{FamilyArgs, target};
use crate::commands::ip_args::IpArgs;
use crate::commands::measuring::MeasuringArgs;

/// The arguments of `windlass ping`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("served").multiple(true))]
#[command(after_long_help = "\
Examples:
  windlass ping printer:9100       time TCP handshakes with the printer
  windlass ping printer            time ICMP echoes
  windlass ping server --latency   time requests of 64 B to windlass serve, on port 5201
  windlass ping server --latency --size 1k --response 16k --rate 100 --time 1min
                                   send 100 requests a second for a minute
  windlass ping server --udp       time UDP requests, and count lost datagrams
  windlass ping printer:9100 --count 1000 --rate flood --histogram 20
                                   ping as fast as answers arrive; 20 equal buckets
  windlass ping server --latency --count 100000 --samples trips.csv
                                   write each round trip to a CSV file
  windlass ping server --latency --cpu 1 --histogram 20us,50us,100us
                                   run on processor 1, with your own buckets

Methods:
  HOST:PORT  TCP handshake. Each request opens a new connection and resets it, so no connection
             stays open. A refused connection also counts as an answer.
  --latency  request and response over one TCP connection, from before the write until the read
  --udp      request and response by numbered UDP datagrams; an answer after --timeout counts as
             lost
  --icmp     ICMP echo, from before the request is sent until the reply arrives

  windlass sleeps until shortly before the expected answer, and then polls. So the figures exclude
  the time that the system takes to wake a program. --asleep includes that time, as most programs
  do. With --latency and --asleep windlass serve also sleeps until a request arrives.

Samples:
  The CSV columns are number, begin_seconds (time of the request, from the first one), trip_seconds
  (empty without an answer), outcome (answered, refused, silent or unreachable) and resent (the SYN
  was retransmitted).

Exit codes:
  0  at least one answer
  1  no answer, or the run failed

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct PingArgs {
    /// Host to ping.
    #[arg(value_name = "HOST[:PORT]", value_parser = target)]
    #[arg(help = "Host to ping, and its port: printer, 192.0.2.2:9100, [2001:db8::2]:9100")]
    pub target: Target,

    /// Time requests to windlass serve over one TCP connection
    #[arg(long, short_alias = 'l', conflicts_with = "icmp", group = "served")]
    pub latency: bool,

    /// Time requests to windlass serve by UDP datagrams
    #[arg(long, short = 'u', conflicts_with = "icmp", group = "served")]
    pub udp: bool,

    /// Time ICMP echoes [default without a port]
    #[arg(long)]
    pub icmp: bool,

    /// IPv4 or IPv6 alone.
    #[command(flatten)]
    pub family: FamilyArgs,

    /// Number of requests [default without --time: 4; with --latency and --udp, 5s of requests]
    #[arg(long, short = 'c', value_name = "N", help_heading = "Requests")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Length of the run
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "Requests")]
    pub time: Option<Span>,

    /// Time between requests [default: 1s; none with --latency and --udp]
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, conflicts_with = "rate")]
    #[arg(help_heading = "Requests")]
    pub interval: Option<Span>,

    /// Requests per second; `flood` sends the next request when an answer arrives
    #[arg(long, short = 'r', value_name = "N|flood", value_parser = pacing)]
    #[arg(help_heading = "Requests")]
    pub rate: Option<Pacing>,

    /// Number of first requests to omit from the result [default: 1; 10 with --latency and --udp]
    #[arg(long, short_alias = 'w', value_name = "N", help_heading = "Requests")]
    pub warmup: Option<u64>,

    /// Maximum wait for an answer [default: 2s; 10s with --latency]
    #[arg(long, value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "Requests")]
    pub timeout: Option<Span>,

    /// Size of a request, or of an ICMP echo's data; up to 1M with --latency, 65507 with --udp
    /// [default: 64; 56 with ICMP]
    #[arg(long, short = 's', value_name = "SIZE", value_parser = bytes)]
    pub size: Option<Bytes>,

    /// Size of an answer [default: the size of the request]
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "served")]
    pub response: Option<Bytes>,

    /// Run on this processor only
    #[arg(long, value_name = "N", help_heading = "The measurement")]
    pub cpu: Option<usize>,

    /// Sleep until an answer arrives, as most programs do; with --latency the server sleeps, too
    ///
    /// The figures then include the time that the system takes to wake a program at each end.
    #[arg(long, help_heading = "The measurement")]
    pub asleep: bool,

    /// File with the server's token
    #[arg(long, value_name = "FILE", requires = "served")]
    pub token_file: Option<PathBuf>,

    /// Print a histogram of N equal buckets, or of buckets with these edges: 0.1ms,0.5ms,1ms
    #[arg(long, value_name = "N|EDGES", value_parser = buckets, help_heading = "Output")]
    pub histogram: Option<Buckets>,

    /// Write each counted request to this file, as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub samples: Option<PathBuf>,

    /// Settings of IP packets.
    #[command(flatten)]
    pub ip: IpArgs,

    /// Options of every measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The time of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// A request after each answer.
    Flood,
    /// After an interval.
    Every(Span),
}

/// Reads a rate: requests per second, or `flood`.
fn pacing(text: &str) -> Result<Pacing, String> {
    let allowed = || "a rate is a number of requests per second, or `flood`".to_owned();
    if text == "flood" {
        return Ok(Pacing::Flood);
    }
    let rate: f64 = text.parse().map_err(|_| allowed())?;
    match rate {
        0.0 => Ok(Pacing::Flood),
        rate if rate > 1e6 => Err("a rate is at most 1000000 requests per second".to_owned()),
        // About one request in a day and a half.
        rate if rate >= 1e-5 => Ok(Pacing::Every(Span::from_seconds(1.0 / rate))),
        _ => Err(allowed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_requests_per_second() {
        assert_eq!(pacing("flood"), Ok(Pacing::Flood));
        assert_eq!(pacing("0"), Ok(Pacing::Flood));
        assert_eq!(pacing("100"), Ok(Pacing::Every(Span::from_millis(10))));
        assert_eq!(pacing("0.5"), Ok(Pacing::Every(Span::from_millis(2_000))));
        for wrong in ["", "-1", "1e9", "nan", "inf", "1e-9", "10/s", "fast"] {
            assert!(pacing(wrong).is_err(), "{wrong}");
        }
    }
}
