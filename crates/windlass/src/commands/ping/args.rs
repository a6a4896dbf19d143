//! What may be said to `windlass ping`.

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

/// Whom to ask, how, and how often.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("served").multiple(true))]
#[command(after_long_help = "\
Examples:
  windlass ping printer:9100       how long the printer takes to accept a connection
  windlass ping printer            the same question by ICMP
  windlass ping server --latency   round trips of 64 B to windlass serve, on its port 5201
  windlass ping server --latency --size 1k --response 16k --rate 100 --time 1min
                                   100 requests a second for a minute
  windlass ping server --udp       the same by datagrams: how many of them are lost, too
  windlass ping printer:9100 --count 1000 --rate flood --histogram 20
                                   as fast as answers come, in 20 equal buckets
  windlass ping server --latency --count 100000 --samples trips.csv
                                   each round trip, as a row of a table
  windlass ping server --latency --cpu 1 --histogram 20us,50us,100us
                                   on one processor, in buckets of one's own

What is timed:
  connect    the handshake of TCP. Each has a connection of its own, which is then reset: nothing
             of it stays at either end. A refusal is an answer as well: it comes from the host.
  --latency  from before a request is sent until its answer is read, over one connection
  --udp      the same by datagrams of UDP, each with a number of its own: an answer that does not
             come in time is lost, and the next request goes
  --icmp     from before an echo is asked for until it comes

  windlass sleeps until shortly before an answer is to be expected and is awake when it comes, so
  what the system takes to wake a program is not in the figures. With --asleep it is, as in those
  of most programs: with --latency windlass serve sleeps until a request comes, too, and says so.

Samples:
  Rows of number, begin_seconds, trip_seconds, outcome and resent: when the request was made, from
  the first one; how long its answer took, empty where none came; answered, refused, silent or
  unreachable; and whether the SYN was sent again.

Exit codes:
  0  something was answered
  1  nothing was, or it could not go on

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct PingArgs {
    /// Who is asked.
    #[arg(value_name = "HOST[:PORT]", value_parser = target)]
    #[arg(
        help = "A name or an address, and the port: printer, 192.0.2.2:9100, [2001:db8::2]:9100"
    )]
    pub target: Target,

    /// Ask windlass serve for answers over one connection
    #[arg(long, short = 'l', conflicts_with = "icmp", group = "served")]
    pub latency: bool,

    /// Ask windlass serve for answers by datagrams of UDP
    #[arg(long, short = 'u', conflicts_with = "icmp", group = "served")]
    pub udp: bool,

    /// Ask for echoes of ICMP, as it does without a port
    #[arg(long)]
    pub icmp: bool,

    /// IPv4 or IPv6 alone.
    #[command(flatten)]
    pub family: FamilyArgs,

    /// How many requests; without it and without --time 4, and for 5 s with --latency and --udp
    #[arg(long, short = 'c', value_name = "N", help_heading = "How many and how often")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// For how long requests are begun
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "How many and how often")]
    pub time: Option<Span>,

    /// From one request to the next; 1s without it, and none with --latency and --udp
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, conflicts_with = "rate")]
    #[arg(help_heading = "How many and how often")]
    pub interval: Option<Span>,

    /// Requests per second, or `flood`: the next one goes when an answer has come
    #[arg(long, short = 'r', value_name = "N|flood", value_parser = pacing)]
    #[arg(help_heading = "How many and how often")]
    pub rate: Option<Pacing>,

    /// How many requests do not count, at first; 1 without it, and 10 with --latency and --udp
    #[arg(long, short = 'w', value_name = "N", help_heading = "How many and how often")]
    pub warmup: Option<u64>,

    /// How long an answer is waited for; 2s without it, and 10s with --latency
    #[arg(long, value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "How many and how often")]
    pub timeout: Option<Span>,

    /// The size of a request, up to 1M with --latency and 65507 with --udp; an echo's data. 64 and
    /// 56 without it
    #[arg(long, short = 's', value_name = "SIZE", value_parser = bytes)]
    pub size: Option<Bytes>,

    /// The size of an answer, up to as much; as the request's without it
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "served")]
    pub response: Option<Bytes>,

    /// Keep to this processor
    #[arg(long, value_name = "N", help_heading = "How it is measured")]
    pub cpu: Option<usize>,

    /// Sleep until an answer comes, as most programs do; with --latency the server does, too
    ///
    /// The figures then hold what the system takes to wake a program, and the server's.
    #[arg(long, help_heading = "How it is measured")]
    pub asleep: bool,

    /// The file with the token that the server asks for
    #[arg(long, value_name = "FILE", requires = "served")]
    pub token_file: Option<PathBuf>,

    /// Count the times in N equal buckets, or between edges such as 0.1ms,0.5ms,1ms
    #[arg(long, value_name = "N|EDGES", value_parser = buckets, help_heading = "Output")]
    pub histogram: Option<Buckets>,

    /// Write each request that counts to this file, as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub samples: Option<PathBuf>,

    /// What is set on the packets of IP.
    #[command(flatten)]
    pub ip: IpArgs,

    /// What is done beside the measurement, and with it.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// When the next request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// When the last one is answered.
    Flood,
    /// After so long.
    Every(Span),
}

/// Requests per second: a number of them, or `flood`.
fn pacing(text: &str) -> Result<Pacing, String> {
    let allowed = || "a rate is a number of requests per second, or `flood`".to_owned();
    if text == "flood" {
        return Ok(Pacing::Flood);
    }
    let rate: f64 = text.parse().map_err(|_| allowed())?;
    match rate {
        0.0 => Ok(Pacing::Flood),
        rate if rate > 1e6 => Err("a rate is at most 1000000 requests per second".to_owned()),
        // One in a day and a half.
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
