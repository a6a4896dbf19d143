//! What may be said to `windlass link`.

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
                                       what iperf3 makes of such a path
  windlass link --rtt 36ms -- ping -c 5 192.0.2.2
                                       the peer's kernel answers without --peer
  windlass link --rate 10mbit --rtt 40ms --queue 64k --loss 0.1% --peer ./server -- ./client
                                       a short queue and some loss
  windlass link --rate 200mbit --half-duplex 45us --fade-to 20mbit --rtt 2.4ms
                                       a shell behind a radio whose signal comes and goes
  windlass link --down-rate 20mbit --up-rate 2mbit --rtt 30ms
                                       a shell behind an uneven line
  windlass link --rate 100mbit --rtt 20ms --live --peer 'iperf3 -s -1' -- iperf3 -c 192.0.2.2
                                       rates, queues and drops on the terminal meanwhile
  windlass link --rtt 20ms --report link.json --json --peer ./server -- ./client
                                       the report apart from the command's output

Addresses:
  COMMAND has 192.0.2.1 and 2001:db8::1, its peer 192.0.2.2 and 2001:db8::2. Both find them as
  WINDLASS_LOCAL and WINDLASS_PEER, WINDLASS_LOCAL6 and WINDLASS_PEER6 in their environment,
  each with its own as local. Nothing else can be reached.

Ending:
  The link ends with COMMAND; what still runs at the peer is ended then. Ctrl-C reaches COMMAND and
  the peer, as it always does. What has not ended two seconds later is ended, and the report is
  printed all the same. COMMAND's failure is windlass's: exit code 1, and its status is named.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps in bits; of IP packets, without the
         38 bytes that Ethernet adds to each
  share  3.7% or 0.037"
)]
pub struct LinkArgs {
    /// The rate of the line, each way; without it packets take no time on it
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// The round trip of an idle link; half of it is the delay of each way
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    pub rtt: Option<Span>,

    /// The most bytes that wait for the line, each way; what finds no room is dropped
    ///
    /// Without it: one bandwidth-delay product, and 10 full packets at least.
    #[arg(long, short = 'q', value_name = "SIZE", value_parser = bytes)]
    pub queue: Option<Bytes>,

    /// The share of packets that the line destroys
    #[arg(long, short = 'l', value_name = "SHARE", value_parser = share)]
    pub loss: Option<f64>,

    /// The most that chance adds to the delay; packets stay in order
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub jitter: Option<Span>,

    /// The share of packets that fall behind, so that later ones overtake them
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub reorder: Option<f64>,

    /// How far such a packet falls behind
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1ms")]
    pub reorder_by: Span,

    /// Marks what waits longer than this for the line, where its sender allows that (ECN)
    #[arg(long, value_name = "TIME", value_parser = span, requires = "rate")]
    pub mark: Option<Span>,

    /// Drops what goes beyond this rate before it comes to the queue, each way
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub policer: Option<Rate>,

    /// The burst that the policer lets pass after a silence
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "64k")]
    #[arg(requires = "policer")]
    pub burst: Bytes,

    /// Lets both ways take turns on one medium, as on a radio; before each packet it waits so long
    #[arg(long, value_name = "TIME", value_parser = span, requires = "rate")]
    pub half_duplex: Option<Span>,

    /// Lets the rate change by chance between this one and that of the line
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "rate")]
    pub fade_to: Option<Rate>,

    /// How long it has each rate
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "200ms")]
    #[arg(requires = "fade_to")]
    pub fade_every: Span,

    /// From COMMAND to the peer, where that way differs.
    #[command(flatten)]
    pub up: UpArgs,

    /// From the peer to COMMAND, where that way differs.
    #[command(flatten)]
    pub down: DownArgs,

    /// What chance begins with: loss, jitter and reordering by packet repeat with it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// The largest packet, as both ends see it
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    #[arg(value_parser = clap::value_parser!(u16).range(1_280..))]
    pub mtu: u16,

    /// How long before a packet is due the emulator stops sleeping and looks at the clock
    ///
    /// More is more exact and takes more of a processor.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "50us")]
    pub spin: Span,

    /// What runs at the far end, through `sh -c`; its standard output goes to standard error
    #[arg(long, short = 'p', value_name = "COMMAND", help_heading = "The ends")]
    pub peer: Option<String>,

    /// The longest that COMMAND waits for the peer to listen on a port
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    #[arg(help_heading = "The ends")]
    pub peer_wait: Span,

    /// What runs at the near end, with its arguments; without it your shell
    #[arg(value_name = "COMMAND", last = true, help_heading = "The ends")]
    pub command: Vec<OsString>,

    /// Where the report goes [default: standard error; with --json standard output, and what
    /// COMMAND writes goes to standard error]
    ///
    /// Standard output belongs to COMMAND.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// What is shown meanwhile.
    #[command(flatten)]
    pub live: LiveArgs,

    /// What this machine does meanwhile.
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
            /// The rate of the line
            #[arg(id = $rate, long = $rate, value_name = "RATE", value_parser = rate)]
            #[arg(help_heading = $heading)]
            pub rate: Option<Rate>,

            /// The delay, instead of half the round trip
            #[arg(id = $delay, long = $delay, value_name = "TIME", value_parser = span)]
            #[arg(help_heading = $heading)]
            pub delay: Option<Span>,

            /// The most bytes that wait for the line
            #[arg(id = $queue, long = $queue, value_name = "SIZE", value_parser = bytes)]
            #[arg(help_heading = $heading)]
            pub queue: Option<Bytes>,

            /// The share of packets that the line destroys
            #[arg(id = $loss, long = $loss, value_name = "SHARE", value_parser = share)]
            #[arg(help_heading = $heading)]
            pub loss: Option<f64>,

            /// The most that chance adds to the delay
            #[arg(id = $jitter, long = $jitter, value_name = "TIME", value_parser = span)]
            #[arg(help_heading = $heading)]
            pub jitter: Option<Span>,

            /// The share of packets that fall behind
            #[arg(id = $reorder, long = $reorder, value_name = "SHARE", value_parser = share)]
            #[arg(help_heading = $heading)]
            pub reorder: Option<f64>,
        }
    };
}

way!(
    /// The way from COMMAND to the peer.
    UpArgs, "From COMMAND to the peer, where that differs", "up-rate", "up-delay", "up-queue",
    "up-loss", "up-jitter", "up-reorder"
);
way!(
    /// The way from the peer to COMMAND.
    DownArgs, "From the peer to COMMAND, where that differs", "down-rate", "down-delay",
    "down-queue", "down-loss", "down-jitter", "down-reorder"
);
