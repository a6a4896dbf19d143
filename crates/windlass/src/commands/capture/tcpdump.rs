//! The options of tcpdump: those that windlass accepts, and the reason for each other.

use std::fs;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args};
use windlass_base::{Bytes, Failure, Span};

/// Support for an option of tcpdump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSupport {
    /// An option of the same name with the same effect.
    Same(&'static str),
    /// An option of the same or another name, with more effect.
    Better(&'static str),
    /// Refused, for this reason.
    Refused(&'static str),
}

/// An option of tcpdump.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its syntax in tcpdump's manual: `-G SECONDS`, or `-i, --interface IFACE`.
    pub option: &'static str,
    /// Effect in tcpdump.
    pub does: &'static str,
    /// Support in windlass.
    pub here: OptionSupport,
}

const fn row(option: &'static str, does: &'static str, here: OptionSupport) -> Row {
    Row { option, does, here }
}

/// Reason for refusing options that change the text.
const TEXT: &str = "text is that of `tcpdump -tt -n`; for other text: `windlass capture eth0 -w - \
                    | tcpdump -r - -A`";

/// Every option of tcpdump 4.99 (tcpdump(8)).
pub const ROWS: &[Row] = &[
    row("-A", "prints packets as ASCII", OptionSupport::Refused(TEXT)),
    row("-b", "prints AS numbers as ASDOT", OptionSupport::Refused(TEXT)),
    row(
        "-B, --buffer-size KIB",
        "sets the buffer size in KiB",
        OptionSupport::Same("`--buffer`; the default is 64 or 256 MiB, not 2"),
    ),
    row(
        "-c N",
        "ends after N packets",
        OptionSupport::Same("and counts the packets that followed"),
    ),
    row(
        "--count",
        "prints only the number of packets in a file",
        OptionSupport::Refused(
            "`--count N` is `-c N` here; the report counts, and `windlass explain FILE` does",
        ),
    ),
    row(
        "-C MB",
        "starts a new file after MB million bytes",
        OptionSupport::Better(
            "`--rotate-size`; each file is complete, with its own counts and a sortable number",
        ),
    ),
    row(
        "-d",
        "prints the filter's program",
        OptionSupport::Refused(
            "the program is libpcap's: `tcpdump -i eth0 -d EXPRESSION` prints it",
        ),
    ),
    row(
        "-D, --list-interfaces",
        "lists the interfaces",
        OptionSupport::Better("with MTU and addresses, in `--netns` too, as text or JSON"),
    ),
    row("-e", "prints the link-layer header", OptionSupport::Refused(TEXT)),
    row(
        "-E SECRET",
        "decrypts ESP",
        OptionSupport::Refused("windlass takes no secrets; Wireshark decrypts what is in the file"),
    ),
    row("-f", "prints foreign addresses as numbers", OptionSupport::Refused(TEXT)),
    row("-F FILE", "reads the filter from a file", OptionSupport::Same("")),
    row(
        "-G SECONDS",
        "starts a new file every SECONDS, named by strftime(3)",
        OptionSupport::Better(
            "`--rotate-time`; a name that is a constant or repeats gets a number, and nothing is overwritten",
        ),
    ),
    row("-H", "prints drafts of 802.11s", OptionSupport::Refused(TEXT)),
    row("-h, --help", "prints help", OptionSupport::Same("with examples")),
    row(
        "-i, --interface IFACE",
        "the interface",
        OptionSupport::Better("may be repeated; the file describes each interface"),
    ),
    row(
        "-I, --monitor-mode",
        "puts a Wi-Fi interface into monitor mode",
        OptionSupport::Refused("it would change the interface; use `iw dev`"),
    ),
    row(
        "--immediate-mode",
        "delivers each packet at once",
        OptionSupport::Refused("packets wait 40 ms at most; `--reader single` delivers at once"),
    ),
    row(
        "-j, --time-stamp-type TYPE",
        "selects the source of time stamps",
        OptionSupport::Refused("times are the kernel's, as with tcpdump's default `host`"),
    ),
    row(
        "-J, --list-time-stamp-types",
        "lists the sources of time stamps",
        OptionSupport::Refused("times are the kernel's, as with tcpdump's default `host`"),
    ),
    row(
        "--time-stamp-precision PRECISION",
        "microseconds or nanoseconds in the file",
        OptionSupport::Refused(
            "files always have nanoseconds, which every current reader supports",
        ),
    ),
    row(
        "--micro",
        "microseconds in the file",
        OptionSupport::Refused(
            "files always have nanoseconds, which every current reader supports",
        ),
    ),
    row("--nano", "nanoseconds in the file", OptionSupport::Same("always")),
    row("-K, --dont-verify-checksums", "skips checksum verification", OptionSupport::Refused(TEXT)),
    row("-l", "flushes each line of text", OptionSupport::Same("always")),
    row(
        "-L, --list-data-link-types",
        "lists the link types of an interface",
        OptionSupport::Refused("there is one: `link_type` of the report"),
    ),
    row("-m MODULE", "loads a MIB for SNMP", OptionSupport::Refused(TEXT)),
    row(
        "-M SECRET",
        "checks TCP's MD5 signatures",
        OptionSupport::Refused("windlass takes no secrets; Wireshark checks what is in the file"),
    ),
    row("-n", "prints addresses as numbers", OptionSupport::Same("always")),
    row("-N", "prints host names without their domain", OptionSupport::Refused(TEXT)),
    row("-#, --number", "numbers the packets", OptionSupport::Refused(TEXT)),
    row(
        "-O, --no-optimize",
        "does not optimise the filter",
        OptionSupport::Refused("a filter that libpcap's optimiser breaks is an error of libpcap"),
    ),
    row(
        "-p, --no-promiscuous-mode",
        "captures only packets for this host",
        OptionSupport::Same("always, without `--promiscuous`"),
    ),
    row("--print", "also prints packets that are written to a file", OptionSupport::Same("")),
    row(
        "-q",
        "prints less of each packet",
        OptionSupport::Refused(
            "`-q` is `--quiet` here: counts of each interval instead of packets",
        ),
    ),
    row(
        "-Q, --direction WAY",
        "selects packets in, out or inout",
        OptionSupport::Same("also `both` for `inout`; on the loopback each packet appears once"),
    ),
    row(
        "-r FILE",
        "reads a file",
        OptionSupport::Refused(
            "`windlass show FILE` prints it, `windlass explain FILE` explains it",
        ),
    ),
    row(
        "-S, --absolute-tcp-sequence-numbers",
        "prints absolute sequence numbers",
        OptionSupport::Refused(TEXT),
    ),
    row(
        "-s, --snapshot-length SIZE",
        "keeps SIZE bytes of a packet, 0 all",
        OptionSupport::Same("`--snap-length`"),
    ),
    row("-T TYPE", "decodes packets as this protocol", OptionSupport::Refused(TEXT)),
    row(
        "-t",
        "changes the time format: `-t` to `-ttttt`",
        OptionSupport::Better("times are those of `-tt`; the others are refused"),
    ),
    row("-u", "prints raw NFS handles", OptionSupport::Refused(TEXT)),
    row(
        "-U, --packet-buffered",
        "writes each packet at once",
        OptionSupport::Same("always at low rates: waiting packets are written 10 times a second"),
    ),
    row("-v", "prints more", OptionSupport::Refused(TEXT)),
    row(
        "-V FILE",
        "reads the files listed in a file",
        OptionSupport::Refused("`windlass show` reads one file; `windlass explain` takes several"),
    ),
    row("--version", "prints the version", OptionSupport::Same("`windlass --version`")),
    row(
        "-w FILE",
        "writes a file",
        OptionSupport::Better("pcapng, which records lost packets; `--format pcap`; mode 0600"),
    ),
    row(
        "-W N",
        "with `-C` keeps N files, with `-G` ends after N",
        OptionSupport::Better(
            "with `-C` it is `--files`: the oldest file is removed, and no name is used twice",
        ),
    ),
    row("-x", "prints packets in hexadecimal", OptionSupport::Refused(TEXT)),
    row("-X", "prints packets in hexadecimal and ASCII", OptionSupport::Refused(TEXT)),
    row(
        "-y, --linktype TYPE",
        "selects the link type",
        OptionSupport::Refused("there is one for each interface: `link_type` of the report"),
    ),
    row(
        "-z COMMAND",
        "runs a command with the name of each rotated file",
        OptionSupport::Better(
            "`--post-rotate`; it also runs for the last file, one run at a time; windlass waits for it and reports failures",
        ),
    ),
    row(
        "-Z, --relinquish-privileges USER",
        "drops privileges to this user",
        OptionSupport::Refused(
            "windlass always drops all privileges; files belong to the owner of the folder",
        ),
    ),
];

impl Row {
    /// Returns its names: `-i` and `--interface`.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.option.split([',', ' ']).filter(|word| word.starts_with('-'))
    }

    /// Returns the error of a refused option.
    fn refused(&self) -> Option<Failure> {
        let OptionSupport::Refused(why) = self.here else { return None };
        let word = self.words().next().unwrap_or_default();
        let doing = format!("cannot capture with {word}, as tcpdump does");
        let failure = Failure::usage(doing, why);
        Some(failure.advise("docs/capture.md lists the options of tcpdump and their equivalents."))
    }
}

