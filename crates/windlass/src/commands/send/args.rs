//! What may be said to `windlass send`.

use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, rate, span};
use windlass_base::{Bytes, Failure, Rate, RateUnit, Span};
use windlass_drive::Protocol;
use windlass_drive::plain::{TTCP_LENGTH, TTCP_WRITES};
use windlass_drive::transfer::{Align, Buffers, Direction, Transfer, UNCOPIED_LENGTH, Until};
use windlass_drive::udp::{USUAL_LENGTH, usual_pace};

use crate::arguments::{JsonArgs, one_of};
use crate::commands::far_host::{FamilyArgs, host};
use crate::commands::ip_args::IpArgs;
use crate::commands::measuring::MeasuringArgs;
use crate::commands::rate_unit::UNITS;

/// How long a test is where nothing says so.
const USUAL_TIME: Span = Span::from_millis(10_000);

/// The same of each of several that look for a rate.
const TRIAL_TIME: Span = Span::from_millis(1_000);

/// How to speak with the other end.
const PROTOCOLS: [(&str, &str, Protocol); 4] = [
    ("windlass", "windlass serve: both ends tell what their kernels say", Protocol::Windlass),
    ("iperf3", "iperf3 -s: it tells bytes, times and processor time", Protocol::Iperf3),
    ("iperf", "iperf -s of iperf 2: data only", Protocol::Iperf),
    ("ttcp", "ttcp -r, PCATTCP, or anything that reads to the end: data only", Protocol::Ttcp),
];

/// A number of bytes, or of writes and their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    bytes: Bytes,
    length: Option<Bytes>,
}

/// The arguments of `windlass send`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass send 192.0.2.2                       how fast, and what holds it back
  windlass send 192.0.2.2 --window 56k          with the window that a device has
  windlass send 192.0.2.2 --reverse --streams 4 from there to here, over 4 streams
  windlass send 192.0.2.2 --bytes 16384x8192    as ttcp counts: 16,384 writes of 8,192 bytes
  windlass send printer-host --file job.prn     a file of your own
  windlass send 192.0.2.2 --dscp ef --bind %eth1
                                                in packets that routers hurry on, by eth1
  windlass send 192.0.2.2 --protocol iperf3 -R  from a stock iperf3 -s to here
  windlass send 192.0.2.2 --udp --rate 50mbit   datagrams at an even pace: what of them is lost,
                                                late or out of order, and how evenly they come
  windlass send 192.0.2.2 --protocol iperf3 --udp --rate 50mbit
                                                the same to a stock iperf3 -s
  windlass send 192.0.2.2 --udp --find-rate     at which rate the path begins to lose them
  windlass send 192.0.2.2 --protocol ttcp       to ttcp -r: 2,048 writes of 8,192 bytes
  windlass send 192.0.2.2 --protocol ttcp --udp --pace 10mbit
                                                to ttcp -r -u: as many datagrams, at a rate
  windlass send 192.0.2.2 --time 60s --live     a view on the terminal while it runs
  windlass send 192.0.2.2 --time 60s --interval 5s --json > run.json
  windlass send 192.0.2.2 --json-stream | jq    a line of JSON as soon as there is something to say
  windlass link --rate 100mbit --rtt 2.45ms --peer 'windlass serve' -- windlass send 192.0.2.2
                                                over an emulated link

The other end:
  windlass serve runs there. With a window or an MSS, the data goes to a port that the server opens
  for the test; otherwise all goes to its one port.

  With --protocol it is a stock iperf3 -s, iperf -s or ttcp -r. None of them tells what its kernel
  knows, and none answers the small messages by which the latency is measured. iperf3 takes --window
  as the size of its buffers. ttcp and iperf 2 are told nothing: data goes to them, and a window is
  this end's alone. ttcp sends as PCATTCP does where neither --time nor --bytes is given.

  With --udp each stream is a flow of datagrams to the same port. They are numbered and have the
  time at which they were sent: what was lost is told, and what of it the receiver's own socket had
  no room for, which stock iperf3 and iperf do not tell. Without a rate 1 Mbit/s is sent, as by iperf3 and
  iperf. ttcp's have no numbers, so neither end learns what was lost: compare what was sent with
  what ttcp -r -u or windlass serve received.

