//! Arguments of `windlass spool serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Span};
use windlass_print::Protocol;
use windlass_spool::store::Durability;
use windlass_spool::{
    Device, FormatError, History, IpNet, LocalRights, OnError, OnPartial, OnRefusal, PageLogFormat,
    net,
};

use windlass_wire::ipp::Value;

use crate::arguments::one_of;

/// Moments at which a job is acknowledged.
const DURABILITIES: [(&str, &str, Durability); 3] = [
    ("memory", "Once the job is in memory; it is lost when the server ends", Durability::Memory),
    (
        "cache",
        "Once the kernel has the job: it survives any end of the server, but not a power failure. \
         CUPS is less safe: it writes its control files up to 30 s later",
        Durability::Cache,
    ),
    ("fsync", "Once the job is on the disk", Durability::Fsync),
];

/// Rights of this host's clients over TCP.
pub(super) const LOCAL: [(&str, &str, LocalRights); 3] = [
    ("administer", "Everything", LocalRights::Administer),
    ("print", "Print, list jobs, and cancel jobs of the user whom they name", LocalRights::Print),
    ("nothing", "Nothing; they use the Unix socket", LocalRights::Nothing),
];

/// Address for IPP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IppAddress {
    /// A network address.
    Network(SocketAddr),
    /// The path of a Unix socket.
    Socket(PathBuf),
}

/// Kinds of devices that cannot be set at run time unless the settings allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// Files of this host.
    File,
    /// Commands of this host.
    Exec,
}

const KINDS: [(&str, &str, DeviceKind); 2] = [
    ("file", "Files and folders of this host", DeviceKind::File),
    ("exec", "Commands of this host", DeviceKind::Exec),
];

/// The arguments of `windlass spool serve`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool serve --printer office=socket://192.0.2.9
                                           a queue that forwards jobs to port 9100 of a printer
  windlass spool serve --printer 'dummy{0..279}=drop' --history off
                                           280 queues that accept jobs and discard them
  windlass spool serve --config spool.toml read settings from a file (see docs/spool-serve.md)
  windlass spool serve --printer lab=file:/srv/jobs/ --lpr 127.0.0.1:1515 --raw lab=127.0.0.1:9100
                                           accept IPP, LPR and raw data; write each job to a file
  windlass spool serve --printer office=socket://192.0.2.9 --listen /run/windlass/spool.sock
                                           serve this host's users only, identified by the kernel
  lp -h 127.0.0.1:8631 -d office FILE      print to the queue office; other IPP clients use
                                           ipp://127.0.0.1:8631/printers/office
  curl http://127.0.0.1:8631/metrics       read the server's metrics (OpenMetrics)