/// Returns the error for an option of tcpdump that windlass refuses; `None` for other errors.
pub fn asked_for(wrong: &clap::Error) -> Option<Failure> {
    if wrong.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let usage = wrong.get(ContextKind::Usage)?.to_string();
    let is_capture = usage.split_whitespace().any(|word| word == "capture");
    let ContextValue::String(word) = wrong.get(ContextKind::InvalidArg)? else { return None };
    let row = ROWS.iter().find(|row| row.words().any(|one| one == word))?;
    if is_capture { row.refused() } else { None }
}

/// Options in the spelling of tcpdump, hidden from the help.
#[derive(Args, Clone, Debug)]
pub struct TcpdumpArgs {
    /// Numeric addresses, as always here
    #[arg(short = 'n', alias = "nano", hide = true, action = ArgAction::Count)]
    pub numbers: u8,

    /// Output without waiting, as always here
    #[arg(short = 'U', alias = "packet-buffered", hide = true, action = ArgAction::Count)]
    pub unbuffered: u8,

    /// Lines without waiting, as always here
    #[arg(short = 'l', hide = true, action = ArgAction::Count)]
    pub lines: u8,

    /// No promiscuous mode, as by default here
    #[arg(short = 'p', alias = "no-promiscuous-mode", hide = true, action = ArgAction::Count)]
    #[arg(conflicts_with = "promiscuous")]
    pub not_promiscuous: u8,

