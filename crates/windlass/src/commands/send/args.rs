//! The command line of `windlass send`.

use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, RateUnit, Span};
use windlass_drive::Protocol;
use windlass_drive::plain::{TTCP_LENGTH, TTCP_WRITES};
use windlass_drive::transfer::{
    Buffers, Direction, EndCondition, MemoryAlignment, Transfer, UNCOPIED_LENGTH,
};
use windlass_drive::udp::{USUAL_LENGTH, usual_pace};

use crate::arguments::{JsonArgs, one_of};
use crate::commands::far_host::{FamilyArgs, host};
use crate::commands::ip_args::IpArgs;
use crate::commands::measuring::MeasuringArgs;
use crate::commands::rate_unit::UNITS;

/// Length of a test by default.
const USUAL_TIME: Span = Span::from_millis(10_000);

/// Length of each test of `--find-rate` by default.
const TRIAL_TIME: Span = Span::from_millis(1_000);

/// The protocols, and the server of each.
const PROTOCOLS: [(&str, &str, Protocol); 4] = [
    ("windlass", "windlass serve: both ends report what their kernels measure", Protocol::Windlass),
    ("iperf3", "iperf3 -s: reports bytes, times and CPU time", Protocol::Iperf3),
    ("iperf", "iperf -s of iperf 2: reports nothing", Protocol::Iperf),
    (
        "ttcp",
        "ttcp -r, PCATTCP, or any server that reads until the end: reports nothing",
        Protocol::Ttcp,
    ),
];

/// A number of bytes, or a number of writes and their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    bytes: Bytes,
    length: Option<Bytes>,
}

/// The arguments of `windlass send`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass send 192.0.2.2                       measure the rate, and explain what limits it
  windlass send 192.0.2.2 --window 56k          limit the window to 56 KiB, as some devices do
  windlass send 192.0.2.2 --reverse --streams 4 receive over 4 streams
  windlass send 192.0.2.2 --bytes 16384x8192    send 16,384 writes of 8,192 bytes, as ttcp counts
  windlass send printer-host --file job.prn     send your own file
  windlass send 192.0.2.2 --dscp ef --bind %eth1
                                                send packets marked DSCP ef through eth1
  windlass send 192.0.2.2 --protocol iperf3 -R  receive from a stock iperf3 -s
  windlass send 192.0.2.2 --udp --rate 50mbit   measure loss, reordering and jitter of UDP
                                                datagrams at an even pace
  windlass send 192.0.2.2 --protocol iperf3 --udp --rate 50mbit
                                                measure the same with a stock iperf3 -s
  windlass send 192.0.2.2 --udp --find-rate     find the rate at which the path begins to lose
                                                datagrams
  windlass send 192.0.2.2 --protocol ttcp       send 2,048 writes of 8,192 bytes to ttcp -r
  windlass send 192.0.2.2 --protocol ttcp --udp --pace 10mbit
                                                send 2,048 datagrams at 10 Mbit/s to ttcp -r -u
  windlass send 192.0.2.2 --time 60s --live     show a live view on the terminal
  windlass send 192.0.2.2 --time 60s --interval 5s --json > run.json
                                                save the report as JSON
  windlass send 192.0.2.2 --json-stream | jq    print a line of JSON for each interval
  windlass link --rate 100mbit --rtt 2.45ms --peer 'windlass serve' -- windlass send 192.0.2.2
                                                test over an emulated link

The server:
  Run windlass serve on the other host. With --window or --mss, data goes to a port that the server
  opens for this test. Otherwise all connections go to the server's port.

  With --protocol the server is a stock iperf3 -s, iperf -s or ttcp -r. These servers report no
  figures of their kernel, and do not answer the small messages that measure latency. iperf3 sets
  its socket buffers to --window. With ttcp and iperf 2, --window applies to this end alone. For
  ttcp the default amount is PCATTCP's: 2,048 writes of 8,192 bytes.

  With --udp each stream is a flow of datagrams to the same port number. Each datagram carries a
  number and its sending time. The report separates loss on the path from drops at the receiver's
  socket; stock iperf3 and iperf servers do not report those drops. The default rate is 1 Mbit/s, as
  in iperf3 and iperf. ttcp's datagrams carry no numbers, so the loss is unknown: compare the amount
  sent with the amount that ttcp -r -u or windlass serve received.

