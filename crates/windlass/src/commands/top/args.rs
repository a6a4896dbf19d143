//! Arguments of `windlass top`.

use clap::Args;
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_host::connections::{Filter, Order, Settings};
use windlass_host::{LEAST, WatchTarget};

use crate::arguments::{FilterArgs, JsonArgs, one_of};
use crate::commands::watch::wanted;

/// Values of `--sort`.
const ORDERS: &[(&str, &str, Order)] = &[
    ("rate", "rate, both directions together", Order::Rate),
    ("sent", "send rate", Order::Sent),
    ("received", "receive rate", Order::Received),
    ("rtt", "smoothed RTT", Order::Rtt),
    ("retransmissions", "segments retransmitted in the interval", Order::Retransmissions),
    ("unsent", "bytes written and not sent yet", Order::Unsent),
    ("congestion-window", "congestion window", Order::CongestionWindow),
    ("bytes", "bytes since the connection began, both directions", Order::Bytes),
    ("process", "process name, from A to Z", Order::Process),
    ("peer", "address of the other end", Order::Peer),
];

/// Connections to show, their order, the interval and the duration.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass top                             all active connections, until Ctrl-C
  windlass top --port 9100 --details       print jobs, with all figures of each
  windlass top --process cupsd --sort rtt  connections of a process, longest RTT first
  windlass top --once --all                one second, idle connections included
  windlass top --count 60 --json > minute.jsonl
                                           one JSON record per second, for a minute

Columns:
  out/s in/s    bytes acknowledged and bytes received, per second; bits with --bits
  RTT ms        smoothed RTT
  cwnd window   congestion window, and the window that the peer advertises (from 100 columns on)
  unsent        bytes written by the program and not sent yet
  resent        segments retransmitted in the interval
  now           limit for most of the interval: → sending, ← receiving, × connection closed
  last 10 s     shares of the limits in the last 10 s, one letter for each tenth

  K, M and G are powers of 1,024; for bits, of 1,000. If the kernel does not know the limit, it is
  unknown, with the possible limits in brackets. docs/top.md has the source of each column.

Values:
  time  ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct TopArgs {
    /// Filter of connections.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only connections of a process, by PID or exact name
    #[arg(long = "process", short_alias = 'p', value_name = "NAME|PID", value_parser = wanted)]
    #[arg(help_heading = "Which connections")]
    pub processes: Vec<WatchTarget>,

    /// Show idle connections as well
    #[arg(long, short = 'a', help_heading = "Which connections")]
    pub all: bool,

    /// Sort by this column, largest first
    #[arg(long, short_alias = 's', value_name = "BY", value_parser = one_of(ORDERS))]
    #[arg(default_value = "rate", help_heading = "Output")]
    pub sort: Order,

    /// Show at most this many connections [default: as many as fit on the terminal, else all]
    #[arg(long, short = 'n', value_name = "N", help_heading = "Output")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: Option<u64>,

    /// Show a second line for each connection, with the remaining figures
    #[arg(long, short_alias = 'd', help_heading = "Output", conflicts_with = "json")]
    pub details: bool,

    /// Show rates in bits per second instead of bytes
    #[arg(long, help_heading = "Output")]
    pub bits: bool,

    /// Length of an interval, at least 100ms
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "How often and how long")]
    pub interval: Span,

    /// Time over which shares are computed, at least one interval
    #[arg(long, short_alias = 'w', value_name = "TIME", value_parser = span, default_value = "10s")]
    #[arg(help_heading = "How often and how long")]
    pub window: Span,

    /// Stop after this many intervals [default: run until Ctrl-C]
    #[arg(long, short = 'c', value_name = "N", help_heading = "How often and how long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Print one interval and exit
    #[arg(long, short = '1', conflicts_with = "count", help_heading = "How often and how long")]
    pub once: bool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl TopArgs {
    /// Returns the settings of the look at connections.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        if self.interval < LEAST {
            let wrong = format!("an interval is at least {LEAST}");
            return Err(Failure::usage("cannot read connections so often", wrong).advise(
                "The kernel's clocks of limits tick every 1 to 10 ms: use a longer --interval.",
            ));
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

    /// Returns the time over which shares are computed.
    pub(super) fn window(&self) -> Span {
        self.window.max(self.interval)
    }

    /// Returns the maximum number of connections, if it is given.
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