    /// Format of times: only -tt
    #[arg(short = 't', hide = true, action = ArgAction::Count)]
    pub times: u8,

    /// --rotate-size in millions of bytes
    #[arg(short = 'C', value_name = "MB", hide = true, requires = "write")]
    #[arg(conflicts_with = "rotate_size")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..1_000_000_000))]
    pub file_size: Option<u64>,

    /// --rotate-time in seconds
    #[arg(short = 'G', value_name = "SECONDS", hide = true, requires = "write")]
    #[arg(conflicts_with = "rotate_time")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,

    /// --files with -C; with -G the capture ends after so many
    #[arg(short = 'W', value_name = "N", hide = true, requires = "write")]
    #[arg(conflicts_with = "files")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub file_count: Option<u32>,

    /// --buffer in KiB
    #[arg(short = 'B', alias = "buffer-size", value_name = "KIB", hide = true)]
    #[arg(conflicts_with = "buffer")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..(1 << 40)))]
    pub buffer_size: Option<u64>,

    /// Read the filter from this file
    #[arg(short = 'F', value_name = "FILE", hide = true)]
    #[arg(conflicts_with_all = ["host", "net", "filter_port", "tcp"])]
    pub filter_file: Option<PathBuf>,
}

/// The longest filter that is read from a file.
const LONGEST: u64 = 1 << 20;