Windows and buffers:
  --window is the advertised receive window: windlass sizes and clamps the socket's buffer for it.
  --send-buffer is the value of SO_SNDBUF. Linux grants twice as much, to include its own overhead.
  The report has the requested, granted and advertised sizes. Without these options the kernel
  sizes the buffers automatically.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps, 100M in bits; a bare number is bit/s")]
pub struct SendArgs {
    /// Server to test with, as HOST or HOST:PORT
    #[arg(value_name = "HOST", value_parser = host)]
    pub host: String,

    /// IPv4 or IPv6 alone.
    #[command(flatten)]
    pub family: FamilyArgs,

    /// Protocol of the server
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    #[arg(default_value = "windlass")]
    pub protocol: Protocol,

    /// Server port [default: 5201; 5001 for ttcp and iperf]
    #[arg(long, short = 'p', value_name = "PORT")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// File with the server's token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Length of the test [default: 10s]
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "The transfer")]
    pub time: Option<Span>,

    /// Amount to send, in place of --time; 16384x8192 is 16384 writes of 8192 bytes
    #[arg(long, short = 'n', value_name = "SIZE", value_parser = amount)]
    #[arg(conflicts_with = "time", help_heading = "The transfer")]
    pub bytes: Option<Amount>,

    /// Send this file once; `-` is standard input
    #[arg(long, short = 'F', value_name = "FILE", help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["time", "bytes", "reverse", "bidirectional"])]
    pub file: Option<PathBuf>,

    /// Repeat the test until Ctrl-C
    #[arg(long, help_heading = "The transfer", conflicts_with_all = ["file", "live"])]
    pub continuous: bool,

    /// Send UDP datagrams, one for each write
    #[arg(long, short = 'u', help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["copy", "align"])]
    pub udp: bool,

    /// Number of parallel streams
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1)]
    #[arg(help_heading = "The transfer")]
    pub streams: u16,

    /// Receive: the server sends to this host
    #[arg(long, short = 'R', conflicts_with = "bidirectional", help_heading = "The transfer")]
    pub reverse: bool,

    /// Send and receive at once, over separate streams
    #[arg(long, short = 'd', help_heading = "The transfer")]
    pub bidirectional: bool,

    /// Size of a write, or of a datagram [default with --udp: 1400]
    #[arg(long, short = 'l', value_name = "SIZE", value_parser = bytes)]
    #[arg(help_heading = "The transfer")]
    pub length: Option<Bytes>,

    /// Copy the data with each write, as most programs do; by default, writes of
    /// 64 KiB and more are spliced without a copy
    #[arg(long, help_heading = "The transfer")]
    pub copy: bool,

    /// Align the send buffer's memory to a multiple of SIZE, plus an offset: 4096, 16384+3
    #[arg(long, value_name = "SIZE", value_parser = align, help_heading = "The transfer")]
    pub align: Option<MemoryAlignment>,

    /// Limit the send rate, over all streams [default with --udp: 1mbit]
    #[arg(long, short = 'b', visible_alias = "rate", value_name = "RATE", value_parser = rate)]
    #[arg(help_heading = "The transfer")]
    pub pace: Option<Rate>,

    /// Find the rate at which the path begins to lose datagrams, by tests of 1s or --time each,
    /// starting at --rate
    #[arg(long, requires = "udp", help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["bytes", "file", "continuous", "bidirectional", "live"])]
    pub find_rate: bool,

    /// Largest receive window that each end advertises
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub window: Option<Bytes>,

    /// Largest receive window of the server, in place of --window
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub peer_window: Option<Bytes>,

    /// Send buffer of each end (`SO_SNDBUF`)
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub send_buffer: Option<Bytes>,

    /// Send buffer of the server, in place of --send-buffer
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub peer_send_buffer: Option<Bytes>,

    /// Congestion control of the sender: cubic, bbr
    #[arg(long, short = 'C', value_name = "NAME", help_heading = "TCP")]
    pub congestion: Option<String>,

    /// Maximum segment size (`TCP_MAXSEG`)
    #[arg(long, short = 'M', value_name = "BYTES", help_heading = "TCP")]
    pub mss: Option<u16>,

    /// Disable Nagle's algorithm (`TCP_NODELAY`)
    #[arg(long, short = 'N', help_heading = "TCP")]
    pub nodelay: bool,

    /// Settings of IP packets.
    #[command(flatten)]
    pub ip: IpArgs,

    /// Port that data connections come from; of several, each takes the next
    #[arg(long, value_name = "PORT", help_heading = "IP")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub cport: Option<u16>,

    /// Time between figures
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "The measurement")]
    pub interval: Span,

    /// Omit the start of the test from the result
    #[arg(long, short = 'O', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "The measurement")]
    pub omit: Option<Span>,

    /// Do not measure latency with small messages, idle and under load
    #[arg(long, help_heading = "The measurement")]
    pub no_latency: bool,

    /// Unit of rates, as in iperf -f
    #[arg(long, short = 'f', value_name = "UNIT", value_parser = one_of(&UNITS))]
    #[arg(help_heading = "Output", conflicts_with_all = ["json", "json_stream"])]
    pub format: Option<RateUnit>,

    /// Print one line of JSON for each interval, and the report as the last line
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "live"])]
    pub json_stream: bool,

    /// Print the test in the format of iperf3 --json
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["json", "json_stream", "live", "format", "find_rate", "continuous"])]
    pub json_iperf3: bool,

    /// Write the test as a data file for flent: NAME.flent.gz
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(conflicts_with_all = ["find_rate", "continuous"])]
    pub flent: Option<PathBuf>,

    /// Options of every measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Reads an alignment: a multiple, and an offset behind it.
