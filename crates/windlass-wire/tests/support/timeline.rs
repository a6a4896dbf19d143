//! Packet timelines: packets as text, a line for each. Crates whose tests tell or
//! expect packets include this file, so that there is one way to write them.
//!
//! ```text
//! 0.000000 > S 0 win 64240 mss 1460 sackok
//! 0.006540 < S. 0 ack 1 win 2920 mss 1460 sackok
//! 0.006616 > . 1 ack 1 win 64240
//! 0.010000 > P. 1:6 ack 1 win 64240 "\u{2}raw\n"
//! 0.010007 > P. 1466:2926 ack 1 win 64240
//! 0.127674 < . 1 ack 6 win 2920 sack 1466-2926
//! ```
//!
//! Time in seconds; `>` from the first end, `<` from the second; flags as tcpdump
//! prints them; the sequence number, with the end of the data behind a colon.
//! Then, each where it is needed: `ack`, `win`, `mss`, `ws`, `sackok`, `ts VALUE
//! ECHO`, `sack LEFT-RIGHT` for each block, `id` (`-` for none), `ttl`, and at last
//! what the data says, as Rust prints a string. Numbers count from the SYN of the
//! end whose bytes they number. What is left out is for the reader to say.

use std::fmt;
use std::str::FromStr;

use windlass_base::{Span, Timestamp};
use windlass_wire::{Flags, Options, SackBlocks, SequenceRange};

/// A line: a packet.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) time: Timestamp,
    /// The end that sends it: 0 for `>`, 1 for `<`.
    pub(crate) from: usize,
    pub(crate) flags: Flags,
    /// Empty where only the sequence number stands.
    pub(crate) data: SequenceRange,
    pub(crate) ack: Option<u32>,
    pub(crate) window: Option<u16>,
    /// SACK blocks count from the SYN, too: see [`moved`].
    pub(crate) options: Options,
    /// The identification, where the line speaks of one.
    pub(crate) id: Option<Option<u16>>,
    pub(crate) ttl: Option<u8>,
    /// With its quotes.
    pub(crate) text: Option<String>,
}

impl Line {
    /// Reads a line; one that means nothing fails the test.
    pub(crate) fn parse(line: &str) -> Self {
        let (packet, text) = line.split_at(line.find('"').unwrap_or(line.len()));
        let mut words = packet.split_whitespace();
        let mut next = || words.next().unwrap_or_else(|| panic!("short line: {line}"));
        let time = Timestamp::ZERO + Span::from_seconds(number(next(), line));
        let from = match next() {
            ">" => 0,
            "<" => 1,
            other => panic!("`{other}` is no direction: {line}"),
        };
        let flags = next().chars().fold(Flags::default(), |flags, letter| {
            flags.with(match letter {
                'F' => Flags::FIN,
                'S' => Flags::SYN,
                'R' => Flags::RST,
                'P' => Flags::PSH,
                '.' => Flags::ACK,
                'U' => Flags::URG,
                'E' => Flags::ECE,
                'W' => Flags::CWR,
                other => panic!("`{other}` is no flag: {line}"),
            })
        });
        let sequence = next();
        let (left, right) = sequence.split_once(':').unwrap_or((sequence, sequence));
        let mut read = Self {
            time,
            from,
            flags,
            data: SequenceRange { left: number(left, line), right: number(right, line) },
            ack: None,
            window: None,
            options: Options::default(),
            id: None,
            ttl: None,
            text: (!text.is_empty()).then(|| text.to_owned()),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("no value: {line}"));
            let options = &mut read.options;
            match word {
                "ack" => read.ack = Some(number(value(), line)),
                "win" => read.window = Some(number(value(), line)),
                "mss" => options.mss = Some(number(value(), line)),
                "ws" => options.window_scale = Some(number(value(), line)),
                "sackok" => options.sack_permitted = true,
                "mptcp" => options.multipath = true,
                "ts" => options.timestamps = Some((number(value(), line), number(value(), line))),
                "sack" => {
                    let block = value().split_once('-');
                    let (left, right) = block.unwrap_or_else(|| panic!("no block: {line}"));
                    let (left, right) = (number(left, line), number(right, line));
                    options.sack.push(SequenceRange { left, right });
                }
                "id" => {
                    let id = value();
                    read.id = Some((id != "-").then(|| number(id, line)));
                }
                "ttl" => read.ttl = Some(number(value(), line)),
                other => panic!("`{other}` means nothing: {line}"),
            }
        }
        read
    }
}

/// As a timeline has it, to the microsecond.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.time.as_nanos().div_euclid(1_000);
        let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
        let (way, flags) = ([">", "<"][self.from], self.flags);
        let SequenceRange { left, right } = self.data;
        write!(f, "{seconds}.{micros:06} {way} {flags} {left}")?;
        if right != left {
            write!(f, ":{right}")?;
        }
        word(f, "ack", self.ack)?;
        word(f, "win", self.window)?;
        word(f, "mss", self.options.mss)?;
        word(f, "ws", self.options.window_scale)?;
        if self.options.sack_permitted {
            write!(f, " sackok")?;
        }
        if self.options.multipath {
            write!(f, " mptcp")?;
        }
        if let Some((value, echo)) = self.options.timestamps {
            write!(f, " ts {value} {echo}")?;
        }
        for block in self.options.sack.as_slice() {
            write!(f, " sack {}-{}", block.left, block.right)?;
        }
        word(f, "id", self.id.map(|id| id.map_or("-".to_owned(), |id| id.to_string())))?;
        word(f, "ttl", self.ttl)?;
        self.text.iter().try_for_each(|text| write!(f, " {text}"))
    }
}

fn word(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name} {value}"))
}

#[track_caller]
fn number<T: FromStr>(word: &str, line: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("`{word}` is no number: {line}"))
}

/// The lines of a timeline.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The options with SACK blocks that count from elsewhere: by so much more.
pub(crate) fn moved(options: &Options, by: u32) -> Options {
    let mut moved = Options { sack: SackBlocks::default(), ..*options };
    for SequenceRange { left, right } in options.sack.as_slice() {
        let (left, right) = (left.wrapping_add(by), right.wrapping_add(by));
        moved.sack.push(SequenceRange { left, right });
    }
    moved
}
