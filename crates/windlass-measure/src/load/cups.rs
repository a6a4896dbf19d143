//! Settings of the cupsd under load, and the measurements of each.
//!
//! cupsd does not report its settings over IPP. They are in `cupsd.conf(5)` and
//! `cups-files.conf(5)`, whose paths are arguments of its process (`-c`, `-s` of `cupsd(8)`). cupsd
//! also serves the first file to administrators over HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use windlass_base::Bytes;
use windlass_host::{Source, WatchTarget};
use windlass_print::load::{Documents, JobLog};
use windlass_print::{Dial, Monitor, Target, get};

/// Default paths of the files, if the process names no others.
const SERVER: &str = "/etc/cups/cupsd.conf";
const FILES: &str = "/etc/cups/cups-files.conf";

/// Path of the first file over HTTP.
const PAGE: &str = "/admin/conf/cupsd.conf";

/// Maximum size of a file of settings.
const MAX_FILE: u64 = 1 << 20;

/// Settings that matter to a load, with their defaults (cupsd 2.4).
const KNOWN: [(&str, &str); 14] = [
    ("LogLevel", "warn"),
    ("AccessLogLevel", "actions"),
    ("PreserveJobHistory", "Yes"),
    ("PreserveJobFiles", "86400"),
    ("AutoPurgeJobs", "No"),
    ("MaxJobs", "500"),
    ("MaxJobsPerPrinter", "0"),
    ("MaxJobsPerUser", "0"),
    ("MaxClients", "100"),
    ("MaxEvents", "100"),
    ("DirtyCleanInterval", "30"),
    ("SyncOnClose", "No"),
    ("RequestRoot", "/var/spool/cups"),
    ("ErrorLog", "/var/log/cups/error_log"),
];

/// Settings of a cupsd that matter to a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CupsSettings {
    /// Sources of the settings: the paths of files, or a URL.
    pub read_from: Vec<String>,
    /// Settings with their names.
    pub settings: Vec<Setting>,
    /// Storage of the jobs: the kind of the file system, and its device; nothing if unknown.
    pub spool_is_on: Option<String>,
    /// Growth of the error log while jobs were queued and processed; nothing if it cannot be read.
    pub error_log_bytes: Option<Bytes>,
}

/// A setting of cupsd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Name of the setting.
    pub name: &'static str,
    /// Value of the setting.
    pub value: String,
    /// True if the file has the setting; otherwise the value is the default.
    pub is_given: bool,
}

impl CupsSettings {
    /// Returns the value of a setting.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|it| it.name == name).map(|it| it.value.as_str())
    }

    /// Returns the number of a setting.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Returns whether a setting is switched on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            ["yes", "on", "true"].contains(&value.as_str())
                || value.parse::<u64>().is_ok_and(|seconds| seconds > 0)
        })
    }
}

/// Settings before a load, and the state of its error log.
#[derive(Debug)]
pub(super) struct CupsBaseline {
    settings: CupsSettings,
    log: Option<(PathBuf, u64)>,
    /// True if its process sees the same files as this process.
    shares_files: bool,
}

impl CupsBaseline {
    /// Reads the settings of the server of a load; returns nothing if it is no cupsd, or they
    /// cannot be read.
    pub(super) fn read(
        server: &[WatchTarget],
        asking: Option<&Target>,
        monitor: &Monitor,
        dial: &Dial<'_>,
        patience: Duration,
    ) -> Option<Self> {
        let (found, shares_files) = match of_process(server) {
            Some((found, pid)) => (found, shares_mounts(pid)),
            None => (of_page(asking?, monitor, dial, patience)?, false),
        };
        let (read_from, given) = found;
        let settings: Vec<Setting> = KNOWN
            .iter()
            .filter_map(|(name, default)| {
                let given = given.get(&name.to_ascii_lowercase());
                // Over HTTP, the second file is not available.
                let is_known = given.is_some() || read_from.len() > 1 || !is_of_files(name);
                is_known.then(|| Setting {
                    name,
                    value: given.cloned().unwrap_or_else(|| (*default).to_owned()),
                    is_given: given.is_some(),
                })
            })
            .collect();
        let mut settings =
            CupsSettings { read_from, settings, spool_is_on: None, error_log_bytes: None };
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        settings.spool_is_on = settings
            .value("RequestRoot")
            .and_then(|root| mounted(&mounts, &fs::canonicalize(root).ok()?));
        let log =
            settings.value("ErrorLog").filter(|path| path.starts_with('/')).map(PathBuf::from);
        let log = log.and_then(|path| fs::metadata(&path).ok().map(|found| (path, found.len())));
        Some(Self { settings, log, shares_files })
    }

    /// Returns whether the server keeps finished jobs, as far as its settings show: it may keep
    /// them for some seconds.
    pub(super) fn keeps_history(&self) -> Option<bool> {
        let value = self.settings.value("PreserveJobHistory")?.to_ascii_lowercase();
        match value.as_str() {
            "yes" | "on" | "true" => Some(true),
            "no" | "off" | "false" | "0" => Some(false),
            _ => None,
        }
    }

    /// Returns the log of the ends of its jobs, if the server writes it and it can be read.
    pub(super) fn job_log(&self) -> Option<JobLog> {
        let level = self.settings.value("LogLevel")?.to_ascii_lowercase();
        let tells = ["info", "debug", "debug2"].contains(&level.as_str());
        let (path, _) = self.log.as_ref().filter(|_| tells && self.shares_files)?;
        JobLog::open(path).ok()
    }

    /// Returns the documents of its jobs, if they can be seen.
    pub(super) fn documents(&self) -> Option<Documents> {
        let root = self.settings.value("RequestRoot").filter(|_| self.shares_files)?;
        Documents::open(Path::new(root))
    }

