//! What may be said to `windlass device run`.

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
                                       your own sender, to a profile that was learned
  windlass device run hawking-h-ps1u -- env DEVICE_URI=lpd://192.0.2.2/queue \\
      /usr/lib/cups/backend/lpd 1 me title 1 '' FILE
                                       CUPS, without its scheduler
  windlass device run healthy --rate 10mbit --rtt 40ms -- ./sender
                                       a device without a fault, behind a long line
  windlass device run troy-pocketpro-100s -- windlass print ipp://192.0.2.2 --explain FILE
                                       a job by IPP, with what held it back
  windlass device run netgear-ps101 --live -- windlass print socket://192.0.2.2 FILE
                                       its window, buffer and reader on the terminal meanwhile
  windlass device run lwip-default --port 23 --report run.json --json -- ./load-test

The device:
  It has 192.0.2.2, COMMAND has 192.0.2.1; there is nothing else, and no IPv6. It takes raw data,
  and jobs by LPR and IPP for any queue, on the profile's ports. A method that the profile does not
  have is on its usual port: raw on 9100, LPR on 515, IPP on 631. What is sent is counted and thrown
  away. It answers ping, and resets what comes to other ports. COMMAND finds in its environment
  WINDLASS_DEVICE (the address), WINDLASS_RAW, WINDLASS_LPR and WINDLASS_IPP (the ports), and
  WINDLASS_LOCAL and WINDLASS_PEER as with `windlass link`.

Ending:
  The device ends with COMMAND, when all that COMMAND has written is acknowledged: a program may end
  while the kernel still sends for it. Ctrl-C reaches COMMAND, as it always does; what has not ended
  two seconds later is ended, and the report is printed all the same. COMMAND's failure is
  windlass's: exit code 1, and its status is named.

Values:
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps in bits; of an Ethernet line, with the
         38 bytes that it adds to each packet"
)]
pub struct RunArgs {
    /// The device: a name from the list of `windlass lab`, or the path of a
    /// TOML file
    #[arg(value_name = "PROFILE")]
    pub profile: String,

    /// Take raw data on this port as well; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,

    /// Take jobs by LPR on this port as well; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub lpr_port: Vec<u16>,

    /// Take jobs by IPP on this port as well; may be repeated
    #[arg(long, value_name = "PORT", help_heading = "The device")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub ipp_port: Vec<u16>,

    /// Decide by this number what is left to chance in the device: the same
    /// segments at the same times then have the same answers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "The device")]
    pub seed: u64,

    /// The rate of the line, each way
    ///
    /// This and --rtt are by default the link of `windlass lab print-servers`.
    #[arg(long, short = 'r', value_name = "RATE", value_parser = rate, default_value = "100mbit")]
    #[arg(help_heading = "The link")]
    pub rate: Rate,

    /// The round trip of the idle link, besides the packets' time on the line
    #[arg(long, short = 't', value_name = "TIME", value_parser = span, default_value = "10us")]
    #[arg(help_heading = "The link")]
    pub rtt: Span,

    /// The share of packets to the device that the line destroys: 1% or 0.01
    #[arg(long, short = 'l', value_name = "SHARE", value_parser = share)]
    #[arg(help_heading = "The link")]
    pub loss: Option<f64>,

    /// The largest packet, as the sender sees it
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, help_heading = "The link")]
    #[arg(value_parser = clap::value_parser!(u16).range(576..))]
    pub mtu: u16,

    /// What runs beside the device, with its arguments; without it your shell
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,

    /// Tell of so many connections, those that carried most data
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub top: u16,

    /// Keep a capture of everything that passes the sender, as pcapng
    ///
    /// It grows while COMMAND runs, and can be read by then: try `windlass explain FILE` in the
    /// shell. A file of this name is written over.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub keep: Option<PathBuf>,

    /// What is shown meanwhile.
    #[command(flatten)]
    pub live: LiveArgs,

    /// What this machine does meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Where the report goes [default: standard error; with --json standard output, and what
    /// COMMAND writes goes to standard error]
    ///
    /// Standard output belongs to COMMAND.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
}
