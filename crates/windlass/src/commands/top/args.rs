//! What may be said to `windlass top`.

use clap::Args;
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_host::connections::{Filter, Order, Settings};
use windlass_host::{LEAST, WatchTarget};

use crate::arguments::{FilterArgs, JsonArgs, one_of};
use crate::commands::watch::wanted;

/// The words of `--sort`.
const ORDERS: &[(&str, &str, Order)] = &[
    ("rate", "what goes both ways", Order::Rate),
    ("sent", "what is sent", Order::Sent),
    ("received", "what comes", Order::Received),
    ("rtt", "the round trip", Order::Rtt),
    ("retransmissions", "what was sent again in the interval", Order::Retransmissions),
    ("unsent", "what is written and not sent yet", Order::Unsent),
    ("congestion-window", "the congestion window", Order::CongestionWindow),
    ("bytes", "what went both ways since the connection began", Order::Bytes),
    ("process", "the name of the process, from A to Z", Order::Process),
    ("peer", "the other end's address", Order::Peer),
];

/// Which connections to show, how often and for how long.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass top                             all connections that move, until Ctrl-C
  windlass top --port 9100 --details       print jobs, with all that the kernel says of each
  windlass top --process cupsd --sort rtt  those of a process, the longest round trip first
  windlass top --once --all                a second, and every connection
  windlass top --count 60 --json > minute.jsonl
                                           a record a second, for programs

Columns:
  out/s in/s    bytes acknowledged and bytes received, per second; bits with --bits
  RTT ms        the smoothed round trip
  cwnd window   the congestion window, and what the other end advertises (100 columns and more)
  unsent        written by the program and not sent yet
  resent        segments sent again in the interval
  now           what most of the interval went to: → of what is sent, ← of what comes, × at the end
  last 10 s     the shares of the last seconds, a letter for each tenth

  K, M and G are 1,024s, and of bits 1,000s. A limit that the kernel does not know is unknown, with those of which it
  is one in brackets. docs/top.md has the source of each, and what would tell.

Values:
  time  ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct TopArgs {
    /// Which connections.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only connections of a process, by its number or its exact name
    #[arg(long = "process", short = 'p', value_name = "NAME|PID", value_parser = wanted)]
    #[arg(help_heading = "Which connections")]
    pub processes: Vec<WatchTarget>,

    /// Those that moved nothing as well
    #[arg(long, short = 'a', help_heading = "Which connections")]
    pub all: bool,

    /// By what they are sorted, the most first
    #[arg(long, short = 's', value_name = "BY", value_parser = one_of(ORDERS))]
    #[arg(default_value = "rate", help_heading = "Output")]
    pub sort: Order,

    /// The most connections of an interval; without it what fits on the terminal, or all
    #[arg(long, short = 'n', value_name = "N", help_heading = "Output")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: Option<u64>,

    /// A second line for each connection, with all else that the kernel says of it
    #[arg(long, short = 'd', help_heading = "Output", conflicts_with = "json")]
    pub details: bool,

    /// Rates in bits per second, in place of bytes
    #[arg(long, help_heading = "Output")]
    pub bits: bool,

    /// From one look to the next, 100ms at least
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "How often and how long")]
    pub interval: Span,

    /// How far back shares go, an interval at least
    #[arg(long, short = 'w', value_name = "TIME", value_parser = span, default_value = "10s")]
    #[arg(help_heading = "How often and how long")]
    pub window: Span,

    /// How many intervals; without it until Ctrl-C
    #[arg(long, short = 'c', value_name = "N", help_heading = "How often and how long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// One interval, printed once; its JSON is one record
    #[arg(long, short = '1', conflicts_with = "count", help_heading = "How often and how long")]
    pub once: bool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl TopArgs {
    /// What is to be shown.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        if self.interval < LEAST {
            let wrong = format!("an interval is {LEAST} at least");
            return Err(Failure::usage("cannot look at connections so often", wrong)
                .advise("The kernel counts in ticks of up to 10 ms what holds a connection."));
        }
        Ok(Settings {
            interval: self.interval.to_duration(),
            count: if self.once { Some(1) } else { self.count },
            window: self.window(),
            filter: Filter {
                host: self.filter.host,
                port: self.filter.port,
                processes: self.processes.clone(),
                all: self.all,
            },
            order: self.sort,
        })
    }

    /// How far back shares go.
    pub(super) fn window(&self) -> Span {
        self.window.max(self.interval)
    }

    /// How many connections are wanted at most, where that is said.
    pub(super) fn most(&self) -> Option<usize> {
        self.rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_has_its_word() {
        for order in Order::ALL {
            assert!(ORDERS.iter().any(|(word, _, of)| *of == order && *word == order.id()));
        }
    }
}