    /// Returns the settings after the load, with the growth of the error log.
    pub(super) fn after(self) -> CupsSettings {
        let mut settings = self.settings;
        settings.error_log_bytes = self.log.and_then(|(path, before)| {
            // A log that is shorter was rotated meanwhile (`MaxLogSize`).
            fs::metadata(path).ok()?.len().checked_sub(before).map(Bytes::new)
        });
        settings
    }
}

fn is_of_files(name: &str) -> bool {
    ["SyncOnClose", "RequestRoot", "ErrorLog"].contains(&name)
}

/// Sources of settings, and the settings by their names in lower case.
type SourcedSettings = (Vec<String>, BTreeMap<String, String>);

/// Returns the settings of a cupsd process on this machine, and its process ID.
fn of_process(server: &[WatchTarget]) -> Option<(SourcedSettings, u32)> {
    let source = Source::open(Path::new("/"), server, &[]).ok()?;
    let processes = source.sample().ok()?.processes;
    let cupsd = processes.iter().find(|process| process.stat.name == "cupsd")?;
    let words = source.words(cupsd.stat.pid);
    let path = |option: &str, default: &str| {
        let place = words.iter().position(|word| word == option);
        place.and_then(|place| words.get(place + 1)).map_or(default, String::as_str).to_owned()
    };
    let (server, files) = (path("-c", SERVER), path("-s", FILES));
    let mut given = parsed(&text(&server)?);
    let mut read_from = vec![server];
    if let Some(text) = text(&files) {
        given.extend(parsed(&text));
        read_from.push(files);
    }
    Some(((read_from, given), cupsd.stat.pid))
}

/// Returns whether a process has the same mounts as this one, as far as this can be known: a
/// container has others.
fn shares_mounts(pid: u32) -> bool {
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    mounts(&pid.to_string()).is_none_or(|theirs| mounts("self") == Some(theirs))
}

fn text(path: &str) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE);
    is_small
        .then(|| fs::read(path).ok())
        .flatten()
        .map(|it| String::from_utf8_lossy(&it).into_owned())
}

/// Returns the settings that a cupsd elsewhere serves over HTTP.
fn of_page(
    asking: &Target,
    monitor: &Monitor,
    dial: &Dial<'_>,
    patience: Duration,
) -> Option<SourcedSettings> {
    let page = get(asking, PAGE, &[], monitor, dial, patience, MAX_FILE as usize).ok()?;
    let text = String::from_utf8_lossy(&page.bytes);
    // An HTML page is no file of settings.
    let is_it = page.status == 200 && !text.trim_start().starts_with('<');
    is_it.then(|| (vec![format!("http://{}{PAGE}", asking.authority())], parsed(&text)))
}

/// Parses the settings of a file outside sections, by their names in lower case. The last value of
/// a name applies, as in cupsd.
fn parsed(text: &str) -> BTreeMap<String, String> {
    let (mut found, mut depth) = (BTreeMap::new(), 0_u32);
    for line in text.lines().map(str::trim) {
        if line.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if line.starts_with('<') {
            depth += 1;
        } else if depth == 0 && !line.starts_with('#') {
            let line = line.split_once(" #").map_or(line, |(line, _)| line);
            if let Some((name, value)) = line.split_once(char::is_whitespace) {
                found.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }
    found
}

/// Returns the file system and device of a path, by the text of `/proc/mounts`.
fn mounted(mounts: &str, path: &Path) -> Option<String> {
    let found = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, place, kind) = (words.next()?, words.next()?, words.next()?);
        path.starts_with(place).then(|| (place.len(), format!("{kind} ({device})")))
    });
    // Of several mounts at one path, the last is on top.
    found.enumerate().max_by_key(|(at, (length, _))| (*length, *at)).map(|(_, (_, what))| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_cupsd_reads_them() {
        let text = "# a comment\nLogLevel info\nloglevel debug2 # loud\nMaxJobs\t15000\n\
            <Policy default>\n  JobPrivateAccess all\n  <Limit All>\n  MaxJobs 1\n  </Limit>\n\
            </Policy>\nPreserveJobHistory No\n\nPort\n";
        let found = parsed(text);
        let of = |name: &str| found.get(name).map(String::as_str);
        assert_eq!((of("loglevel"), of("maxjobs")), (Some("debug2"), Some("15000")));
        assert_eq!((of("preservejobhistory"), of("jobprivateaccess")), (Some("No"), None));
        let settings = CupsSettings {
            read_from: Vec::new(),
            settings: vec![
                Setting { name: "MaxJobs", value: "0".to_owned(), is_given: true },
                Setting { name: "PreserveJobFiles", value: "86400".to_owned(), is_given: false },
            ],
            spool_is_on: None,
            error_log_bytes: None,
        };
        assert_eq!(settings.number("MaxJobs"), Some(0));
        assert!(settings.is_on("PreserveJobFiles") && !settings.is_on("MaxJobs"));
        assert!(!settings.is_on("LogLevel"));
    }

    #[test]
    fn a_spool_is_on_the_nearest_mount() {
        let mounts = "/dev/vda / ext4 rw 0 0\nproc /proc proc rw 0 0\n\
            tmpfs /var/spool tmpfs rw 0 0\nodd\n";
        let of = |path: &str| mounted(mounts, Path::new(path));
        assert_eq!(of("/var/spool/cups").as_deref(), Some("tmpfs (tmpfs)"));
        assert_eq!(of("/var/spooler").as_deref(), Some("ext4 (/dev/vda)"));
    }

    #[test]
    fn what_is_no_cupsd_has_no_settings() {
        assert!(of_process(&[WatchTarget::Pid(std::process::id())]).is_none());
        assert!(of_process(&[]).is_none());
        assert!(shares_mounts(std::process::id()));
    }
}
