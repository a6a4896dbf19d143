//! Arguments of `windlass print`.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Failure, Span};
use windlass_measure::job::{CapturePolicy, DocumentSource, SendBuffer};
use windlass_print::{
    Compression, Document, FollowMode, Ipp, Job, JobProtocol, Lpr, OnBreak, Payload, Protocol, Raw,
    StreamSize, Target, TargetError,
};
use windlass_wire::ipp::Version;

use crate::arguments::{JsonArgs, one_of};
use crate::commands::login::LoginArgs;
use crate::commands::measuring::MeasuringArgs;

/// Default of `--patience`: CUPS's wait for the back-channel of a printer.
#[cfg(test)]
const PATIENCE: Span = Span::from_millis(90_000);

/// Minimum interval.
const SHORTEST: Span = Span::from_millis(10);

/// Print protocols.
const PROTOCOLS: [(&str, &str, Protocol); 3] = [
    ("raw", "Raw data, to port 9100 (JetDirect, AppSocket)", Protocol::Raw),
    ("lpr", "LPR, to port 515 (RFC 1179)", Protocol::Lpr),
    ("ipp", "IPP, to port 631 (RFC 8010, RFC 8011)", Protocol::Ipp),
];

/// Generated test data.
pub(in crate::commands) const PAYLOADS: [(&str, &str, Payload); 3] = [
    ("zeros", "Zero bytes", Payload::Zeros),
    ("random", "Random bytes, which do not compress", Payload::Random),
    ("text", "Random letters and digits, in lines", Payload::Text),
];

/// Announced size of an LPR data file whose real size is not known.
const STREAMING: [(&str, &str, StreamSize); 2] = [
    ("endless", "Announce 999,999,999,999 bytes, as many print clients do", StreamSize::Endless),
    ("zero", "Announce 0 bytes", StreamSize::Zero),
];

/// Versions of IPP.
const VERSIONS: [(&str, &str, Version); 2] =
    [("1.1", "1.1", Version(1, 1)), ("2.0", "2.0", Version(2, 0))];

/// Compressions of a document.
const COMPRESSIONS: [(&str, &str, Compression); 3] = [
    ("none", "No compression", Compression::None),
    ("gzip", "gzip (RFC 1952)", Compression::Gzip),
    ("deflate", "deflate without a zlib header (RFC 1951)", Compression::Deflate),
];

/// Reads a send buffer.
fn send_buffer(text: &str) -> Result<SendBuffer, String> {
    match text.strip_prefix("auto") {
        Some("") => Ok(SendBuffer::Learned),
        Some(":" | ":-") => Err("auto: takes the name of a file".to_owned()),
        Some(rest) if rest.starts_with(':') => {
            Ok(SendBuffer::LearnedFrom(PathBuf::from(&rest[1..])))
        }
        _ => bytes(text).map(SendBuffer::Size).map_err(|wrong| format!("{wrong}, or as auto")),
    }
}

/// The arguments of `windlass print`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass print 192.0.2.9 --protocol raw job.prn     print to port 9100
  windlass print socket://192.0.2.9 --pjl job.prn     the same, and ask for the printer's status
  windlass print lpd://192.0.2.9/lp job.prn           print by LPR, to the queue lp
  windlass print ipp://printer/ipp/print report.pdf --format application/pdf --wait
                                                      print by IPP, and wait for the job's end
  windlass print server --protocol ipp --queue laser report.ps --compression gzip
                                                      print to the queue laser of a CUPS server
  windlass print 192.0.2.9 --protocol raw --payload zeros --bytes 22226432 --explain
                                                      measure the rate, and explain what limits it
  windlass print 192.0.2.9 --protocol raw --send-buffer auto job.prn
                                                      find the send buffer that the printer needs
  windlass print 192.0.2.9 --protocol raw --send-buffer auto:first.pcapng job.prn
                                                      take its size from a capture of an earlier job
  pg_dump db | windlass print lpd://192.0.2.9/lp --stream -
                                                      print data of unknown size as it arrives
  windlass device run hawking-h-ps1u -- windlass print 192.0.2.2 --protocol raw job.prn
                                                      print to an emulated device