Devices:
  drop                  discard the job
  file:/PATH            a file or a device of this host; in a folder, a new file for each job
  socket://HOST[:PORT]  raw data, to port 9100
  lpd://HOST/QUEUE      by LPR
  ipp://HOST/PATH       by IPP
  exec:COMMAND          a shell command that reads the job on its standard input

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct ServeArgs {
    /// Read settings from a TOML file; the command line overrides them
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Printer and the device that gets its jobs, such as office=socket://192.0.2.9; --help lists
    /// the devices. May be given again; dummy{0..279} stands for 280 printers
    #[arg(long, short_alias = 'p', value_name = "NAME=DEVICE", value_parser = printer)]
    #[arg(help_heading = "Printers")]
    pub printer: Vec<(String, Device)>,

    /// Action when a device fails: retry-job (with growing delays), abort-job or stop-printer
    /// [default: retry-job]
    #[arg(long, value_name = "POLICY", value_parser = on_error, help_heading = "Printers")]
    pub on_error: Option<OnError>,

    /// Action when a connection breaks and the device may have printed a part of the job:
    /// retry-job, hold-job or abort-job [default: hold-job, or retry-job if the device reports
    /// what it printed]
    #[arg(long, value_name = "POLICY", value_parser = on_partial, help_heading = "Printers")]
    pub on_partial: Option<OnPartial>,

    /// Reset the connection to a device that answers TCP but makes no progress for this long
    /// [default: none, wait without limit]
    #[arg(long, value_name = "TIME|none", value_parser = device_patience)]
    #[arg(help_heading = "Printers")]
    pub device_patience: Option<DevicePatience>,

    /// Give up connecting to a device after this long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "Printers")]
    pub contact: Option<Span>,

    /// Abort a job after this many attempts [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Printers")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: Option<u32>,

    /// User of exec: commands, if the server is started by root [default: lp, else nobody]
    #[arg(long, value_name = "USER", help_heading = "Printers")]
    pub command_user: Option<String>,

    /// Start with all printers stopped
    #[arg(long, help_heading = "Printers")]
    pub stopped: bool,

    /// Allow file or exec devices, or both (file,exec), to be set at run time. An administrator
    /// of printers can then overwrite any file or run any command on this host
    #[arg(long, value_name = "KINDS", value_parser = one_of(&KINDS), value_delimiter = ',')]
    #[arg(help_heading = "Printers")]
    pub allow_devices: Vec<DeviceKind>,

    /// Folder for jobs [default: /var/spool/windlass for root, else
    /// ~/.local/state/windlass/spool]
    #[arg(long, value_name = "FOLDER", help_heading = "The spool")]
    pub spool: Option<PathBuf>,

    /// User to switch to once the ports are open, if started by root. The spool's folder is given
    /// to that user [default: stay root, with reduced rights]
    #[arg(long, value_name = "USER", help_heading = "The spool")]
    pub user: Option<String>,

    /// When to acknowledge a job [default: cache]
    #[arg(long, value_name = "WHEN", value_parser = one_of(&DURABILITIES), help_heading = "The spool")]
    pub durability: Option<Durability>,

    /// Maximum size of all documents together [default: the free disk space]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "The spool")]
    pub max_spool: Option<Bytes>,

    /// Maximum size of a document [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "The spool")]
    pub max_document: Option<Bytes>,

    /// Maximum number of unfinished jobs [default: no limit]
    #[arg(long, value_name = "N", help_heading = "The spool")]
    pub max_jobs: Option<usize>,

    /// Number of finished jobs to keep in the history: a number, all, or off [default: 500]
    #[arg(long, value_name = "N|all|off", value_parser = history, help_heading = "The spool")]
    pub history: Option<History>,

    /// Keep the documents of finished jobs, so that they can be printed again
    #[arg(long, help_heading = "The spool")]
    pub keep_documents: bool,

    /// Write a page log in CUPS's format: a line for each finished job
    #[arg(long, value_name = "FILE", help_heading = "Accounting")]
    pub page_log: Option<PathBuf>,

    /// Format of the page log's lines, as in CUPS: %p printer, %u user, %j job, %T time, %P total,
    /// %C pages with copies, %{ATTRIBUTE} a job attribute [default: CUPS's fields]
    #[arg(long, value_name = "FORMAT", value_parser = page_log_format, help_heading = "Accounting")]
    pub page_log_format: Option<PageLogFormat>,

    /// Write an account log: a line of JSON with all fields of each finished job
    #[arg(long, value_name = "FILE", help_heading = "Accounting")]
    pub account_log: Option<PathBuf>,

    /// Rotate the page log and the account log at this size [default: never]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Accounting")]
    pub page_log_size: Option<Bytes>,

    /// Number of rotated page and account logs to keep, as FILE.1, FILE.2 … [default: 9]
    #[arg(long, value_name = "N", help_heading = "Accounting")]
    pub page_log_files: Option<u32>,

    /// Listen for IPP on an address, or on a Unix socket, where the kernel identifies the users;
    /// may be given again [default: 127.0.0.1:8631]
    #[arg(long, value_name = "ADDRESS[:PORT]|PATH", value_parser = ipp)]
    #[arg(help_heading = "The network")]
    pub listen: Vec<IppAddress>,

    /// Listen for IPP over TLS only; may be given again. With a certificate, the addresses of
    /// --listen also accept TLS
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = tls, help_heading = "The network")]
    pub tls: Vec<SocketAddr>,

    /// Certificate chain of the server, in PEM; windlass spool certificate makes one
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "The network")]
    pub certificate: Option<PathBuf>,

    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = "The network")]
    pub key: Option<PathBuf>,

    /// File of users and password hashes; windlass spool password writes it
    #[arg(long, value_name = "FILE", help_heading = "The network")]
    pub passwords: Option<PathBuf>,

    /// Listen for LPR; may be given again
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = lpr, help_heading = "The network")]
    pub lpr: Vec<SocketAddr>,

    /// Listen for raw data for a printer; may be given again
    #[arg(long, value_name = "NAME=ADDRESS:PORT", value_parser = raw, help_heading = "The network")]
    pub raw: Vec<(String, SocketAddr)>,

    /// Allow another host or network, such as 192.0.2.0/24, to print; may be given again
    #[arg(long, value_name = "NETWORK", value_parser = net, help_heading = "The network")]
    pub allow: Vec<IpNet>,

    /// Allow another host or network to administer: stop printers, cancel any job; may be given
    /// again
    #[arg(long, value_name = "NETWORK", value_parser = net, help_heading = "The network")]
    pub admin: Vec<IpNet>,

    /// Rights of this host's clients over TCP, where their users are unknown
    /// [default: administer]
    #[arg(long, value_name = "WHAT", value_parser = one_of(&LOCAL), help_heading = "The network")]
    pub local: Option<LocalRights>,

    /// Accept requests that call this server by another name than localhost and its host name;
    /// may be given again
    #[arg(long, value_name = "NAME", help_heading = "The network")]
    pub name: Vec<String>,

    /// Maximum number of connections [default: 1000]
    #[arg(long, value_name = "N", help_heading = "The network")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: Option<u32>,

    /// Disconnect a client that makes no progress for this long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The network")]
    pub patience: Option<Span>,

    /// Reset a raw connection that has waited this long for room in a full spool [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The network")]
    pub raw_wait: Option<Span>,

    /// Write the log to a file, with times, instead of standard output. The file is reopened if
    /// it was moved
    #[arg(long, value_name = "FILE", help_heading = "The log")]
    pub log: Option<PathBuf>,

    /// Rotate the log at this size [default: 10MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "The log")]
    pub log_size: Option<Bytes>,

    /// Number of rotated logs to keep, as FILE.1, FILE.2 … [default: 5]
    #[arg(long, value_name = "N", help_heading = "The log")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1_000))]
    pub log_files: Option<u32>,

    /// Announce the printers by DNS-SD, so that phones and desktops find them; needs a --listen
    /// address that they can reach
    #[arg(long, help_heading = "The network")]
    pub announce: bool,

    /// Do not report failing devices and clients
    #[arg(long, short = 'q', short_alias = 'Q')]
    pub quiet: bool,
}

