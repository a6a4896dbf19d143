//! Formats that are recognised and not read: what they are, and which program
//! turns them into one that is.
//!
//! Sources of the magic numbers: the makers' documents where they published any,
//! and the Wireshark project's notes on the formats that it reads.

use std::fmt;

use super::shape;

/// A format that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Foreign {
    name: &'static str,
    cure: Cure,
}

/// What to do about a format that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cure {
    /// Wireshark's editcap reads it.
    Editcap,
    /// It does, but has to be told what the packets are: the format says it of each,
    /// and editcap wants to know it before the first.
    EditcapOfEthernet,
    /// A command that takes the name of the file last, and prints what is in it.
    Stream(&'static str),
    /// A command that takes the name of the file last, and writes others.
    Unpack(&'static str),
    /// A command that takes the names of the file and of the one to write.
    Convert(&'static str),
    /// Words: there is no command.
    Words(&'static str),
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl Foreign {
    const fn editcap(name: &'static str) -> Self {
        Self { name, cure: Cure::Editcap }
    }

    const fn editcap_of_ethernet(name: &'static str) -> Self {
        Self { name, cure: Cure::EditcapOfEthernet }
    }

    const fn unpack(name: &'static str, command: &'static str) -> Self {
        Self { name, cure: Cure::Unpack(command) }
    }

    const fn stream(name: &'static str, command: &'static str) -> Self {
        Self { name, cure: Cure::Stream(command) }
    }

    const fn words(name: &'static str, words: &'static str) -> Self {
        Self { name, cure: Cure::Words(words) }
    }

    /// What to do with a file of this name: as a rule the command that makes a file
    /// of it that can be read. `None` stands for a stream without a name.
    #[must_use]
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

/// The name of the file that a conversion is to write: another ending, and never
/// the same name.
fn converted(file: &str) -> String {
    let folder = file.rfind('/').map_or(0, |slash| slash + 1);
    match file[folder..].rfind('.') {
        Some(dot) if dot > 0 && !file.ends_with(".pcapng") => {
            format!("{}.pcapng", &file[..folder + dot])
        }
        _ => format!("{file}.pcapng"),
    }
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if !name.starts_with('-') && name.bytes().all(is_plain) {
        name.to_owned()
    } else {
        let name = name.replace('\'', r"'\''");
        // A leading dash would be taken for an option.
        if name.starts_with('-') { format!("'./{name}'") } else { format!("'{name}'") }
    }
}

/// Snoop as Shomiti's Surveyor writes it.
pub(super) const SURVEYOR: Foreign = Foreign::editcap("a Surveyor capture (Shomiti's snoop)");
/// pcap with longer record headers than its magic number announces.
pub(super) const NOKIA: Foreign = Foreign::editcap("Nokia's variant of pcap");
pub(super) const RED_HAT: Foreign = Foreign::editcap("Red Hat 6.1's variant of pcap");
pub(super) const SUSE: Foreign = Foreign::editcap("SuSE 6.3's variant of pcap");

const CAPTURE_AGAIN: &str = "Capture the packets themselves, with tcpdump, Wireshark or windlass \
                             capture.";
const NO_IP: &str = "It holds no network packets: check which file you meant.";

/// Formats by their first bytes.
const BY_MAGIC: &[(&[u8], Foreign)] = &[
    (b"GMBU", Foreign::editcap("Microsoft Network Monitor 2")),
    (b"RTSS", Foreign::editcap("Microsoft Network Monitor 1")),
    (b"TRSNIFF data    \x1a", Foreign::editcap("a Sniffer capture (Network General, DOS)")),
    (b"XCP\0", Foreign::editcap("a NetXRay or Sniffer capture (Windows)")),
    (b"VL\0\0", Foreign::editcap("a NetXRay capture")),
    (b"\x7fver\0\0\0", Foreign::editcap("an EtherPeek, AiroPeek or OmniPeek capture")),
    (b"\x05VNF", Foreign::editcap("a Visual Networks capture")),
    (b"iptrace 1.0", Foreign::editcap("AIX iptrace")),
    (b"iptrace 2.0", Foreign::editcap("AIX iptrace")),
    (b"\x54\x52\x00\x64\x00", Foreign::editcap_of_ethernet("HP-UX nettl")),
    (
        b"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x07\xd0\x00",
        Foreign::editcap_of_ethernet("HP-UX nettl"),
    ),
    (b"ObserverPktBufferVersion=", Foreign::editcap("a Viavi Observer capture")),
    (b"\xaa\xaa\xaa\xaa\x20\0\0\0", Foreign::editcap("an InfoVista 5View capture")),
    (b"\x42\xd2\x00\x34\x12\x66\x22\x88", Foreign::editcap("a RADCOM capture")),
    (b"cpse\x01\0", Foreign::editcap("a Colasoft Capsa capture")),
    (b"cpse\x02\0", Foreign::editcap("a Colasoft Packet Builder capture")),
    (
        b"\x00\x00\x02\x00\x12\x05\x00\x10",
        Foreign::editcap_of_ethernet("a Tektronix K12 capture (.rf5)"),
    ),
    (b"+---------+---------------+----------+", Foreign::editcap_of_ethernet("a K12 text file")),
    (b"Session Transcript", Foreign::editcap("a Catapult DCT2000 trace")),
    (b"LOGG\x90\0\0\0", Foreign::editcap("a Vector log (BLF)")),
    (b"EyeSDN", Foreign::editcap("an EyeSDN trace")),
    (b"ETHERWATCH", Foreign::editcap("a DBS Etherwatch trace")),
    (b"TCPIPtrace", Foreign::editcap("a VMS TCPtrace")),
    (b"btsnoop\0", Foreign::words("a Bluetooth capture (btsnoop)", NO_IP)),
    (b"\xfd7zXZ\0", Foreign::stream("packed with xz", "xz -dc")),
    (b"BZh", Foreign::stream("packed with bzip2", "bzip2 -dc")),
    (b"\x04\x22\x4d\x18", Foreign::stream("packed with lz4", "lz4 -dc")),
    (b"LZIP\x01", Foreign::stream("packed with lzip", "lzip -dc")),
    (b"\x1f\x9d", Foreign::stream("packed with compress", "gzip -dc")),
    (b"\x5d\x00\x00", Foreign::stream("packed with lzma", "xz -dc --format=lzma")),
    (b"PK\x03\x04", Foreign::unpack("a zip archive", "unzip")),
    (b"7z\xbc\xaf\x27\x1c", Foreign::unpack("a 7z archive", "7z x")),
    (b"Rar!\x1a\x07", Foreign::unpack("a rar archive", "unrar x")),
    (b"!<arch>\n", Foreign::unpack("an ar archive", "ar x")),
    (b"MSCF\0\0\0\0", Foreign::unpack("a cabinet archive", "cabextract")),
    (
        b"\x1f\x8b",
        Foreign::words(
            "packed with gzip twice",
            "Unpack it once with gunzip: windlass unpacks the rest itself.",
        ),
    ),
    (
        b"\x28\xb5\x2f\xfd",
        Foreign::words(
            "packed with zstd twice",
            "Unpack it once with zstd -d: windlass unpacks the rest itself.",
        ),
    ),
    (
        b"interfaces=[",
        Foreign::words(
            "what FortiGate's `diagnose sniffer packet` prints",
            "Take it with verbosity 3 or 6, and convert it with Fortinet's fgt2eth.",
        ),
    ),
    (b"\x7fELF", Foreign::words("a program", NO_IP)),
    (b"%PDF", Foreign::words("a PDF document", NO_IP)),
    (b"\x89PNG\r\n", Foreign::words("a picture (PNG)", NO_IP)),
    (b"\xff\xfe", Foreign::words("text in UTF-16", UTF_8)),
    (b"\xfe\xff", Foreign::words("text in UTF-16", UTF_8)),
];

const UTF_8: &str = "Save it as UTF-8: iconv -f UTF-16 -t UTF-8.";

/// Tells a format by the first bytes of a stream, and whether they are all.
type Check = fn(&[u8], bool) -> shape::Told;

/// Formats whose first bytes are no magic number, and how they are told.
const BY_SHAPE: &[(Check, Foreign)] = &[
    (shape::lanalyzer, Foreign::editcap("a Novell LANalyzer capture")),
    (shape::netscaler, Foreign::editcap("a NetScaler trace")),
    (
        shape::etl,
        Foreign { name: "a Windows event trace (ETL)", cure: Cure::Convert("etl2pcapng") },
    ),
    (shape::tar, Foreign::unpack("a tar archive", "tar xf")),
    (
        shape::har,
        Foreign::words(
            "a HAR file: a browser's list of requests, which holds no packets",
            CAPTURE_AGAIN,
        ),
    ),
    (
        shape::netlog,
        Foreign::words("a browser's log (net-export), which holds no packets", CAPTURE_AGAIN),
    ),
    (shape::peek_classic, Foreign::editcap("an EtherPeek or AiroPeek capture (classic)")),
    (shape::commview, Foreign::editcap_of_ethernet("a CommView capture")),
    (shape::erf, Foreign::editcap("an Endace ERF capture")),
];

/// What is known of a format by the first bytes of a stream.
pub(super) enum Recognised {
    Yes(Foreign),
    No,
    /// So many bytes are needed to tell.
    More(usize),
}

/// Recognises a format that is not read.
pub(super) fn recognise(input: &[u8], at_end: bool) -> Recognised {
    if let Some((_, foreign)) = BY_MAGIC.iter().find(|(magic, _)| input.starts_with(magic)) {
        return Recognised::Yes(*foreign);
    }
    // Bytes that may still become a magic number; the longest has 38.
    if !at_end && BY_MAGIC.iter().any(|(magic, _)| magic.starts_with(input)) {
        return Recognised::More(input.len() + 1);
    }
    let mut wanted = None;
    for (is, foreign) in BY_SHAPE {
        match is(input, at_end) {
            shape::Told::Yes => return Recognised::Yes(*foreign),
            shape::Told::No => {}
            shape::Told::More(more) => wanted = wanted.max(Some(more)),
        }
    }
    wanted.map_or(Recognised::No, Recognised::More)
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
