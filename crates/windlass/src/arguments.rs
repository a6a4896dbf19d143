//! Arguments that several commands take.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use windlass_base::Span;
use windlass_base::values::span;
use windlass_wire::text::service_port;
use windlass_wire::{CapturePosition, ConnectionFilter, PacketRange};

/// The heading of the options that many commands share. `-h` leaves most of them out.
pub(crate) const COMMON: &str = "Common options";

/// Reads one of several words: each has its help and its value.
pub(crate) fn one_of<T: Clone + Send + Sync>(
    words: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let values = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).try_map(|said| {
        let found = words.iter().find(|(word, ..)| *word == said);
        found.map(|(.., value)| value.clone()).ok_or("it is none of the words")
    })
}

/// The output format of a command that prints records.
#[derive(Args, Clone, Copy, Debug)]
pub struct JsonArgs {
    /// Print JSON; the field `schema` names its format and version
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
}

/// The capture to read.
#[derive(Args, Clone, Debug)]
pub struct CaptureArgs {
    /// Capture file: pcap, pcapng or snoop, plain or compressed with gzip or
    /// zstd, or tcpdump's text output; `-` is standard input, and
    /// `ARCHIVE::MEMBER` a member of a tar or zip
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

impl CaptureArgs {
    /// Returns whether the capture comes from standard input.
    pub fn is_stdin(&self) -> bool {
        let file = self.file.as_os_str().as_encoded_bytes();
        file == b"-" || file.starts_with(b"-::")
    }

    /// Returns the capture's name for messages.
    pub fn name(&self) -> String {
        let is_stdin = self.file.as_os_str() == "-";
        if is_stdin { "standard input".to_owned() } else { self.file.display().to_string() }
    }
}

/// Reads a port: its number, or the name of its service.
///
/// # Errors
/// Returns the allowed values if `text` is neither.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    let number = text.parse::<u16>().ok().filter(|port| *port > 0 && !text.starts_with('+'));
    number.or_else(|| service_port(text)).ok_or_else(|| {
        "a port is a number from 1 to 65535, or the name of a service, as printer, ipp, jetdirect"
            .to_owned()
    })
}

/// The connections of a capture to read.
#[derive(Args, Clone, Copy, Debug)]
pub struct FilterArgs {
    /// Only connections with this address on one side
    #[arg(long, value_name = "ADDRESS", help_heading = "Which connections")]
    pub host: Option<IpAddr>,

    /// Only connections with this TCP port on one side, by number or service: printer
    #[arg(long, value_name = "PORT", help_heading = "Which connections", value_parser = port)]
    pub port: Option<u16>,
}

impl From<FilterArgs> for ConnectionFilter {
    fn from(args: FilterArgs) -> Self {
        Self { host: args.host, port: args.port }
    }
}

/// The part of a capture to read.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct RangeArgs {
    /// Start of the part to read: a time after the first packet (10s), or a packet (packet:1000)
    #[arg(long, value_name = "WHERE", help_heading = "Which connections", value_parser = place)]
    pub from: Option<CapturePosition>,

    /// End of the part to read, written as --from
    #[arg(long, value_name = "WHERE", help_heading = "Which connections", value_parser = place)]
    pub to: Option<CapturePosition>,
}

impl From<RangeArgs> for PacketRange {
    fn from(args: RangeArgs) -> Self {
        Self { from: args.from, to: args.to }
    }
}

/// Returns whether a part of a capture is picked.
pub(crate) fn is_picked(filter: FilterArgs, range: RangeArgs) -> bool {
    ConnectionFilter::from(filter) != ConnectionFilter::default()
        || PacketRange::from(range) != PacketRange::default()
}

/// Reads a place in a capture.
fn place(text: &str) -> Result<CapturePosition, String> {
    let no = || "a place in a capture is a time (10s) or a packet (packet:1000)".to_owned();
    match text.strip_prefix("packet:") {
        Some(number) => number.parse().map(CapturePosition::Packet).map_err(|_| no()),
        None if text == "0" => Ok(CapturePosition::After(Span::ZERO)),
        None => span(text).map(CapturePosition::After).map_err(|why| format!("{}: {why}", no())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_time_or_a_packet() {
        assert_eq!(place("10"), Ok(CapturePosition::After(Span::from_seconds(10.0))));
        assert_eq!(place("250ms"), Ok(CapturePosition::After(Span::from_seconds(0.25))));
        assert_eq!(place("0"), Ok(CapturePosition::After(Span::ZERO)));
        assert_eq!(place("packet:1000"), Ok(CapturePosition::Packet(1_000)));
        for wrong in ["", "packet:", "packet:x", "#4", "-1s"] {
            assert!(place(wrong).unwrap_err().contains("a place in a capture"), "{wrong}");
        }
    }

    #[test]
    fn a_port_is_a_number_or_a_service() {
        for (text, number) in [("515", 515), ("printer", 515), ("ipp", 631), ("65535", 65_535)] {
            assert_eq!(port(text), Ok(number));
        }
        for wrong in ["0", "65536", "+80", "-1", "", "no-such-service"] {
            assert!(port(wrong).unwrap_err().contains("name of a service"), "{wrong}");
        }
    }
}