pub(super) fn history(text: &str) -> Result<History, String> {
    match text {
        "all" => Ok(History::All),
        "off" => Ok(History::Last(0)),
        number => number
            .parse()
            .map(History::Last)
            .map_err(|_| "history must be a number of jobs, all, or off".to_owned()),
    }
}

pub(in crate::commands::spool) fn on_error(text: &str) -> Result<OnError, String> {
    OnError::new(text)
        .ok_or_else(|| "the policy must be retry-job, abort-job or stop-printer".to_owned())
}

pub(in crate::commands::spool) fn on_refusal(text: &str) -> Result<OnRefusal, String> {
    OnRefusal::new(text).ok_or_else(|| "the policy must be abort-job or hold-job".to_owned())
}

pub(in crate::commands::spool) fn on_partial(text: &str) -> Result<OnPartial, String> {
    OnPartial::new(text)
        .ok_or_else(|| "the policy must be retry-job, hold-job or abort-job".to_owned())
}

/// Longest time without progress of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePatience(pub Option<Duration>);

pub(in crate::commands::spool) fn device_patience(text: &str) -> Result<DevicePatience, String> {
    match text {
        "none" => Ok(DevicePatience(None)),
        time => span(time)
            .map(|time| DevicePatience(Some(time.to_duration())))
            .map_err(|error| format!("{error}, or none to wait without limit")),
    }
}

/// Reads the mode of a file in octal digits, as chmod(1) does.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("{text:?} is not a file mode: write octal digits, such as 0600"))
}

/// Returns true if the data is sent once for each copy.
pub(super) fn repeats_copies(text: &str) -> Result<bool, String> {
    match text {
        "device" => Ok(false),
        "repeat" => Ok(true),
        _ => Err("copies must be device or repeat".to_owned()),
    }
}

fn printer(text: &str) -> Result<(String, Device), String> {
    let (name, device) =
        text.split_once('=').ok_or_else(|| "write a printer as NAME=DEVICE".to_owned())?;
    Ok((name.to_owned(), device.parse().map_err(|error| format!("{error}"))?))
}

fn raw(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, at) =
        text.split_once('=').ok_or_else(|| "write a raw port as NAME=ADDRESS:PORT".to_owned())?;
    Ok((name.to_owned(), address(at, Protocol::Raw.port())?))
}

pub(super) fn ipp(text: &str) -> Result<IppAddress, String> {
    if text.starts_with('/') {
        // A path of more does not fit (sun_path in unix(7)).
        let is_short = text.len() < 108;
        return is_short.then(|| IppAddress::Socket(PathBuf::from(text))).ok_or_else(|| {
            format!("{text:?} is too long: the path of a Unix socket has at most 107 bytes")
        });
    }
    address(text, Protocol::Ipp.port()).map(IppAddress::Network)
}

pub(super) fn tls(text: &str) -> Result<SocketAddr, String> {
    address(text, Protocol::Ipp.port())
}

pub(super) fn lpr(text: &str) -> Result<SocketAddr, String> {
    address(text, Protocol::Lpr.port())
}

/// Reads an address, with or without a port.
pub(super) fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let none = || {
        format!(
            "{text:?} is not an address: write 127.0.0.1:{port}, [::1]:{port}, or 0.0.0.0 for all"
        )
    };
    text.parse::<SocketAddr>()
        .or_else(|_| bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, port)))
        .map_err(|_| none())
}

/// Default address for IPP, without a socket from the service manager. Port 631 may be CUPS's.
pub(super) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8_631);

/// Reads the format of a page log.
pub(super) fn page_log_format(text: &str) -> Result<PageLogFormat, FormatError> {
    PageLogFormat::new(text)
}

/// Returns the value of a job attribute for a word: a number with its IPP type, or a keyword.
pub(in crate::commands::spool) fn job_value(name: &str, word: &str) -> Value {
    let enums = ["finishings", "orientation-requested", "print-quality"];
    match word.parse() {
        Ok(number) if enums.contains(&name) => Value::Enum(number),
        Ok(number) => Value::Integer(number),
        Err(_) => Value::keyword(word),
    }
}