The figures:
  The rate covers the data from the first byte handed to the kernel to the last byte that the peer's
  TCP acknowledged. The report also has the time until the server confirmed the job. Bytes are
  counted as sent: with --compression they are fewer than the document's.

Timeouts:
  Without progress for the time of --patience, windlass ends with an error. Only data that moves is
  progress; a server's messages are not. A raw job is complete when the printer has all data and
  closes the connection. If the printer keeps it open, windlass closes it after that time, and the
  job still counts as complete. docs/print.md has the details of each protocol.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct PrintArgs {
    /// Printer or print server.
    #[arg(value_name = "HOST")]
    #[arg(
        help = "Printer: a host, or a URI: ipp://HOST:PORT/PATH, lpd://HOST/QUEUE, socket://HOST:PORT"
    )]
    pub host: String,

    /// File to print; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "payload", conflicts_with = "payload")]
    pub file: Option<PathBuf>,

    /// Print protocol; not needed with a URI
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    pub protocol: Option<Protocol>,

    /// Queue of LPR or CUPS, or the path of an IPP printer [default of IPP: /ipp/print]
    #[arg(long, short_alias = 'q', value_name = "NAME")]
    pub queue: Option<String>,

    /// Print generated data instead of a file
    #[arg(long, value_name = "KIND", value_parser = one_of(&PAYLOADS), requires = "bytes")]
    #[arg(help_heading = "The job")]
    pub payload: Option<Payload>,

    /// Size of the generated data
    #[arg(long, short = 'n', value_name = "SIZE", value_parser = bytes, help_heading = "The job")]
    // A file rules the payload out, and with it what asks for one.
    #[arg(requires = "payload", conflicts_with = "file")]
    pub bytes: Option<Bytes>,

    /// Name of the job [default: the file's name]
    #[arg(long, value_name = "NAME", help_heading = "The job")]
    pub job_name: Option<String>,

    /// Owner of the job [default: the user in the URI, or the user who runs windlass]
    #[arg(long, value_name = "NAME", help_heading = "The job")]
    pub user: Option<String>,

    /// Give up after this long without progress or without an answer
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "90s")]
    #[arg(help_heading = "The job")]
    pub patience: Span,

    /// Ask the printer for its status by PJL, before and after the data
    #[arg(long, help_heading = "Raw")]
    pub pjl: bool,

    /// Send the data file before the control file
    #[arg(long, conflicts_with = "stream", help_heading = "LPR")]
    pub data_first: bool,

    /// Send standard input as it arrives; SIZE is announced in place of the unknown size
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = one_of(&STREAMING), default_missing_value = "endless")]
    #[arg(help_heading = "LPR")]
    pub stream: Option<StreamSize>,

    /// Send from a source port of 721 to 731 (RFC 1179); needs `CAP_NET_BIND_SERVICE`
    #[arg(long, help_heading = "LPR")]
    pub reserved_port: bool,

    /// IPP version of the requests
    #[arg(long, value_name = "VERSION", value_parser = one_of(&VERSIONS), help_heading = "IPP")]
    pub ipp_version: Option<Version>,

    /// Create the job before sending the document (Create-Job, Send-Document); always on for
    /// standard input
    #[arg(long, help_heading = "IPP")]
    pub create_job: bool,

    /// Compress the document in transit
    #[arg(long, value_name = "KIND", value_parser = one_of(&COMPRESSIONS), help_heading = "IPP")]
    pub compression: Option<Compression>,

    /// Media type of the document [default: application/octet-stream: the printer detects it]
    #[arg(long, value_name = "TYPE", help_heading = "IPP")]
    pub format: Option<String>,

    /// Wait until the job is completed, canceled or aborted, and report its state
    #[arg(long, help_heading = "IPP")]
    pub wait: bool,

    /// Limit of --wait [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "wait")]
    #[arg(help_heading = "IPP")]
    pub wait_limit: Option<Span>,

    /// Send buffer (`SO_SNDBUF`); Linux doubles the size to allow for overhead
    ///
    /// With auto, windlass examines the start of the job while it is sent. If the send buffer
    /// limits the job, windlass raises it to what the printer needs. With auto:FILE, the size comes
    /// from a capture of an earlier job, or from the JSON of windlass explain or windlass print.
    #[arg(long, value_name = "SIZE|auto", value_parser = send_buffer, help_heading = "TCP")]
    pub send_buffer: Option<SendBuffer>,

    /// Congestion control algorithm, such as cubic or bbr
    #[arg(long, short = 'C', value_name = "NAME", help_heading = "TCP")]
    pub congestion: Option<String>,

    /// Maximum segment size (MSS)
    #[arg(long, short = 'M', value_name = "BYTES", help_heading = "TCP")]
    #[arg(value_parser = clap::value_parser!(u16).range(88..=32_767))]
    pub mss: Option<u16>,

    /// On Ctrl-C, reset the connection; without this, the kernel still sends the buffered data
    #[arg(long, help_heading = "TCP")]
    pub reset: bool,

    /// Explain the job's packets in full; fail if they cannot be captured
    #[arg(long, help_heading = "The measurement")]
    pub explain: bool,

    /// Do not capture packets; judge by the figures of this host's kernel
    #[arg(long, conflicts_with = "explain", help_heading = "The measurement")]
    pub no_packets: bool,

    /// Time between reports
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "The measurement")]
    pub interval: Span,

    /// Login and trust.
    #[command(flatten)]
    pub login: LoginArgs,

    /// Options of every measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl PrintArgs {
    fn refuse<T>(&self, wrong: impl std::fmt::Display, advice: &str) -> Result<T, Failure> {
        Err(Failure::usage(self.doing(), wrong).advise(advice))
    }

    /// Returns the task, for messages.
    pub(super) fn doing(&self) -> String {
        format!("cannot print on {}", self.host)
    }

    /// Returns when the job's packets are captured.
    pub(super) const fn capturing(&self) -> CapturePolicy {
        match (self.explain, self.no_packets) {
            (true, _) => CapturePolicy::Required,
            (false, true) => CapturePolicy::Never,
            (false, false) => CapturePolicy::WherePossible,
        }
    }

    /// Returns the source of the data.
    pub(super) fn from(&self) -> DocumentSource {
        match (&self.file, self.payload) {
            (_, Some(payload)) => DocumentSource::Payload(payload),
            (Some(path), None) if path.as_os_str() == "-" => DocumentSource::StandardInput,
            _ => DocumentSource::File,
        }
    }

    fn target(&self) -> Result<Target, Failure> {
        Target::new(&self.host, self.protocol, self.queue.as_deref()).map_err(|wrong| {
            let failure = Failure::usage(self.doing(), &wrong);
            match wrong {
                TargetError::NoQueue => {
                    failure.advise("Name it with --queue, or as lpd://HOST/QUEUE.")
                }
                TargetError::Queue => failure.advise("Leave --queue out, or print by LPR or IPP."),
                TargetError::TwoQueues => failure.advise("Leave --queue out."),
                _ => failure,
            }
        })
    }

    /// Returns the job that the arguments ask for.
    pub(super) fn job(&self) -> Result<Job, Failure> {
        let target = self.target()?;
        self.check(target.protocol)?;
        let way = match target.protocol {
            Protocol::Raw => JobProtocol::Raw(Raw { pjl: self.pjl, close: None }),
            Protocol::Lpr => JobProtocol::Lpr(Lpr {
                data_first: self.data_first,
                stream: self.stream,
                host: host_name(),
                // Names of one host's jobs differ for a while.
                number: (std::process::id() % 1_000) as u16,
                copies: 1,
            }),
            Protocol::Ipp => JobProtocol::Ipp(Ipp {
                version: self.ipp_version.unwrap_or(Version(2, 0)),
                create_job: self.create_job || self.from() == DocumentSource::StandardInput,
                compression: self.compression.unwrap_or(Compression::None),
                template: Vec::new(),
                format: self
                    .format
                    .clone()
                    .unwrap_or_else(|| "application/octet-stream".to_owned()),
                follow: match (self.wait, self.wait_limit) {
                    (false, _) => FollowMode::No,
                    (true, limit) => FollowMode::Within(
                        limit.map_or(std::time::Duration::MAX, Span::to_duration),
                    ),
                },
            }),
        };
        let user = user_name(self.user.as_ref(), target.user.as_ref());
        let patience = self.patience.to_duration().into();
        Ok(Job {
            target,
            way,
            name: self.job_name(),
            user,
            patience,
            on_break: OnBreak::Close,
            status: None,
        })
    }

    fn job_name(&self) -> String {
        let of_file = || match (&self.file, self.from()) {
            (_, DocumentSource::Payload(_)) => "windlass test data".to_owned(),
            (Some(path), DocumentSource::File) => {
                path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            }
            _ => "standard input".to_owned(),
        };
        self.job_name.clone().unwrap_or_else(of_file)
    }

    /// Refuses options that the protocol does not have.
    fn check(&self, protocol: Protocol) -> Result<(), Failure> {
        let given = [
            ("--pjl", self.pjl, Protocol::Raw),
            ("--data-first", self.data_first, Protocol::Lpr),
            ("--stream", self.stream.is_some(), Protocol::Lpr),
            ("--reserved-port", self.reserved_port, Protocol::Lpr),
            ("--ipp-version", self.ipp_version.is_some(), Protocol::Ipp),
            ("--create-job", self.create_job, Protocol::Ipp),
            ("--compression", self.compression.is_some(), Protocol::Ipp),
            ("--format", self.format.is_some(), Protocol::Ipp),
            ("--wait", self.wait, Protocol::Ipp),
        ];
        for (name, is_given, of) in given {
            if is_given && protocol != of {
                return self.refuse(format!("{name} is an option of {of} only"), "Leave it out.");
            }
        }
        if self.stream.is_some() && self.from() != DocumentSource::StandardInput {
            return self.refuse(
                "--stream is for standard input, whose size is not known",
                "Give - for the file, or leave --stream out.",
            );
        }
        if self.interval < SHORTEST {
            return self.refuse("the shortest interval is 10 ms", "Give a longer --interval.");
        }
        Ok(())
    }

    /// Returns the data. LPR announces the size, so standard input is first read into an unnamed
    /// file.
    pub(super) fn document(&self, protocol: Protocol) -> Result<Document, Failure> {
        let (path, bytes) = match (self.from(), &self.file) {
            (DocumentSource::Payload(payload), _) => {
                return Ok(Document::of(payload, self.bytes.map_or(0, Bytes::get)));
            }
            (DocumentSource::StandardInput, _)
                if protocol == Protocol::Lpr && self.stream.is_none() =>
            {
                return held().map_err(|error| {
                    Failure::new("cannot read standard input", error)
                        .advise("Use --stream to send it as it arrives, without storing it first.")
                });
            }
            (DocumentSource::StandardInput, _) => {
                return Ok(Document::new(Box::new(io::stdin()), None));
            }
            (DocumentSource::File, None) => (PathBuf::new(), None),
            (DocumentSource::File, Some(path)) => (path.clone(), fs::metadata(path).ok()),
        };
        let failed = |error: io::Error| {
            Failure::new(format!("cannot read {}", path.display()), error)
                .advise("Give a file, or - for standard input.")
        };
        if bytes.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let file = File::open(&path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        // A pipe has no size of its own.
        let size = about.is_file().then_some(about.len());
        if size.is_none() && protocol == Protocol::Lpr {
            let wrong =
                "LPR announces the size before the data, and the size of this file is not known";
            let doing = format!("cannot print {}", path.display());
            return Err(Failure::new(doing, wrong).advise("Pass it on standard input: - < FILE"));
        }
        Ok(Document::new(Box::new(file), size))
    }
}