fn align(text: &str) -> Result<MemoryAlignment, String> {
    let (to, offset) = text.split_once('+').map_or((text, None), |(to, rest)| (to, Some(rest)));
    let size =
        |text: &str| u32::try_from(bytes(text)?.get()).map_err(|_| format!("{text} is too much"));
    Ok(MemoryAlignment { to: size(to)?, offset: offset.map_or(Ok(0), size)? })
}

/// Reads an amount: a size, or a number of writes and their size.
fn amount(text: &str) -> Result<Amount, String> {
    let squeezed: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let Some((count, length)) = squeezed.split_once(['x', '×']) else {
        return Ok(Amount { bytes: bytes(text)?, length: None });
    };
    let allowed = || "write a number of writes and their size as 16384x8192".to_owned();
    let count: u64 = count.parse().map_err(|_| allowed())?;
    let length = bytes(length).map_err(|_| allowed())?;
    let whole = count.checked_mul(length.get()).filter(|whole| *whole > 0).ok_or_else(allowed)?;
    Ok(Amount { bytes: Bytes::new(whole), length: Some(length) })
}

impl SendArgs {
    /// Returns the arguments with host and port separated, and with an address of the requested
    /// family.
    ///
    /// # Errors
    /// Fails if the host and the option name two ports, or if the host has no such address.
    pub fn reached(&self) -> Result<Self, Failure> {
        let (host, port) = self.family.reach(&self.host, self.port)?;
        Ok(Self { host, port, ..self.clone() })
    }