impl TcpdumpArgs {
    /// Returns the maximum size of a file.
    pub(super) fn rotate_size(&self) -> Option<Bytes> {
        self.file_size.map(|millions| Bytes::new(millions * 1_000_000))
    }

    /// Returns the maximum duration of a file.
    pub(super) fn rotate_time(&self) -> Option<Span> {
        self.seconds.map(|seconds| Span::from_millis(i64::from(seconds) * 1_000))
    }

    /// Returns the buffer size.
    pub(super) fn buffer(&self) -> Option<Bytes> {
        self.buffer_size.map(|kib| Bytes::new(kib << 10))
    }

    /// Returns the number of files to keep, and the maximum number of files.
    pub(super) fn files(&self, doing: &str) -> Result<(Option<u32>, Option<u32>), Failure> {
        match (self.file_count, self.file_size, self.seconds) {
            (None, ..) => Ok((None, None)),
            (files, Some(_), None) => Ok((files, None)),
            (most, None, Some(_)) => Ok((None, most)),
            (Some(_), Some(_), Some(_)) => {
                Err(Failure::usage(doing, "-W means one thing with -C and another with -G")
                    .advise("--files N keeps the last N files."))
            }
            (Some(_), None, None) => Err(Failure::usage(doing, "-W needs -C or -G")
                .advise("--files N keeps the last N files.")),
        }
    }

    /// Checks the text format.
    pub(super) fn check(&self, doing: &str) -> Result<(), Failure> {
        if matches!(self.times, 0 | 2) {
            return Ok(());
        }
        Err(Failure::usage(doing, "times are printed as with -tt: in seconds since 1970")
            .advise("windlass capture eth0 -w - | tcpdump -r - -tttt prints them otherwise."))
    }

    /// Returns the filter in the file of -F.
    pub(super) fn filter(&self, doing: &str) -> Result<Option<String>, Failure> {
        let Some(path) = &self.filter_file else { return Ok(None) };
        let wrong = |error: std::io::Error| {
            Failure::usage(doing, format!("cannot read the filter {}: {error}", path.display()))
        };
        let about = fs::metadata(path).map_err(wrong)?;
        if about.len() > LONGEST {
            return Err(wrong(std::io::ErrorKind::FileTooLarge.into()));
        }
        let text = fs::read_to_string(path).map_err(wrong)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(Some(words.join(" ")))
    }
}

/// Returns the table of the documentation. Options that are refused for the same reason share a
/// row.
pub fn table() -> String {
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for row in ROWS {
        let option = format!("`{}`", row.option.replace(", ", "`, `"));
        let (here, why) = match row.here {
            OptionSupport::Same("") => ("the same", String::new()),
            OptionSupport::Same(more) => ("the same", format!(": {more}")),
            OptionSupport::Better(more) => ("**better**", format!(": {more}")),
            OptionSupport::Refused(why) => ("refused", format!(": {why}")),
        };
        let here = format!("{here}{}", why.replace('|', "\\|"));
        let is_refused = matches!(row.here, OptionSupport::Refused(_));
        match rows.iter_mut().find(|(_, _, other)| is_refused && *other == here) {
            Some((options, does, _)) => {
                options.push_str(&format!("; {option}"));
                does.push_str(&format!("; {}", row.does));
            }
            None => rows.push((option, row.does.to_owned(), here)),
        }
    }
    let head = "| tcpdump | does | here |\n|---|---|---|\n".to_owned();
    rows.iter().fold(head, |text, (option, does, here)| {
        text + &format!("| {option} | {does} | {here} |\n")
    })
}
