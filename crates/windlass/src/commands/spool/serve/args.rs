//! What may be said to `windlass spool serve`.

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
    Device, FormatError, History, IpNet, Local, OnError, OnPartial, OnRefusal, PageLogFormat, net,
};

use windlass_wire::ipp::Value;

use crate::arguments::one_of;

/// When a job is acknowledged.
const DURABILITIES: [(&str, &str, Durability); 3] = [
    ("memory", "When it is in memory: it is lost when the server ends", Durability::Memory),
    (
        "cache",
        "When the kernel has it: it outlives the server, however that ends, but not a loss of \
         power. CUPS promises less: its control files are written up to 30 s late",
        Durability::Cache,
    ),
    ("fsync", "When it is on the disk", Durability::Fsync),
];

/// What this host's own clients may by TCP.
pub(super) const LOCAL: [(&str, &str, Local); 3] = [
    ("administer", "All", Local::Administer),
    ("print", "Print, see jobs, and cancel those of the name that they say", Local::Print),
    ("nothing", "Nothing: they use the Unix socket", Local::Nothing),
];

/// Where IPP is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IppAddress {
    /// At an address.
    Network(SocketAddr),
    /// At the path of a Unix socket.
    Socket(PathBuf),
}

/// What printers are not given at run time, where the settings do not say so.
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
                                           a queue that forwards to a printer's port 9100
  windlass spool serve --printer 'dummy{0..279}=drop' --history off
                                           280 queues that take jobs and drop them
  windlass spool serve --config spool.toml settings from a file; docs/spool-serve.md has all of them
  windlass spool serve --printer lab=file:/srv/jobs/ --lpr 127.0.0.1:1515 --raw lab=127.0.0.1:9100
                                           IPP, LPR and raw data in, a file for each job out
  windlass spool serve --printer office=socket://192.0.2.9 --listen /run/windlass/spool.sock
                                           for the users of this host alone, as the kernel knows them
  lp -h 127.0.0.1:8631 -d office FILE      prints there; so does any client of IPP at
                                           ipp://127.0.0.1:8631/printers/office
  curl http://127.0.0.1:8631/metrics       what it does, as OpenMetrics