    /// Returns the port of the other end.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.protocol.port())
    }

    /// Returns the requested transfer.
    pub fn transfer(&self) -> Result<Transfer, Failure> {
        let direction = match (self.reverse, self.bidirectional) {
            (true, _) => Direction::Reverse,
            (_, true) => Direction::Both,
            _ => Direction::Forward,
        };
        let given = Transfer::default();
        let length = self.length.or_else(|| self.bytes.and_then(|amount| amount.length));
        let is_ttcp = self.protocol == Protocol::Ttcp;
        let length = length.or_else(|| is_ttcp.then_some(Bytes::new(TTCP_LENGTH.into())));
        let is_numbered = self.udp && !is_ttcp;
        let length = length.or_else(|| is_numbered.then_some(Bytes::new(USUAL_LENGTH.into())));
        // iperf3 reads as much at a time as is written.
        let copies = self.copy || self.file.is_some() || self.protocol == Protocol::Iperf3;
        let usual = if copies { given.length } else { UNCOPIED_LENGTH };
        let until = match (&self.file, self.bytes, self.time) {
            (Some(_), _, _) => EndCondition::SourceEnds,
            (None, Some(amount), _) => EndCondition::Bytes(amount.bytes),
            (None, None, Some(time)) => EndCondition::Time(time),
            (None, None, None) if is_ttcp => {
                let each = length.map_or(0, Bytes::get);
                EndCondition::Bytes(Bytes::new(each.saturating_mul(TTCP_WRITES)))
            }
            (None, None, None) if self.find_rate => EndCondition::Time(TRIAL_TIME),
            (None, None, None) => EndCondition::Time(USUAL_TIME),
        };
        let mut ip = self.ip.ip();
        ip.bind.port = self.cport;
        let transfer = Transfer {
            direction,
            streams: self.streams,
            udp: self.udp,
            until,
            omit: self.omit.unwrap_or(given.omit),
            interval: self.interval,
            length: length.map_or(usual, |length| {
                // A length that is too long is refused below.
                u32::try_from(length.get()).unwrap_or(u32::MAX)
            }),
            copy: self.copy,
            align: self.align,
            client: Buffers { window: self.window, send: self.send_buffer },
            server: Buffers {
                window: self.peer_window.or(self.window),
                send: self.peer_send_buffer.or(self.send_buffer),
            },
            congestion: self.congestion.clone(),
            mss: self.mss,
            nodelay: self.nodelay,
            pace: self.pace.or_else(|| is_numbered.then(usual_pace)),
            ip,
        };
        let doing = || format!("cannot send to {}", self.host);
        transfer.check().map_err(|error| Failure::usage(doing(), error))?;
        if self.flent.is_some() && transfer.udp && transfer.direction == Direction::Reverse {
            let wrong = "flent has no test of UDP from the server to the client alone";
            return Err(Failure::usage(doing(), wrong).advise("Omit --flent, --udp or --reverse."));
        }
        if self.file.is_some() && self.streams > 1 {
            let wrong = "a file goes over one stream, because several would mix its order";
            return Err(Failure::usage(doing(), wrong).advise("Omit --streams."));
        }
        self.check_protocol(&transfer)?;
        Ok(transfer)
    }
}

impl SendArgs {
    /// Refuses options that the server's protocol cannot carry.
    fn check_protocol(&self, transfer: &Transfer) -> Result<(), Failure> {
        let protocol = self.protocol;
        let doing = || format!("cannot send to {}", self.host);
        if self.find_rate && protocol == Protocol::Ttcp {
            let wrong = "ttcp's datagrams carry no numbers, so their loss is unknown";
            return Err(Failure::usage(doing(), wrong)
                .advise("Use windlass serve or iperf3 -s as the server."));
        }
        let refuse = |wrong: String, advice: &str| {
            Err(Failure::usage(doing(), wrong).advise(advice.to_owned()))
        };
        if protocol == Protocol::Windlass {
            return protocol.check(transfer).map_err(|error| Failure::usage(doing(), error));
        }
        if self.token_file.is_some() {
            let wrong = format!("{protocol} has no tokens");
            return refuse(wrong, "Omit --token-file, or run windlass serve on the server.");
        }
        if protocol.is_plain() && (self.peer_window.is_some() || self.peer_send_buffer.is_some()) {
            let wrong = format!("the client cannot set the buffers of a {protocol} server");
            return refuse(wrong, "Set the size on the server's own command line.");
        }
        protocol.check(transfer).map_err(|error| Failure::usage(doing(), error))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, DriveCommands};