Windows and buffers:
  A window of SIZE is what is advertised: the socket gets the buffer for it and is kept to it. A
  send buffer of SIZE is what SO_SNDBUF is asked for; Linux grants twice as much, for data and what
  it keeps beside it. What was asked for, granted and advertised is in the report. Without a size
  the kernel chooses, and lets it grow.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps, 100M in bits; a bare number is bit/s")]
pub struct SendArgs {
    /// The host that the other end runs on, as HOST or HOST:PORT
    #[arg(value_name = "HOST", value_parser = host)]
    pub host: String,

    /// IPv4 or IPv6 alone.
    #[command(flatten)]
    pub family: FamilyArgs,

    /// What runs there
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    #[arg(default_value = "windlass")]
    pub protocol: Protocol,

    /// Its port [default: 5201; for ttcp and iperf 5001]
    #[arg(long, short = 'p', value_name = "PORT")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// A file with the token that the server asks for
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// For how long [default: 10s]
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "The transfer")]
    pub time: Option<Span>,

    /// How much, instead of for how long; 16384x8192 is so many writes of a size
    #[arg(long, short = 'n', value_name = "SIZE", value_parser = amount)]
    #[arg(conflicts_with = "time", help_heading = "The transfer")]
    pub bytes: Option<Amount>,

    /// Send this file, once; `-` is standard input
    #[arg(long, short = 'F', value_name = "FILE", help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["time", "bytes", "reverse", "bidirectional"])]
    pub file: Option<PathBuf>,

    /// Begin anew after each test, until Ctrl-C
    #[arg(long, help_heading = "The transfer", conflicts_with_all = ["file", "live"])]
    pub continuous: bool,

    /// In datagrams of UDP; each is a write
    #[arg(long, short = 'u', help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["copy", "align"])]
    pub udp: bool,

    /// How many streams at once
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1)]
    #[arg(help_heading = "The transfer")]
    pub streams: u16,

    /// From the server to here
    #[arg(long, short = 'R', conflicts_with = "bidirectional", help_heading = "The transfer")]
    pub reverse: bool,

    /// Both ways at once, on streams of their own
    #[arg(long, short = 'd', help_heading = "The transfer")]
    pub bidirectional: bool,

    /// The size of a write; of a datagram 1400 where none is given
    #[arg(long, short = 'l', value_name = "SIZE", value_parser = bytes)]
    #[arg(help_heading = "The transfer")]
    pub length: Option<Bytes>,

    /// Copy the data with each write, as most programs do. Without it, writes of
    /// 64 KiB and more hand its pages over (splice)
    #[arg(long, help_heading = "The transfer")]
    pub copy: bool,

    /// Let the memory that is written from begin at a multiple of SIZE, or so far behind
    /// one: 4096, 16384+3
    #[arg(long, value_name = "SIZE", value_parser = align, help_heading = "The transfer")]
    pub align: Option<Align>,

    /// The most to send, over all streams together; in datagrams 1mbit where nothing is said
    #[arg(long, short = 'b', visible_alias = "rate", value_name = "RATE", value_parser = rate)]
    #[arg(help_heading = "The transfer")]
    pub pace: Option<Rate>,

    /// Find the rate at which the path begins to lose datagrams, by tests of 1s or of --time each,
    /// from --rate on
    #[arg(long, requires = "udp", help_heading = "The transfer")]
    #[arg(conflicts_with_all = ["bytes", "file", "continuous", "bidirectional", "live"])]
    pub find_rate: bool,

    /// The largest window that each end advertises
    #[arg(long, short = 'w', value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub window: Option<Bytes>,

    /// The same for the server alone
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub peer_window: Option<Bytes>,

    /// The send buffer of each end
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub send_buffer: Option<Bytes>,

    /// The same for the server alone
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "TCP")]
    pub peer_send_buffer: Option<Bytes>,

    /// The congestion control of the senders, as cubic or bbr
    #[arg(long, short = 'C', value_name = "NAME", help_heading = "TCP")]
    pub congestion: Option<String>,

    /// The largest segment
    #[arg(long, short = 'M', value_name = "BYTES", help_heading = "TCP")]
    pub mss: Option<u16>,

    /// Send small writes at once
    #[arg(long, short = 'N', help_heading = "TCP")]
    pub nodelay: bool,

    /// What is set on the packets of IP.
    #[command(flatten)]
    pub ip: IpArgs,

    /// How often figures are given
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "The measurement")]
    pub interval: Span,

    /// Leave out so much at the start
    #[arg(long, short = 'O', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "The measurement")]
    pub omit: Option<Span>,

    /// Do not measure the latency of small messages, idle and under load
    #[arg(long, help_heading = "The measurement")]
    pub no_latency: bool,

    /// The unit of the rates of intervals, directions and streams, as iperf -f has it
    #[arg(long, short = 'f', value_name = "UNIT", value_parser = one_of(&UNITS))]
    #[arg(help_heading = "Output", conflicts_with_all = ["json", "json_stream"])]
    pub format: Option<RateUnit>,

    /// Print a line of JSON for each interval as it comes, and the report as the last one
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "live"])]
    pub json_stream: bool,

    /// Print the test as iperf3 --json does, for what reads that
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["json", "json_stream", "live", "format", "find_rate", "continuous"])]
    pub json_iperf3: bool,

    /// Write the test as a data file for flent, which draws it: NAME.flent.gz
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(conflicts_with_all = ["find_rate", "continuous"])]
    pub flent: Option<PathBuf>,

    /// What is done beside the measurement, and with it.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Where memory begins: at a multiple, or so far behind one.
