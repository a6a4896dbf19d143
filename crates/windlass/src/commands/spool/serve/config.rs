//! The settings of a spool server in a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_base::Failure;
use windlass_spool::store::Durability;

use super::args::DeviceKind;

/// The largest file of settings: thousands of printers have less.
const MAX_BYTES: u64 = 16 << 20;

/// All settings. Each is as the option of the same name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Config {
    pub(super) spool: Option<PathBuf>,
    /// Whom a server becomes that root begins.
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

/// The fate of a job whose pages cannot be counted, where a quota limits them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UncountedConfig {
    #[default]
    CountBytes,
    Refuse,
}

/// What the commands of `exec:` may.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CommandsConfig {
    /// Whom they run as, where their printers do not say.
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

/// Who may do what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PolicyConfig {
    #[serde(default)]
    pub(super) from: Vec<String>,
    #[serde(default)]
    pub(super) users: Vec<String>,
    pub(super) may: Vec<String>,
    /// Whether the name that a request says is believed.
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
    /// The longest that it may take to accept a connection.
    pub(super) contact: Option<String>,
    /// The source of the device's state while it has a job.
    pub(super) status: Option<String>,
    /// How copies are made where the device has a word for them.
    pub(super) copies: Option<String>,
    pub(super) max_jobs: Option<usize>,
    /// The rights of files that `file:` makes, in octal digits.
    pub(super) mode: Option<String>,
    /// Whom the command of `exec:` runs as.
    pub(super) user: Option<String>,
    #[serde(default)]
    pub(super) stopped: bool,
    /// Where raw data for it is taken.
    pub(super) raw: Option<String>,
    /// What its device can do; without a word it is asked where it speaks IPP.
    pub(super) colour: Option<bool>,
    pub(super) duplex: Option<bool>,
    /// The users who alone may print on it, or may not.
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

/// What each user may print in a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct QuotaConfig {
    /// On one printer; on all together where none is named.
    pub(super) printer: Option<String>,
    /// Of one user; of each where none is named.
    pub(super) user: Option<String>,
    pub(super) period: String,
    pub(super) pages: Option<u64>,
    pub(super) size: Option<String>,
    pub(super) jobs: Option<u64>,
}

impl Config {
    /// Of a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot read the settings in {}", path.display());
        let no = |error: std::io::Error| Failure::new(doing(), error);
        let length = fs::metadata(path).map_err(no)?.len();
        if length > MAX_BYTES {
            return Err(Failure::new(doing(), format!("it has {length} bytes")).advise(
                "Settings are TOML of some kilobytes: docs/spool-serve.md has an example.",
            ));
        }
        let text = fs::read_to_string(path).map_err(no)?;
        toml::from_str(&text).map_err(|error| {
            Failure::new(doing(), error.to_string().trim_end())
                .advise("docs/spool-serve.md lists the settings, with an example.")
        })
    }
}
