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
    /// Whether it is an archive: files in a file.
    pub const fn is_archive(&self) -> bool {
        matches!(self.cure, Cure::Unpack(_))
    }

    /// What to do with a file of this name: as a rule the command that makes a file
    /// of it that can be read. `None` stands for a stream without a name.
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
pub(super) const SURVEYOR: Foreign =
    Foreign { name: "a Surveyor capture (Shomiti's snoop)", cure: Cure::Editcap };
/// pcap with longer record headers than its magic number announces.
pub(super) const NOKIA: Foreign = Foreign { name: "Nokia's variant of pcap", cure: Cure::Editcap };
pub(super) const RED_HAT: Foreign =
    Foreign { name: "Red Hat 6.1's variant of pcap", cure: Cure::Editcap };
pub(super) const SUSE: Foreign =
    Foreign { name: "SuSE 6.3's variant of pcap", cure: Cure::Editcap };

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

/// Tells a format by the first bytes of a stream, and whether they are all.
type Check = fn(&[u8], bool) -> shape::Told;

/// Formats whose first bytes are no magic number, and how they are told.
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

/// What is known of a format by the first bytes of a stream.
pub(super) enum Recognised {
    Yes(Foreign),
    No,
    /// So many bytes are needed to tell.
    More(usize),
}

/// Recognises a format that is not read.
pub(super) fn recognise(input: &[u8], at_end: bool) -> Recognised {
    let by_magic = BY_MAGIC.iter().find(|(magic, ..)| input.starts_with(magic));
    if let Some(&(_, name, cure)) = by_magic {
        return Recognised::Yes(Foreign { name, cure });
    }
    // Bytes that may still become a magic number; the longest has 38.
    if !at_end && BY_MAGIC.iter().any(|(magic, ..)| magic.starts_with(input)) {
        return Recognised::More(input.len() + 1);
    }
    let mut wanted = None;
    for &(is, name, cure) in BY_SHAPE {
        match is(input, at_end) {
            shape::Told::Yes => return Recognised::Yes(Foreign { name, cure }),
            shape::Told::No => {}
            shape::Told::More(more) => wanted = wanted.max(Some(more)),
        }
    }
    wanted.map_or(Recognised::No, Recognised::More)
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