    fn asked(line: &str) -> Result<Transfer, Failure> {
        let words = ["windlass", "send", "host"].into_iter().chain(line.split_whitespace());
        match Cli::parse_from(words).command {
            Command::Driving(DriveCommands::Send(args)) => args.transfer(),
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn writes_are_counted_as_ttcp_does() {
        let transfer = asked("--bytes 16384x8192").unwrap();
        assert_eq!(transfer.until, EndCondition::Bytes(Bytes::new(134_217_728)));
        assert_eq!(transfer.length, 8_192);
        assert_eq!(amount("16384 x 8192"), amount("16384×8k"));
        for wrong in ["x", "3x", "x3", "1.5x3", "0x10", "99999999999x99999999999"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_window_is_for_both_ends_unless_they_are_told_apart() {
        let transfer = asked("--window 56k --peer-window 8k --send-buffer 1M").unwrap();
        assert_eq!(transfer.client.window, Some(Bytes::new(57_344)));
        assert_eq!(transfer.server.window, Some(Bytes::new(8_192)));
        assert_eq!(transfer.server.send, transfer.client.send);
        assert_eq!(asked("").unwrap().until, EndCondition::Time(Span::from_millis(10_000)));
    }

    #[test]
    fn ttcp_sends_what_pcattcp_does() {
        let transfer = asked("--protocol ttcp").unwrap();
        assert_eq!(transfer.until, EndCondition::Bytes(Bytes::new(2_048 * 8_192)));
        assert_eq!(transfer.length, 8_192);
        let transfer = asked("--protocol ttcp --length 1k").unwrap();
        assert_eq!(transfer.until, EndCondition::Bytes(Bytes::new(2_048 * 1_024)));
        let transfer = asked("--protocol ttcp --time 3s").unwrap();
        assert_eq!(transfer.until, EndCondition::Time(Span::from_millis(3_000)));
        assert_eq!(asked("--protocol iperf").unwrap().until, EndCondition::Time(USUAL_TIME));
    }

    #[test]
    fn datagrams_have_a_length_and_a_pace_of_their_own() {
        let transfer = asked("--udp").unwrap();
        assert_eq!((transfer.length, transfer.pace), (1_400, Some(usual_pace())));
        let transfer = asked("--udp --rate 50mbit --length 1k --reverse").unwrap();
        assert_eq!(transfer.pace, Some(Rate::from_bits_per_second(50e6)));
        assert_eq!((transfer.length, transfer.direction), (1_024, Direction::Reverse));
        assert_eq!(asked("--protocol ttcp --udp").unwrap().pace, None);
        let until = |line| asked(line).unwrap().until;
        assert_eq!(until("--udp --find-rate"), EndCondition::Time(TRIAL_TIME));
        assert_eq!(
            until("--udp --find-rate --time 3s"),
            EndCondition::Time(Span::from_millis(3_000))
        );
        let transfer = asked("--protocol iperf3 --udp").unwrap();
        assert_eq!((transfer.length, transfer.pace), (1_400, Some(usual_pace())));
    }

    #[test]
    fn what_cannot_be_done_is_a_wrong_use() {
        for wrong in [
            "--streams 0",
            "--interval 1ms",
            "--file f --streams 2",
            "--mss 20",
            "--protocol ttcp --reverse",
            "--udp --length 16",
            "--udp --file f",
            "--udp --window 8k",
            "--udp --streams 129",
            "--protocol iperf3 --udp --length 15",
            "--protocol iperf3 --udp --window 8k",
            "--protocol iperf --udp --length 91",
            "--protocol iperf --udp --reverse",
            "--protocol iperf --udp --omit 1s",
            "--protocol ttcp --udp --find-rate",
            "--protocol ttcp --udp --streams 2",
            "--protocol ttcp --udp --length 9",
            "--protocol ttcp --udp --omit 1s",
            "--protocol ttcp --udp --length 64k",
            "--protocol ttcp --udp --mss 1000",
            "--protocol ttcp --udp --window 8k",
            "--align 8+8",
            "--protocol iperf --bidirectional",
            "--protocol iperf --peer-window 8k",
            "--protocol iperf --file f",
            "--protocol iperf3 --token-file f",
            "--protocol iperf3 --streams 129",
            "--protocol iperf3 --length 2M",
            "--protocol iperf3 --omit 1500ms",
            "--protocol iperf3 --window 8k --send-buffer 9k",
        ] {
            asked(wrong).unwrap_err();
        }
    }
}
