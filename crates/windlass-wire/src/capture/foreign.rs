//! Formats that are recognised but not read: their names, and the program that converts them to a
//! readable format.
//!
//! Sources of the magic numbers: the vendors' documents where published, and the Wireshark
//! project's notes on the formats that it reads.

use std::fmt;

use super::shape;

/// A capture format that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForeignFormat {
    name: &'static str,
    cure: Cure,
}

/// Remedy for a format that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cure {
    /// Wireshark's editcap reads the format.
    Editcap,
    /// Wireshark's editcap reads the format, but needs the link type as an option. The format
    /// states a link type per packet, and editcap needs one before the first packet.
    EditcapOfEthernet,
    /// A command that takes the name of the file last and prints the content.
    Stream(&'static str),
    /// A command that takes the name of the file last and writes the files in it.
    Unpack(&'static str),
    /// A command that takes the names of the input and output files.
    Convert(&'static str),
    /// A text, because no command converts the format.
    Words(&'static str),
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl ForeignFormat {
    /// Returns whether the format is an archive, which contains several files.
    pub const fn is_archive(&self) -> bool {
        matches!(self.cure, Cure::Unpack(_))
    }

    /// Returns advice on a file of this name, usually the command that converts it to a readable
    /// file. `None` stands for a stream without a name.
    pub fn advice(&self, file: Option<&str>) -> String {
        let from = file.map_or_else(|| "FILE".to_owned(), quoted);
        let to = file.map_or_else(|| "FILE.pcapng".to_owned(), |file| quoted(&converted(file)));
        let editcap = |options: &str| {
            format!(
                "Convert it with Wireshark's editcap: `editcap -F pcapng {options}{from} {to}`. \
                 Then read {to}."
            )
        };
        match self.cure {
            Cure::Editcap => editcap(""),
            Cure::EditcapOfEthernet => editcap("-T ether "),
            Cure::Stream(command) => {
                let from = file.map_or_else(String::new, |_| format!(" {from}"));
                format!("Unpack it on the way: `{command}{from} | windlass explain -`.")
            }
            Cure::Unpack(command) => {
                format!("Unpack it: `{command} {from}`. Then read the capture that comes out.")
            }
            Cure::Convert(command) => {
                format!("Convert it: `{command} {from} {to}`. Then read {to}.")
            }
            Cure::Words(words) => words.to_owned(),
        }
    }
}

/// Returns the name of a conversion's output file: with another extension, and never the name of
/// the input.
fn converted(file: &str) -> String {
    let folder = file.rfind('/').map_or(0, |slash| slash + 1);
    match file[folder..].rfind('.') {
        Some(dot) if dot > 0 && !file.ends_with(".pcapng") => {
            format!("{}.pcapng", &file[..folder + dot])
        }
        _ => format!("{file}.pcapng"),
    }
}

/// Quotes a name for the shell.
fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if !name.starts_with('-') && name.bytes().all(is_plain) {
        name.to_owned()
    } else {
        let name = name.replace('\'', r"'\''");
        // A name with a leading dash would be read as an option.
        if name.starts_with('-') { format!("'./{name}'") } else { format!("'{name}'") }
    }
}

/// The snoop variant of Shomiti's Surveyor.
pub(super) const SURVEYOR: ForeignFormat =
    ForeignFormat { name: "a Surveyor capture (Shomiti's snoop)", cure: Cure::Editcap };
/// pcap with longer record headers than its magic number announces.
pub(super) const NOKIA: ForeignFormat =
    ForeignFormat { name: "Nokia's variant of pcap", cure: Cure::Editcap };
pub(super) const RED_HAT: ForeignFormat =
    ForeignFormat { name: "Red Hat 6.1's variant of pcap", cure: Cure::Editcap };
pub(super) const SUSE: ForeignFormat =
    ForeignFormat { name: "SuSE 6.3's variant of pcap", cure: Cure::Editcap };

const CAPTURE_AGAIN: &str = "Capture the packets themselves, with tcpdump, Wireshark or windlass \
                             capture.";
const NO_IP: &str = "It holds no network packets: check which file you meant.";

/// Formats by their first bytes.
const BY_MAGIC: &[(&[u8], &str, Cure)] = &[
    (b"GMBU", "Microsoft Network Monitor 2", Cure::Editcap),
    (b"RTSS", "Microsoft Network Monitor 1", Cure::Editcap),
    (b"TRSNIFF data    \x1a", "a Sniffer capture (Network General, DOS)", Cure::Editcap),
    (b"XCP\0", "a NetXRay or Sniffer capture (Windows)", Cure::Editcap),
    (b"VL\0\0", "a NetXRay capture", Cure::Editcap),
    (b"\x7fver\0\0\0", "an EtherPeek, AiroPeek or OmniPeek capture", Cure::Editcap),
    (b"\x05VNF", "a Visual Networks capture", Cure::Editcap),
    (b"iptrace 1.0", "AIX iptrace", Cure::Editcap),
    (b"iptrace 2.0", "AIX iptrace", Cure::Editcap),
    (b"\x54\x52\x00\x64\x00", "HP-UX nettl", Cure::EditcapOfEthernet),
    (b"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x07\xd0\x00", "HP-UX nettl", Cure::EditcapOfEthernet),
    (b"ObserverPktBufferVersion=", "a Viavi Observer capture", Cure::Editcap),
    (b"\xaa\xaa\xaa\xaa\x20\0\0\0", "an InfoVista 5View capture", Cure::Editcap),
    (b"\x42\xd2\x00\x34\x12\x66\x22\x88", "a RADCOM capture", Cure::Editcap),
    (b"cpse\x01\0", "a Colasoft Capsa capture", Cure::Editcap),
    (b"cpse\x02\0", "a Colasoft Packet Builder capture", Cure::Editcap),
    (
        b"\x00\x00\x02\x00\x12\x05\x00\x10",
        "a Tektronix K12 capture (.rf5)",
        Cure::EditcapOfEthernet,
    ),
    (b"+---------+---------------+----------+", "a K12 text file", Cure::EditcapOfEthernet),
    (b"Session Transcript", "a Catapult DCT2000 trace", Cure::Editcap),
    (b"LOGG\x90\0\0\0", "a Vector log (BLF)", Cure::Editcap),
    (b"EyeSDN", "an EyeSDN trace", Cure::Editcap),
    (b"ETHERWATCH", "a DBS Etherwatch trace", Cure::Editcap),
    (b"TCPIPtrace", "a VMS TCPtrace", Cure::Editcap),
    (b"btsnoop\0", "a Bluetooth capture (btsnoop)", Cure::Words(NO_IP)),
    (b"\xfd7zXZ\0", "packed with xz", Cure::Stream("xz -dc")),
    (b"BZh", "packed with bzip2", Cure::Stream("bzip2 -dc")),
    (b"\x04\x22\x4d\x18", "packed with lz4", Cure::Stream("lz4 -dc")),
    (b"LZIP\x01", "packed with lzip", Cure::Stream("lzip -dc")),
    (b"\x1f\x9d", "packed with compress", Cure::Stream("gzip -dc")),
    (b"\x5d\x00\x00", "packed with lzma", Cure::Stream("xz -dc --format=lzma")),
    (b"PK\x03\x04", "a zip archive", Cure::Unpack("unzip")),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Cure::Unpack("7z x")),
    (b"Rar!\x1a\x07", "a rar archive", Cure::Unpack("unrar x")),
    (b"!<arch>\n", "an ar archive", Cure::Unpack("ar x")),
    (b"MSCF\0\0\0\0", "a cabinet archive", Cure::Unpack("cabextract")),
    (
        b"\x1f\x8b",
        "packed with gzip twice",
        Cure::Words("Unpack it once with gunzip: windlass unpacks the rest itself."),
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "packed with zstd twice",
        Cure::Words("Unpack it once with zstd -d: windlass unpacks the rest itself."),
    ),
    (
        b"interfaces=[",
        "what FortiGate's `diagnose sniffer packet` prints",
        Cure::Words("Take it with verbosity 3 or 6, and convert it with Fortinet's fgt2eth."),
    ),
    (b"\x7fELF", "a program", Cure::Words(NO_IP)),
    (b"%PDF", "a PDF document", Cure::Words(NO_IP)),
    (b"\x89PNG\r\n", "a picture (PNG)", Cure::Words(NO_IP)),
    (b"\xff\xfe", "text in UTF-16", Cure::Words(UTF_8)),
    (b"\xfe\xff", "text in UTF-16", Cure::Words(UTF_8)),
];

const UTF_8: &str = "Save it as UTF-8: iconv -f UTF-16 -t UTF-8.";

/// Test for one format. It takes the first bytes of a stream, and whether the stream ends there.
type Check = fn(&[u8], bool) -> shape::ShapeMatch;

/// Formats without a magic number, each with its test.
const BY_SHAPE: &[(Check, &str, Cure)] = &[
    (shape::lanalyzer, "a Novell LANalyzer capture", Cure::Editcap),
    (shape::netscaler, "a NetScaler trace", Cure::Editcap),
    (shape::etl, "a Windows event trace (ETL)", Cure::Convert("etl2pcapng")),
    (shape::tar, "a tar archive", Cure::Unpack("tar xf")),
    (
        shape::har,
        "a HAR file: a browser's list of requests, which holds no packets",
        Cure::Words(CAPTURE_AGAIN),
    ),
    (
        shape::netlog,
        "a browser's log (net-export), which holds no packets",
        Cure::Words(CAPTURE_AGAIN),
    ),
    (shape::peek_classic, "an EtherPeek or AiroPeek capture (classic)", Cure::Editcap),
    (shape::commview, "a CommView capture", Cure::EditcapOfEthernet),
    (shape::erf, "an Endace ERF capture", Cure::Editcap),
];

/// Result of looking for a foreign format in the first bytes of a stream.
pub(super) enum Recognition {
    Yes(ForeignFormat),
    No,
    /// The decision needs this many bytes.
    More(usize),
}

/// Recognises a format that is not read by the first bytes of a stream.
pub(super) fn recognise(input: &[u8], at_end: bool) -> Recognition {
    let by_magic = BY_MAGIC.iter().find(|(magic, ..)| input.starts_with(magic));
    if let Some(&(_, name, cure)) = by_magic {
        return Recognition::Yes(ForeignFormat { name, cure });
    }
    // The bytes may still become a magic number; the longest has 38 bytes.
    if !at_end && BY_MAGIC.iter().any(|(magic, ..)| magic.starts_with(input)) {
        return Recognition::More(input.len() + 1);
    }
    let mut wanted = None;
    for &(is, name, cure) in BY_SHAPE {
        match is(input, at_end) {
            shape::ShapeMatch::Yes => return Recognition::Yes(ForeignFormat { name, cure }),
            shape::ShapeMatch::No => {}
            shape::ShapeMatch::More(more) => wanted = wanted.max(Some(more)),
        }
    }
    wanted.map_or(Recognition::No, Recognition::More)
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
