//! The command line of `windlass link`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, rate, share, span};
use windlass_base::{Bytes, Rate, Span};

use crate::arguments::JsonArgs;
use crate::commands::watched::WatchingArgs;
use crate::live::LiveArgs;

/// The link, and the commands at its ends.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "windlass link [OPTIONS] [--peer <COMMAND>] [-- <COMMAND>...]",
    after_long_help = "\
Examples:
  windlass link --rate 100mbit --rtt 2.45ms --peer 'iperf3 -s -1' -- iperf3 -c 192.0.2.2
                                       test iperf3 over this link
  windlass link --rtt 36ms -- ping -c 5 192.0.2.2
                                       ping the peer's kernel; --peer is not needed
  windlass link --rate 10mbit --rtt 40ms --queue 64k --loss 0.1% --peer ./server -- ./client
                                       emulate a short queue and random loss
  windlass link --rate 200mbit --half-duplex 45us --fade-to 20mbit --rtt 2.4ms
                                       start a shell behind a fading radio link
  windlass link --down-rate 20mbit --up-rate 2mbit --rtt 30ms
                                       start a shell behind an asymmetric line
  windlass link --rate 100mbit --rtt 20ms --live --peer 'iperf3 -s -1' -- iperf3 -c 192.0.2.2
                                       show rates, queues and drops on the terminal
  windlass link --rtt 20ms --report link.json --json --peer ./server -- ./client
                                       write the report to a file

Addresses:
  COMMAND has 192.0.2.1 and 2001:db8::1. The peer has 192.0.2.2 and 2001:db8::2. No other host is
  reachable. Each process finds its own addresses in the variables WINDLASS_LOCAL and
  WINDLASS_LOCAL6, and those of the other end in WINDLASS_PEER and WINDLASS_PEER6.

Exit:
  When COMMAND exits, windlass stops the peer and removes the link. Ctrl-C is sent to COMMAND and
  the peer. After two seconds windlass kills processes that still run, and prints the report. If
  COMMAND fails, windlass prints its status and exits with code 1.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps in bits; counts IP packets, without the
         38 bytes of Ethernet framing
  share  3.7% or 0.037"
)]
pub struct LinkArgs {
    /// Rate of the link, each way [default: unlimited]
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// RTT of the idle link; each way has half of it as its delay [default: 0]
    #[arg(long, short_alias = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Option<Span>,

    /// Queue limit, each way; further packets are dropped
    ///
    /// The default is one bandwidth-delay product, and at least 10 full packets.
    #[arg(long, short_alias = 'q', value_name = "SIZE", value_parser = bytes)]
    pub queue: Option<Bytes>,

    /// Share of packets that are lost at random
    #[arg(long, short_alias = 'l', value_name = "SHARE", value_parser = share)]
    pub loss: Option<f64>,

    /// Maximum random addition to the delay; packets stay in order
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub jitter: Option<Span>,

    /// Share of packets that are delayed by --reorder-by, so that later packets overtake them
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub reorder: Option<f64>,

    /// Additional delay of reordered packets
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1ms")]
    pub reorder_by: Span,

    /// Mark packets that wait in the queue for longer than this (ECN), if the sender supports it
    #[arg(long, value_name = "TIME", value_parser = span, requires = "rate")]
    pub mark: Option<Span>,

    /// Police to this rate, each way: excess packets are dropped before the queue
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub policer: Option<Rate>,

    /// Burst size of the policer
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "64k")]
    #[arg(requires = "policer")]
    pub burst: Bytes,

    /// Share one half-duplex medium between both ways, as a radio does, with this access time
    /// before each packet
    #[arg(long, value_name = "TIME", value_parser = span, requires = "rate")]
    pub half_duplex: Option<Span>,

    /// Vary the rate at random between this rate and --rate
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "rate")]
    pub fade_to: Option<Rate>,

    /// Time between changes of the rate
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "200ms")]
    #[arg(requires = "fade_to")]
    pub fade_every: Span,

    /// Settings of the way from COMMAND to the peer.
    #[command(flatten)]
    pub up: UpArgs,

    /// Settings of the way from the peer to COMMAND.
    #[command(flatten)]
    pub down: DownArgs,

    /// Seed of random loss, jitter and reordering: the same seed repeats them packet by packet
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Maximum packet size of the link, at both ends
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    #[arg(value_parser = clap::value_parser!(u16).range(1_280..))]
    pub mtu: u16,

    /// Time to poll the clock, instead of sleeping, before each packet is due
    ///
    /// A longer time makes delays more exact and takes more CPU time.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "50us")]
    pub spin: Span,

    /// Command to run at the peer, through `sh -c`; its standard output goes to standard error
    #[arg(long, short_alias = 'p', value_name = "COMMAND", help_heading = "The ends")]
    pub peer: Option<String>,

    /// Maximum time to wait for the peer to listen on a port, before COMMAND starts
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    #[arg(help_heading = "The ends")]
    pub peer_wait: Span,

    /// Command to run at the near end, with its arguments [default: your shell]
    #[arg(value_name = "COMMAND", last = true, help_heading = "The ends")]
    pub command: Vec<OsString>,

    /// Write the report to this file [default: standard error; with --json standard output, and
    /// COMMAND's output goes to standard error]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// The live view.
    #[command(flatten)]
    pub live: LiveArgs,

    /// Watching this machine meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

macro_rules! way {
    (
        $(#[$about:meta])*
        $name:ident, $heading:literal, $rate:literal, $delay:literal, $queue:literal, $loss:literal,
        $jitter:literal, $reorder:literal
    ) => {
        $(#[$about])*
        #[derive(Args, Clone, Copy, Debug, Default)]
        pub struct $name {
            /// Rate, in place of --rate
            #[arg(id = $rate, long = $rate, value_name = "RATE", value_parser = rate)]
            #[arg(help_heading = $heading)]
            pub rate: Option<Rate>,

            /// Delay, in place of half of --rtt
            #[arg(id = $delay, long = $delay, value_name = "TIME", value_parser = span)]
            #[arg(help_heading = $heading)]
            pub delay: Option<Span>,

            /// Queue limit, in place of --queue
            #[arg(id = $queue, long = $queue, value_name = "SIZE", value_parser = bytes)]
            #[arg(help_heading = $heading)]
            pub queue: Option<Bytes>,

            /// Share of lost packets, in place of --loss
            #[arg(id = $loss, long = $loss, value_name = "SHARE", value_parser = share)]
            #[arg(help_heading = $heading)]
            pub loss: Option<f64>,

            /// Maximum random addition to the delay, in place of --jitter
            #[arg(id = $jitter, long = $jitter, value_name = "TIME", value_parser = span)]
            #[arg(help_heading = $heading)]
            pub jitter: Option<Span>,

            /// Share of reordered packets, in place of --reorder
            #[arg(id = $reorder, long = $reorder, value_name = "SHARE", value_parser = share)]
            #[arg(help_heading = $heading)]
            pub reorder: Option<f64>,
        }
    };
}

way!(
    /// The way from COMMAND to the peer.
    UpArgs, "From COMMAND to the peer", "up-rate", "up-delay", "up-queue",
    "up-loss", "up-jitter", "up-reorder"
);
way!(
    /// The way from the peer to COMMAND.
    DownArgs, "From the peer to COMMAND", "down-rate", "down-delay",
    "down-queue", "down-loss", "down-jitter", "down-reorder"
);
