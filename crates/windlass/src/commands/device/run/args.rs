//! The arguments of `windlass device run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{rate, share, span};
use windlass_base::{Rate, Span};

use crate::commands::watched::WatchingArgs;
use crate::live::LiveArgs;

/// The device, the link to it, and the command.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "windlass device run [OPTIONS] <PROFILE> [-- <COMMAND>...]",
    after_long_help = "\
Examples:
  windlass device run netgear-ps101    a shell in which the device is 192.0.2.2
  windlass device run ./printer.toml --keep job.pcapng -- ./sender --host 192.0.2.2
                                       your own sender, to a learned profile
  windlass device run hawking-h-ps1u -- env DEVICE_URI=lpd://192.0.2.2/queue \\
      /usr/lib/cups/backend/lpd 1 me title 1 '' FILE
                                       the LPD backend of CUPS
  windlass device run healthy --rate 10mbit --rtt 40ms -- ./sender
                                       a device without faults, over a long path
  windlass device run troy-pocketpro-100s -- windlass print ipp://192.0.2.2 --explain FILE
                                       an IPP job, with its verdict
  windlass device run netgear-ps101 --live -- windlass print socket://192.0.2.2 FILE
                                       a live view of window, buffer and reader
  windlass device run lwip-default --port 23 --report run.json --json -- ./load-test

The device:
  The device has 192.0.2.2, COMMAND has 192.0.2.1; the network has no other host and no IPv6. The
  device takes raw data, and jobs by LPR and IPP for any queue, on the profile's ports. A method
  without a port in the profile has its usual one: raw 9100, LPR 515, IPP 631. Data is counted and
  discarded. The device answers ping, and resets connections to other ports. The environment of
  COMMAND has WINDLASS_DEVICE (the address), WINDLASS_RAW, WINDLASS_LPR and WINDLASS_IPP (the
  ports), and WINDLASS_LOCAL and WINDLASS_PEER as with `windlass link`.

Ending:
  After COMMAND ends, the device waits until all its data is acknowledged: the kernel may still
  send. Ctrl-C reaches COMMAND as usual. After two seconds windlass ends the processes that remain,
  and prints the report. If COMMAND fails, windlass names its status and exits with code 1.

Values:
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps in bits; of an Ethernet link, with
         the 38 bytes that Ethernet adds to each packet"
)]
pub struct RunArgs {
    /// Device: a name from the list of `windlass lab`, or the path of a TOML file
    #[arg(value_name = "PROFILE")]
    pub profile: String,

    /// Also take raw data on this port; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,

    /// Also take LPR jobs on this port; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub lpr_port: Vec<u16>,

    /// Also take IPP jobs on this port; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub ipp_port: Vec<u16>,

    /// Seed of the device's random numbers: the same segments at the same times then get the same
    /// replies
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "The device")]
    pub seed: u64,

    /// Rate of the link, in each direction
    ///
    /// The defaults of this and --rtt are the link of `windlass lab print-servers`.
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate, default_value = "100mbit")]
    #[arg(help_heading = "The link")]
    pub rate: Rate,

    /// Round trip time of the idle link, without the transmission time of packets
    #[arg(long, short_alias = 't', value_name = "TIME", value_parser = span, default_value = "10us")]
    #[arg(help_heading = "The link")]
    pub rtt: Span,

    /// Loss rate of packets to the device: 1% or 0.01
    #[arg(long, short_alias = 'l', value_name = "SHARE", value_parser = share)]
    #[arg(help_heading = "The link")]
    pub loss: Option<f64>,

    /// MTU of the sender's interface
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, help_heading = "The link")]
    #[arg(value_parser = clap::value_parser!(u16).range(576..))]
    pub mtu: u16,

    /// Command to run in the device's network, with its arguments [default: your shell]
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,

    /// Report the N connections that carried the most data
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub top: u16,

    /// Keep a capture of all packets at the sender, as pcapng
    ///
    /// The file can be read while COMMAND runs: try `windlass explain FILE` in the shell. An
    /// existing file is overwritten.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub keep: Option<PathBuf>,

    /// Live view.
    #[command(flatten)]
    pub live: LiveArgs,

    /// Watching this host during the run.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// File for the report [default: standard error; with --json, standard output, while the
    /// output of COMMAND goes to standard error]
    ///
    /// Standard output belongs to COMMAND.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
}