/// Reads standard input to its end.
fn held() -> io::Result<Document> {
    let mut file = tempfile::tempfile()?;
    let size = io::copy(&mut io::stdin().lock(), &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Document::new(Box::new(file), Some(size)))
}

/// Returns the owner of a job: from the arguments, else from the URI, else the user who runs
/// windlass.
pub(in crate::commands) fn user_name(named: Option<&String>, of_uri: Option<&String>) -> String {
    let said = |name| std::env::var(name).ok().filter(|name| !name.is_empty());
    let runs = || said("USER").or_else(|| said("LOGNAME")).or_else(account_name);
    let user = named.or(of_uri).cloned().or_else(runs);
    user.unwrap_or_else(|| "anonymous".to_owned())
}

/// Returns the name of windlass's account in `/etc/passwd`: a service or a container has no
/// `$USER`.
fn account_name() -> Option<String> {
    let mut accounts = String::new();
    let file = File::open("/etc/passwd").ok()?;
    file.take(MAX_ACCOUNTS).read_to_string(&mut accounts).ok()?;
    let user = windlass_host::Identity::own().user;
    windlass_host::census::user_name(&accounts, user).filter(|name| !name.is_empty())
}

/// Maximum bytes read from `/etc/passwd`.
const MAX_ACCOUNTS: u64 = 16 << 20;

