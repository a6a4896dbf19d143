//! Settings file of a spool server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_base::Failure;
use windlass_spool::store::Durability;

use super::args::DeviceKind;

/// Maximum size of a settings file: thousands of printers need less.
const MAX_BYTES: u64 = 16 << 20;

/// All settings, named like the options.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Config {
    pub(super) spool: Option<PathBuf>,
    /// User that a server started by root switches to.
    pub(super) user: Option<String>,
    pub(super) durability: Option<Durability>,
    pub(super) max_spool: Option<String>,
    pub(super) max_document: Option<String>,
    pub(super) max_jobs: Option<usize>,
    pub(super) history: Option<Number>,
    #[serde(default)]
    pub(super) keep_documents: bool,
    #[serde(default)]
    pub(super) listen: Vec<String>,
    #[serde(default)]
    pub(super) lpr: Vec<String>,
    #[serde(default)]
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) admin: Vec<String>,
    pub(super) admin_users: Option<Vec<String>>,
    pub(super) local: Option<String>,
    #[serde(default)]
    pub(super) names: Vec<String>,
    pub(super) socket_mode: Option<String>,
    #[serde(default)]
    pub(super) tls: Vec<String>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) passwords: Option<PathBuf>,
    #[serde(default)]
    pub(super) passwords_without_tls: bool,
    /// Names and passwords for devices that ask.
    pub(super) device_passwords: Option<PathBuf>,
    #[serde(default)]
    pub(super) policy: Vec<PolicyConfig>,
    #[serde(default)]
    pub(super) announce: bool,
    pub(super) page_log: Option<PathBuf>,
    pub(super) page_log_format: Option<String>,
    pub(super) account_log: Option<PathBuf>,
    pub(super) page_log_size: Option<String>,
    pub(super) page_log_files: Option<u32>,
    #[serde(default)]
    pub(super) quota: Vec<QuotaConfig>,
    #[serde(default)]
    pub(super) uncounted_pages: UncountedConfig,
    pub(super) connections: Option<u32>,
    pub(super) patience: Option<String>,
    pub(super) raw_wait: Option<String>,
    pub(super) attempts: Option<u32>,
    pub(super) log: Option<PathBuf>,
    pub(super) log_size: Option<String>,
    pub(super) log_files: Option<u32>,
    #[serde(default)]
    pub(super) commands: CommandsConfig,
    /// Filters convert documents that devices do not take.
    pub(super) filters: Option<bool>,
    #[serde(default)]
    pub(super) allow_devices: Vec<DeviceKind>,
    #[serde(default)]
    pub(super) printer: Vec<PrinterConfig>,
    #[serde(default)]
    pub(super) class: Vec<ClassConfig>,
}

/// Treatment of a job with uncountable pages under a quota.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UncountedConfig {
    #[default]
    CountBytes,
    Refuse,
}

/// Limits of `exec:` commands.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CommandsConfig {
    /// User, unless the printer names one.
    pub(super) user: Option<String>,
    pub(super) time: Option<String>,
    pub(super) memory: Option<String>,
    pub(super) output: Option<String>,
}

/// A number or a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Number(usize),
    Word(String),
}

/// A policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PolicyConfig {
    #[serde(default)]
    pub(super) from: Vec<String>,
    #[serde(default)]
    pub(super) users: Vec<String>,
    pub(super) may: Vec<String>,
    /// True if the user name of a request is believed.
    #[serde(default)]
    pub(super) believe_names: bool,
}

/// A printer, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PrinterConfig {
    pub(super) name: String,
    pub(super) device: String,
    pub(super) info: Option<String>,
    pub(super) location: Option<String>,
    pub(super) model: Option<String>,
    pub(super) formats: Option<Vec<String>>,
    pub(super) on_error: Option<String>,
    pub(super) on_refusal: Option<String>,
    /// The policy for a job of which the device may have printed a part.
    pub(super) on_partial: Option<String>,
    /// The time for which the device may do nothing, or none.
    pub(super) patience: Option<String>,
    /// Longest time to connect.
    pub(super) contact: Option<String>,
    /// The source of the device's state while it has a job.
    pub(super) status: Option<String>,
    /// Way to make copies on a device that supports them.
    pub(super) copies: Option<String>,
    pub(super) max_jobs: Option<usize>,
    /// Mode of files that `file:` makes, in octal digits.
    pub(super) mode: Option<String>,
    /// User of the `exec:` command.
    pub(super) user: Option<String>,
    #[serde(default)]
    pub(super) stopped: bool,
    /// Address of its raw port.
    pub(super) raw: Option<String>,
    /// Ability of its device; unset, an IPP device is asked.
    pub(super) colour: Option<bool>,
    pub(super) duplex: Option<bool>,
    /// Users who may print on the printer, or may not.
    pub(super) users: Option<Vec<String>>,
    pub(super) denied_users: Option<Vec<String>>,
    /// The attributes of jobs that do not say otherwise.
    #[serde(default)]
    pub(super) defaults: BTreeMap<String, Choice>,
}

/// A value of a job's attribute.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Choice {
    Number(i32),
    Word(String),
}

/// A class of printers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ClassConfig {
    pub(super) name: String,
    /// Names of printers; dummy{0..279} stands for many.
    pub(super) members: Vec<String>,
    pub(super) info: Option<String>,
    pub(super) location: Option<String>,
    pub(super) max_jobs: Option<usize>,
    #[serde(default)]
    pub(super) stopped: bool,
}

/// Quota of users in a period.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct QuotaConfig {
    /// Printer; unset, all printers together.
    pub(super) printer: Option<String>,
    /// User; unset, each user.
    pub(super) user: Option<String>,
    pub(super) period: String,
    pub(super) pages: Option<u64>,
    pub(super) size: Option<String>,
    pub(super) jobs: Option<u64>,
}

impl Config {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot read the settings in {}", path.display());
        let no = |error: std::io::Error| Failure::new(doing(), error);
        let length = fs::metadata(path).map_err(no)?.len();
        if length > MAX_BYTES {
            return Err(Failure::new(doing(), format!("the file is too large ({length} bytes)")).advise(
                "A settings file is TOML of some kilobytes: docs/spool-serve.md has an example.",
            ));
        }
        let text = fs::read_to_string(path).map_err(no)?;
        toml::from_str(&text).map_err(|error| {
            Failure::new(doing(), error.to_string().trim_end())
                .advise("docs/spool-serve.md lists the settings, with an example.")
        })
    }
}
