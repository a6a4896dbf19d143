//! The options of tcpdump: those that windlass takes in tcpdump's own words, and
//! the reason for each that it does not.

use std::fs;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args};
use windlass_base::{Bytes, Failure, Span};

/// What becomes of an option of tcpdump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// The same, in the same words.
    Same(&'static str),
    /// The same word or another, and more of it.
    Better(&'static str),
    /// Another meaning, or none: why.
    Refused(&'static str),
}

/// An option of tcpdump.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How tcpdump takes it, as its manual has it: `-G SECONDS`, or `-i, --interface IFACE`.
    pub option: &'static str,
    /// What it does there.
    pub does: &'static str,
    /// What becomes of it here.
    pub here: Here,
}

const fn row(option: &'static str, does: &'static str, here: Here) -> Row {
    Row { option, does, here }
}

/// Why an option that changes the text is not taken.
const TEXT: &str = "text is as `tcpdump -tt -n` prints it; for another: `windlass capture eth0 -w - \
                    | tcpdump -r - -A`";

/// Every option of tcpdump 4.99 (tcpdump(8)).
pub const ROWS: &[Row] = &[
    row("-A", "prints packets as ASCII", Here::Refused(TEXT)),
    row("-b", "prints AS numbers as ASDOT", Here::Refused(TEXT)),
    row(
        "-B, --buffer-size KIB",
        "the size of the buffer in KiB",
        Here::Same("`--buffer`; without it 64 or 256 MiB in place of 2"),
    ),
    row("-c N", "ends after N packets", Here::Same("and says how many came behind them")),
    row(
        "--count",
        "prints only how many packets a file has",
        Here::Refused(
            "`--count N` is `-c N` here; the report counts, and `windlass explain FILE` does",
        ),
    ),
    row(
        "-C MB",
        "another file from so many million bytes on",
        Here::Better(
            "`--rotate-size`; each file is whole, has its own counts and a number that sorts",
        ),
    ),
    row(
        "-d",
        "prints the filter's program",
        Here::Refused("the program is libpcap's: `tcpdump -i eth0 -d EXPRESSION` prints it"),
    ),
    row(
        "-D, --list-interfaces",
        "lists the interfaces",
        Here::Better("with MTU and addresses, in `--netns` too, as text or JSON"),
    ),
    row("-e", "prints the header of the link", Here::Refused(TEXT)),
    row(
        "-E SECRET",
        "decrypts ESP",
        Here::Refused("no secret is taken; Wireshark decrypts what is in the file"),
    ),
    row("-f", "prints foreign addresses as numbers", Here::Refused(TEXT)),
    row("-F FILE", "reads the filter from a file", Here::Same("")),
    row(
        "-G SECONDS",
        "another file after so many seconds, named by strftime(3)",
        Here::Better(
            "`--rotate-time`; a name without a format is numbered in place of overwritten, and a \
             name that comes again at once, too",
        ),
    ),
    row("-H", "prints drafts of 802.11s", Here::Refused(TEXT)),
    row("-h, --help", "prints help", Here::Same("with examples")),
    row(
        "-i, --interface IFACE",
        "the interface",
        Here::Better("as often as there are interfaces: each is described in the file"),
    ),
    row(
        "-I, --monitor-mode",
        "puts a Wi-Fi interface into monitor mode",
        Here::Refused("it would change the interface: `iw dev` does it"),
    ),
    row(
        "--immediate-mode",
        "hands each packet on at once",
        Here::Refused("packets wait 40 ms at most; `--reader single` takes each at once"),
    ),
    row(
        "-j, --time-stamp-type TYPE",
        "where time stamps come from",
        Here::Refused("times are the kernel's, as with tcpdump's default `host`"),
    ),
    row(
        "-J, --list-time-stamp-types",
        "lists where time stamps could come from",
        Here::Refused("times are the kernel's, as with tcpdump's default `host`"),
    ),
    row(
        "--time-stamp-precision PRECISION",
        "micro or nano seconds in the file",
        Here::Refused("files always have nanoseconds, which every reader of today knows"),
    ),
    row(
        "--micro",
        "microseconds in the file",
        Here::Refused("files always have nanoseconds, which every reader of today knows"),
    ),
    row("--nano", "nanoseconds in the file", Here::Same("always")),
    row("-K, --dont-verify-checksums", "looks at no checksum", Here::Refused(TEXT)),
    row("-l", "hands on each line of text at once", Here::Same("always")),
    row(
        "-L, --list-data-link-types",
        "lists the headers of the link that an interface offers",
        Here::Refused("there is one: `link_type` of the report"),
    ),
    row("-m MODULE", "loads a MIB for SNMP", Here::Refused(TEXT)),
    row(
        "-M SECRET",
        "checks TCP's MD5 signatures",
        Here::Refused("no secret is taken; Wireshark checks what is in the file"),
    ),
    row("-n", "prints addresses as numbers", Here::Same("always")),
    row("-N", "prints host names without their domain", Here::Refused(TEXT)),
    row("-#, --number", "numbers the packets", Here::Refused(TEXT)),
    row(
        "-O, --no-optimize",
        "leaves the filter as it was compiled",
        Here::Refused("a filter that libpcap's optimiser breaks is an error of libpcap"),
    ),
    row(
        "-p, --no-promiscuous-mode",
        "takes only packets for this host",
        Here::Same("always, without `--promiscuous`"),
    ),
    row("--print", "prints packets that go into a file, too", Here::Same("")),
    row(
        "-q",
        "prints less of each packet",
        Here::Refused("`-q` is `--quiet` here: no packets, but what was counted in each interval"),
    ),
    row(
        "-Q, --direction WAY",
        "only packets in, out or inout",
        Here::Same("`both` stands for `inout`; on the loopback each packet comes once"),
    ),
    row(
        "-r FILE",
        "reads a file",
        Here::Refused("`windlass show FILE` prints it, `windlass explain FILE` explains it"),
    ),
    row(
        "-S, --absolute-tcp-sequence-numbers",
        "prints sequence numbers as they are",
        Here::Refused(TEXT),
    ),
    row(
        "-s, --snapshot-length SIZE",
        "keeps so many bytes of a packet, 0 all",
        Here::Same("`--snap-length`"),
    ),
    row("-T TYPE", "takes packets for this protocol", Here::Refused(TEXT)),
    row(
        "-t",
        "prints times otherwise: `-t` to `-ttttt`",
        Here::Better("`-tt` is how times are printed; the others are refused"),
    ),
    row("-u", "prints handles of NFS as they are", Here::Refused(TEXT)),
    row(
        "-U, --packet-buffered",
        "writes each packet at once",
        Here::Same("always where packets are few: what waits is written 10 times a second"),
    ),
    row("-v", "prints more", Here::Refused(TEXT)),
    row(
        "-V FILE",
        "reads the files that a file names",
        Here::Refused("`windlass show` and `windlass explain` read a file each"),
    ),
    row("--version", "prints the version", Here::Same("`windlass --version`")),
    row(
        "-w FILE",
        "writes a file",
        Here::Better("pcapng, which says what it lacks; `--format pcap`; mode 0600"),
    ),
    row(
        "-W N",
        "with `-C` keeps N files, with `-G` ends after N",
        Here::Better("with `-C` it is `--files`: the oldest goes, and no name is used twice"),
    ),
    row("-x", "prints packets in hexadecimal", Here::Refused(TEXT)),
    row("-X", "prints packets in hexadecimal and ASCII", Here::Refused(TEXT)),
    row(
        "-y, --linktype TYPE",
        "which header of the link packets get",
        Here::Refused("there is one for each interface: `link_type` of the report"),
    ),
    row(
        "-z COMMAND",
        "runs a command with the name of each file that was rotated",
        Here::Better(
            "`--post-rotate`; for the last file, too, one after another, waited for, and a failure \
             is told",
        ),
    ),
    row(
        "-Z, --relinquish-privileges USER",
        "goes on as this user",
        Here::Refused(
            "all rights are given up in any case, and files belong to whom the folder does",
        ),
    ),
];

impl Row {
    /// Its words: `-i` and `--interface`.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.option.split([',', ' ']).filter(|word| word.starts_with('-'))
    }

    /// What is said where it is given.
    fn refused(&self) -> Option<Failure> {
        let Here::Refused(why) = self.here else { return None };
        let word = self.words().next().unwrap_or_default();
        let doing = format!("cannot capture with {word}, as tcpdump does");
        let failure = Failure::usage(doing, why);
        Some(failure.advise("docs/capture.md says of each option of tcpdump what becomes of it."))
    }
}