fn align(text: &str) -> Result<Align, String> {
    let (to, offset) = text.split_once('+').map_or((text, None), |(to, rest)| (to, Some(rest)));
    let size =
        |text: &str| u32::try_from(bytes(text)?.get()).map_err(|_| format!("{text} is too much"));
    Ok(Align { to: size(to)?, offset: offset.map_or(Ok(0), size)? })
}

/// An amount: a size, or a number of writes and their size.
fn amount(text: &str) -> Result<Amount, String> {
    let squeezed: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let Some((count, length)) = squeezed.split_once(['x', '×']) else {
        return Ok(Amount { bytes: bytes(text)?, length: None });
    };
    let allowed = || "a number of writes and their size are written as 16384x8192".to_owned();
    let count: u64 = count.parse().map_err(|_| allowed())?;
    let length = bytes(length).map_err(|_| allowed())?;
    let whole = count.checked_mul(length.get()).filter(|whole| *whole > 0).ok_or_else(allowed)?;
    Ok(Amount { bytes: Bytes::new(whole), length: Some(length) })
}

impl SendArgs {
    /// Returns the arguments with host and port apart, and with an address of the family that is
    /// asked for.
    ///
    /// # Errors
    /// Fails where host and option name two ports, or where the host has no such address.
    pub fn reached(&self) -> Result<Self, Failure> {
        let (host, port) = self.family.reach(&self.host, self.port)?;
        Ok(Self { host, port, ..self.clone() })
    }