Devices:
  drop                  nowhere
  file:/PATH            a file or a device of this host; in a folder each job is a file of its own
  socket://HOST[:PORT]  raw, to port 9100
  lpd://HOST/QUEUE      by LPR
  ipp://HOST/PATH       by IPP
  exec:COMMAND          to a command of the shell, on its standard input

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct ServeArgs {
    /// Settings, in TOML; what the command line says counts more
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// A printer and where its jobs go; may be given again, and stands for several with
    /// dummy{0..279}
    #[arg(long, short = 'p', value_name = "NAME=DEVICE", value_parser = printer)]
    #[arg(help_heading = "Printers")]
    pub printer: Vec<(String, Device)>,

    /// What happens where a device does not take a job: retry-job tries again, later and later
    /// [default: retry-job]
    #[arg(long, value_name = "POLICY", value_parser = on_error, help_heading = "Printers")]
    pub on_error: Option<OnError>,

    /// What happens to a job of which a device may have printed a part, as its connection broke:
    /// retry-job, hold-job or abort-job [default: hold-job, and retry-job where the device reports
    /// what it printed]
    #[arg(long, value_name = "POLICY", value_parser = on_partial, help_heading = "Printers")]
    pub on_partial: Option<OnPartial>,

    /// Reset the connection to a device that does nothing for this long, though it answers TCP
    /// [default: none, wait without end]
    #[arg(long, value_name = "TIME|none", value_parser = device_patience)]
    #[arg(help_heading = "Printers")]
    pub device_patience: Option<DevicePatience>,

    /// Give up after this long when connecting to a device [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "Printers")]
    pub contact: Option<Span>,

    /// How often a job is tried before it is given up [default: without end]
    #[arg(long, value_name = "N", help_heading = "Printers")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: Option<u32>,

    /// Whom the commands of exec: run as, where this runs as root [default: lp, or else nobody]
    #[arg(long, value_name = "USER", help_heading = "Printers")]
    pub command_user: Option<String>,

    /// Stop all printers at first
    #[arg(long, help_heading = "Printers")]
    pub stopped: bool,

    /// What printers may be given at run time beside hosts: file, exec, or both with a comma.
    /// Whoever administers could then overwrite any file or run any command here
    #[arg(long, value_name = "KINDS", value_parser = one_of(&KINDS), value_delimiter = ',')]
    #[arg(help_heading = "Printers")]
    pub allow_devices: Vec<DeviceKind>,

    /// The folder that jobs are kept in [default: /var/spool/windlass for root, or
    /// ~/.local/state/windlass/spool]
    #[arg(long, value_name = "FOLDER", help_heading = "The spool")]
    pub spool: Option<PathBuf>,

    /// Whom it becomes when it listens, where root starts it; the spool's folder goes to that
    /// user, and of root's rights only what it needs is kept [default: root, without its rights]
    #[arg(long, value_name = "USER", help_heading = "The spool")]
    pub user: Option<String>,

    /// When a job is acknowledged [default: cache]
    #[arg(long, value_name = "WHEN", value_parser = one_of(&DURABILITIES), help_heading = "The spool")]
    pub durability: Option<Durability>,

    /// The most bytes of all documents [default: what the disk has]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "The spool")]
    pub max_spool: Option<Bytes>,

    /// The longest document [default: without end]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "The spool")]
    pub max_document: Option<Bytes>,

    /// The most jobs at a time that are not over [default: without end]
    #[arg(long, value_name = "N", help_heading = "The spool")]
    pub max_jobs: Option<usize>,

    /// How many jobs are known when they are over: a number, all, or off [default: 500]
    #[arg(long, value_name = "N|all|off", value_parser = history, help_heading = "The spool")]
    pub history: Option<History>,

    /// Keep the documents of these, too, so that jobs can be printed again
    #[arg(long, help_heading = "The spool")]
    pub keep_documents: bool,

    /// Write a page log as CUPS does: a line for each job that is over
    #[arg(long, value_name = "FILE", help_heading = "Accounting")]
    pub page_log: Option<PathBuf>,

    /// What its lines hold, as in CUPS's page log: %p printer, %u user, %j job, %T time, %P total,
    /// %C pages with copies, %{ATTRIBUTE} of the job [default: CUPS's own fields]
    #[arg(long, value_name = "FORMAT", value_parser = page_log_format, help_heading = "Accounting")]
    pub page_log_format: Option<PageLogFormat>,

    /// Write the same as lines of JSON, with all that is known of each job
    #[arg(long, value_name = "FILE", help_heading = "Accounting")]
    pub account_log: Option<PathBuf>,

    /// Set these logs aside when they have so many bytes [default: never]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Accounting")]
    pub page_log_size: Option<Bytes>,

    /// How many of them are kept then, as FILE.1 and so on [default: 9]
    #[arg(long, value_name = "N", help_heading = "Accounting")]
    pub page_log_files: Option<u32>,

    /// Where to listen for IPP: an address, or the path of a Unix socket, whose users the kernel
    /// knows; may be given again [default: 127.0.0.1:8631]
    #[arg(long, value_name = "ADDRESS[:PORT]|PATH", value_parser = ipp)]
    #[arg(help_heading = "The network")]
    pub listen: Vec<IppAddress>,

    /// Where to listen for IPP by TLS alone; may be given again. With a certificate the other
    /// addresses take TLS, too
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = tls, help_heading = "The network")]
    pub tls: Vec<SocketAddr>,

    /// The certificate, in PEM, with those that vouch for it; windlass spool certificate makes one
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "The network")]
    pub certificate: Option<PathBuf>,

    /// Its key, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = "The network")]
    pub key: Option<PathBuf>,

    /// A file of users and their passwords, as windlass spool password writes it
    #[arg(long, value_name = "FILE", help_heading = "The network")]
    pub passwords: Option<PathBuf>,

    /// Where to listen for LPR; may be given again
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = lpr, help_heading = "The network")]
    pub lpr: Vec<SocketAddr>,

    /// Where to listen for raw data for a printer; may be given again
    #[arg(long, value_name = "NAME=ADDRESS:PORT", value_parser = raw, help_heading = "The network")]
    pub raw: Vec<(String, SocketAddr)>,

    /// Who may print, beside this host: an address, or a network as 192.0.2.0/24; may be given
    /// again
    #[arg(long, value_name = "NETWORK", value_parser = net, help_heading = "The network")]
    pub allow: Vec<IpNet>,

    /// Who may stop printers and cancel others' jobs, beside this host; may be given again
    #[arg(long, value_name = "NETWORK", value_parser = net, help_heading = "The network")]
    pub admin: Vec<IpNet>,

    /// What this host's own clients may do by TCP, of which nobody knows who they are
    /// [default: administer]
    #[arg(long, value_name = "WHAT", value_parser = one_of(&LOCAL), help_heading = "The network")]
    pub local: Option<Local>,

    /// A name by which clients call this server, beside localhost and the name of its host; may
    /// be given again
    #[arg(long, value_name = "NAME", help_heading = "The network")]
    pub name: Vec<String>,

    /// The most connections at a time [default: 1000]
    #[arg(long, value_name = "N", help_heading = "The network")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: Option<u32>,

    /// Disconnect a client that does nothing for this long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The network")]
    pub patience: Option<Span>,

    /// How long raw data waits for room in a full spool before its connection is reset
    /// [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The network")]
    pub raw_wait: Option<Span>,

    /// Write what is said to a file, with the time, instead of standard output. It is opened anew
    /// where it was moved
    #[arg(long, value_name = "FILE", help_heading = "What it tells")]
    pub log: Option<PathBuf>,

    /// At this size the log gets the name FILE.1, and a new one is begun [default: 10MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "What it tells")]
    pub log_size: Option<Bytes>,

    /// How many of those are kept: FILE.1, FILE.2 and so on [default: 5]
    #[arg(long, value_name = "N", help_heading = "What it tells")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1_000))]
    pub log_files: Option<u32>,

    /// Announce the printers by DNS-SD, so that phones and desktops find them; --listen has to say an
    /// address where they can come
    #[arg(long, help_heading = "The network")]
    pub announce: bool,

    /// Say nothing of devices and clients that fail
    #[arg(long, short = 'Q')]
    pub quiet: bool,
}