/// What is said where a command line is not understood for an option of tcpdump that
/// windlass has not; nothing where that is not why.
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

/// Options in the words of tcpdump. Those that have a word of windlass's own are
/// not in the help twice.
#[derive(Args, Clone, Debug)]
pub struct TcpdumpArgs {
    /// What tcpdump needs to be told, and is so here: addresses are numbers, and nothing waits
    #[arg(short = 'n', alias = "nano", hide = true, action = ArgAction::Count)]
    pub numbers: u8,

    /// The same
    #[arg(short = 'U', alias = "packet-buffered", hide = true, action = ArgAction::Count)]
    pub unbuffered: u8,

    /// The same
    #[arg(short = 'l', hide = true, action = ArgAction::Count)]
    pub lines: u8,

    /// The same
    #[arg(short = 'p', alias = "no-promiscuous-mode", hide = true, action = ArgAction::Count)]
    #[arg(conflicts_with = "promiscuous")]
    pub not_promiscuous: u8,

    /// How times are printed: as with -tt
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
    /// How large a file may be.
    pub(super) fn rotate_size(&self) -> Option<Bytes> {
        self.file_size.map(|millions| Bytes::new(millions * 1_000_000))
    }

    /// How long a file may take.
    pub(super) fn rotate_time(&self) -> Option<Span> {
        self.seconds.map(|seconds| Span::from_millis(i64::from(seconds) * 1_000))
    }