    /// The port of the other end.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.protocol.port())
    }

    /// The transfer that is asked for.
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
            (Some(_), _, _) => Until::SourceEnds,
            (None, Some(amount), _) => Until::Bytes(amount.bytes),
            (None, None, Some(time)) => Until::Time(time),
            (None, None, None) if is_ttcp => {
                let each = length.map_or(0, Bytes::get);
                Until::Bytes(Bytes::new(each.saturating_mul(TTCP_WRITES)))
            }
            (None, None, None) if self.find_rate => Until::Time(TRIAL_TIME),
            (None, None, None) => Until::Time(USUAL_TIME),
        };
        let transfer = Transfer {
            direction,
            streams: self.streams,
            udp: self.udp,
            until,
            omit: self.omit.unwrap_or(given.omit),
            interval: self.interval,
            length: length.map_or(usual, |length| {
                // What is too long is refused below.
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
            ip: self.ip.ip(),
        };
        let doing = || format!("cannot send to {}", self.host);
        transfer.check().map_err(|error| Failure::usage(doing(), error))?;
        if self.flent.is_some() && transfer.udp && transfer.direction == Direction::Reverse {
            let wrong = "flent has no test of datagrams that come from the server alone";
            return Err(Failure::usage(doing(), wrong).advise("Leave --flent out, or --udp."));
        }
        if self.file.is_some() && self.streams > 1 {
            let wrong = "a file goes over one stream, or its pieces would arrive in any order";
            return Err(Failure::usage(doing(), wrong).advise("Leave --streams out."));
        }
        self.check_protocol(&transfer)?;
        Ok(transfer)
    }
}

impl SendArgs {
    /// Refuses what the other end cannot be asked for.
    fn check_protocol(&self, transfer: &Transfer) -> Result<(), Failure> {
        let protocol = self.protocol;
        let doing = || format!("cannot send to {}", self.host);
        if self.find_rate && protocol == Protocol::Ttcp {
            let wrong = "ttcp's datagrams carry no numbers, so nobody knows which rate loses some";
            return Err(Failure::usage(doing(), wrong));
        }
        let refuse = |wrong: String, advice: &str| {
            Err(Failure::usage(doing(), wrong).advise(advice.to_owned()))
        };
        if protocol == Protocol::Windlass {
            return protocol.check(transfer).map_err(|error| Failure::usage(doing(), error));
        }
        if self.token_file.is_some() {
            let wrong = format!("{protocol} knows no token");
            return refuse(wrong, "Leave --token-file out, or let windlass serve run there.");
        }
        if protocol.is_plain() && (self.peer_window.is_some() || self.peer_send_buffer.is_some()) {
            let wrong = format!("a {protocol} server cannot be told the size of its buffers");
            return refuse(wrong, "Give the size to the server where it is started.");
        }
        protocol.check(transfer).map_err(|error| Failure::usage(doing(), error))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, Driving};

    fn asked(line: &str) -> Result<Transfer, Failure> {
        let words = ["windlass", "send", "host"].into_iter().chain(line.split_whitespace());
        match Cli::parse_from(words).command {
            Command::Driving(Driving::Send(args)) => args.transfer(),
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn writes_are_counted_as_ttcp_does() {
        let transfer = asked("--bytes 16384x8192").unwrap();
        assert_eq!(transfer.until, Until::Bytes(Bytes::new(134_217_728)));
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
        assert_eq!(asked("").unwrap().until, Until::Time(Span::from_millis(10_000)));
    }

    #[test]
    fn ttcp_sends_what_pcattcp_does() {
        let transfer = asked("--protocol ttcp").unwrap();
        assert_eq!(transfer.until, Until::Bytes(Bytes::new(2_048 * 8_192)));
        assert_eq!(transfer.length, 8_192);
        let transfer = asked("--protocol ttcp --length 1k").unwrap();
        assert_eq!(transfer.until, Until::Bytes(Bytes::new(2_048 * 1_024)));
        let transfer = asked("--protocol ttcp --time 3s").unwrap();
        assert_eq!(transfer.until, Until::Time(Span::from_millis(3_000)));
        assert_eq!(asked("--protocol iperf").unwrap().until, Until::Time(USUAL_TIME));
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
        assert_eq!(until("--udp --find-rate"), Until::Time(TRIAL_TIME));
        assert_eq!(until("--udp --find-rate --time 3s"), Until::Time(Span::from_millis(3_000)));
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