pub(super) fn history(text: &str) -> Result<History, String> {
    match text {
        "all" => Ok(History::All),
        "off" => Ok(History::Last(0)),
        number => number
            .parse()
            .map(History::Last)
            .map_err(|_| "a history is a number of jobs, all, or off".to_owned()),
    }
}

pub(in crate::commands::spool) fn on_error(text: &str) -> Result<OnError, String> {
    OnError::new(text).ok_or_else(|| "a policy is retry-job, abort-job or stop-printer".to_owned())
}

pub(in crate::commands::spool) fn on_refusal(text: &str) -> Result<OnRefusal, String> {
    OnRefusal::new(text)
        .ok_or_else(|| "what a device refuses goes by abort-job or hold-job".to_owned())
}

pub(in crate::commands::spool) fn on_partial(text: &str) -> Result<OnPartial, String> {
    OnPartial::new(text).ok_or_else(|| {
        "a job that may be printed in part goes by retry-job, hold-job or abort-job".to_owned()
    })
}

/// The time for which a device may do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePatience(pub Option<Duration>);

pub(in crate::commands::spool) fn device_patience(text: &str) -> Result<DevicePatience, String> {
    match text {
        "none" => Ok(DevicePatience(None)),
        time => span(time)
            .map(|time| DevicePatience(Some(time.to_duration())))
            .map_err(|error| format!("{error}; or none, to wait without end")),
    }
}

/// The rights of a file, as chmod(1) has them in digits.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("{text:?} is no mode: it is digits as 0600 or 640"))
}

/// Whether the data is sent again for each copy.
pub(super) fn repeats_copies(text: &str) -> Result<bool, String> {
    match text {
        "device" => Ok(false),
        "repeat" => Ok(true),
        _ => Err("copies are made by the device, or by repeat".to_owned()),
    }
}

fn printer(text: &str) -> Result<(String, Device), String> {
    let (name, device) =
        text.split_once('=').ok_or_else(|| "a printer is written as NAME=DEVICE".to_owned())?;
    Ok((name.to_owned(), device.parse().map_err(|error| format!("{error}"))?))
}

fn raw(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, at) = text
        .split_once('=')
        .ok_or_else(|| "a port for raw data is written as NAME=ADDRESS:PORT".to_owned())?;
    Ok((name.to_owned(), address(at, Protocol::Raw.port())?))
}

pub(super) fn ipp(text: &str) -> Result<IppAddress, String> {
    if text.starts_with('/') {
        // A path of more does not fit (sun_path in unix(7)).
        let is_short = text.len() < 108;
        return is_short.then(|| IppAddress::Socket(PathBuf::from(text))).ok_or_else(|| {
            format!("the path of a Unix socket has less than 108 bytes, {text:?} has more")
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

/// An address with a port, or without one.
pub(super) fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let none = || {
        format!("{text:?} is no address: write 127.0.0.1:{port}, [::1]:{port}, or 0.0.0.0 for all")
    };
    text.parse::<SocketAddr>()
        .or_else(|_| bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, port)))
        .map_err(|_| none())
}

/// Where IPP is listened for where nothing is said, and no socket is handed on: not at 631, which may be
/// CUPS's.
pub(super) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8_631);

/// Reads the format of a page log.
pub(super) fn page_log_format(text: &str) -> Result<PageLogFormat, FormatError> {
    PageLogFormat::new(text)
}

/// Returns the value of a job's attribute that a word stands for: a number, with the type that
/// IPP has for it, or a keyword.
pub(in crate::commands::spool) fn job_value(name: &str, word: &str) -> Value {
    let enums = ["finishings", "orientation-requested", "print-quality"];
    match word.parse() {
        Ok(number) if enums.contains(&name) => Value::Enum(number),
        Ok(number) => Value::Integer(number),
        Err(_) => Value::keyword(word),
    }
}