/// Returns the name of this host, up to its first dot.
pub(in crate::commands) fn host_name() -> String {
    let name = whole_host_name();
    let name = name.split('.').next().unwrap_or_default();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Returns the kernel's host name; empty if it has none.
pub(in crate::commands) fn whole_host_name() -> String {
    let mut name = String::new();
    let file = File::open("/proc/sys/kernel/hostname");
    let _ = file.and_then(|file| file.take(255).read_to_string(&mut name));
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, DriveCommands};

    fn asked(line: &str) -> Result<Job, Failure> {
        let words = ["windlass", "print"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(Command::Driving(DriveCommands::Print(args))) => args.job(),
            Ok(_) => panic!("{line}"),
            Err(wrong) => Err(Failure::usage("parse", wrong)),
        }
    }

    #[test]
    fn what_is_asked_for_is_a_job() {
        let job = asked("printer --protocol raw a/job.prn --user ann").unwrap();
        assert_eq!((job.name.as_str(), job.user.as_str()), ("job.prn", "ann"));
        assert_eq!(job.patience.get(), Some(PATIENCE.to_duration()));
        let job = asked("lpd://bob@printer/lp - --stream").unwrap();
        assert_eq!((job.name.as_str(), job.user.as_str()), ("standard input", "bob"));
        assert!(matches!(job.way, JobProtocol::Lpr(Lpr { stream: Some(StreamSize::Endless), .. })));
        let job = asked("ipp://printer - --stream").unwrap_err();
        assert!(job.to_string().contains("--stream is an option of LPR only"), "{job}");
        let is_created = |line: &str| match asked(line).unwrap().way {
            JobProtocol::Ipp(ipp) => ipp.create_job,
            _ => panic!("{line}"),
        };
        assert!(is_created("ipp://printer -") && is_created("ipp://printer a --create-job"));
        assert!(!is_created("ipp://printer a"));
    }

    #[test]
    fn a_send_buffer_is_a_size_or_is_learned() {
        assert_eq!(send_buffer("2k"), Ok(SendBuffer::Size(Bytes::new(2_048))));
        assert_eq!(send_buffer("auto"), Ok(SendBuffer::Learned));
        let from = |path: &str| Ok(SendBuffer::LearnedFrom(PathBuf::from(path)));
        assert_eq!(send_buffer("auto:a:b.pcap"), from("a:b.pcap"));
        for wrong in ["auto:", "auto:-", "automatic", "", "2q"] {
            send_buffer(wrong).unwrap_err();
        }
        assert!(send_buffer("2q").unwrap_err().ends_with("or as auto"));
    }

    #[test]
    fn what_cannot_be_done_is_a_wrong_use() {
        for wrong in [
            "printer a",
            "printer --protocol raw",
            "printer --protocol lpr a",
            "printer --protocol raw --payload zeros",
            "printer --protocol raw --bytes 5 a",
            "printer --protocol raw a --payload zeros --bytes 5",
            "printer --protocol raw --queue lp a",
            "printer --protocol raw --wait a",
            "printer --protocol ipp --pjl a",
            "lpd://printer/lp --stream a",
            "lpd://printer/lp --stream --data-first -",
            "ipp://printer a --wait-limit 5s",
            "ipp://printer a --ipp-version 3.0",
            "ipp://printer a --interval 1ms",
            "ftp://printer a",
        ] {
            asked(wrong).unwrap_err();
        }
    }
}