    /// How much may wait.
    pub(super) fn buffer(&self) -> Option<Bytes> {
        self.buffer_size.map(|kib| Bytes::new(kib << 10))
    }

    /// How many files are kept, and how many there may be.
    pub(super) fn files(&self, doing: &str) -> Result<(Option<u32>, Option<u32>), Failure> {
        match (self.file_count, self.file_size, self.seconds) {
            (None, ..) => Ok((None, None)),
            (files, Some(_), None) => Ok((files, None)),
            (most, None, Some(_)) => Ok((None, most)),
            (Some(_), Some(_), Some(_)) => {
                Err(Failure::usage(doing, "-W means one thing with -C and another with -G")
                    .advise("--files N keeps the last N files."))
            }
            (Some(_), None, None) => Err(Failure::usage(doing, "-W goes with -C or -G")
                .advise("--files N keeps the last N files.")),
        }
    }

    /// What the text should look like.
    pub(super) fn check(&self, doing: &str) -> Result<(), Failure> {
        if matches!(self.times, 0 | 2) {
            return Ok(());
        }
        Err(Failure::usage(doing, "times are printed as with -tt: in seconds since 1970")
            .advise("windlass capture eth0 -w - | tcpdump -r - -tttt prints them otherwise."))
    }

    /// The filter of the file.
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
            Here::Same("") => ("the same", String::new()),
            Here::Same(more) => ("the same", format!(": {more}")),
            Here::Better(more) => ("**better**", format!(": {more}")),
            Here::Refused(why) => ("refused", format!(": {why}")),
        };
        let here = format!("{here}{}", why.replace('|', "\\|"));
        let is_refused = matches!(row.here, Here::Refused(_));
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
