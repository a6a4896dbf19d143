//! Scenarios: senders, their data and their devices, as a TOML file. `docs/profiles.md` describes
//! the format.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_sim::{LinkSettings, SenderSettings, written};

use super::file::{self, FileError, FileKind, ReadText, Size, Source};
use super::profile::Profile;
use super::sender::{Method, SenderText};

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name on the command line.
    pub id: String,
    /// Title of the scenario.
    pub title: String,
    /// Purpose of the scenario.
    pub shows: String,
    /// Source of its figures.
    pub source: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The transfers.
    pub rows: Vec<Row>,
}

/// A transfer.
#[derive(Clone, Debug)]
pub struct Row {
    /// The device.
    pub profile: Profile,
    /// Difference from another transfer to the same device.
    pub setting: Option<String>,
    /// Protocol around the data.
    pub method: Method,
    /// Destination port.
    pub port: u16,
    /// Amount of data.
    pub bytes: Bytes,
    /// The sender's settings of the scenario, and those of the row.
    sender: [SenderText; 2],
    /// The link, alike in both directions.
    pub link: LinkSettings,
    /// Figures from a document.
    pub documented: DocumentedFigures,
}

/// Figures of a transfer from a document.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DocumentedFigures {
    /// Rate of the transfer.
    #[serde(deserialize_with = "written::maybe")]
    pub rate: Option<Rate>,
    /// Time of the transfer.
    #[serde(deserialize_with = "written::maybe")]
    pub time: Option<Span>,
    /// The device's ACK latency.
    #[serde(deserialize_with = "written::maybe")]
    pub ack_latency: Option<Span>,
    /// Price of the device, as in the document.
    pub price: Option<String>,
    /// Note on these figures.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScenarioFile {
    title: String,
    shows: String,
    source: Option<String>,
    bytes: Size,
    seed: Option<u64>,
    #[serde(default)]
    sender: SenderText,
    link: Option<LinkSettings>,
    #[serde(rename = "row")]
    rows: Vec<Spanned<RowText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RowText {
    device: Spanned<String>,
    method: Spanned<Method>,
    setting: Option<String>,
    bytes: Option<Size>,
    #[serde(default)]
    sender: SenderText,
    link: Option<LinkSettings>,
    #[serde(default)]
    documented: DocumentedFigures,
}

impl Scenario {
    /// Returns the scenario of this name, or in this file.
    ///
    /// # Errors
    /// Fails if there is no such scenario, or if it has an invalid value.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(FileKind::SCENARIO, name, read)?;
        // Profiles may be named beside a file.
        let path = file::is_path(name).then(|| Path::new(name));
        Self::read(&id, &source, path, read)
    }

    fn read(
        id: &str,
        source: &Source,
        path: Option<&Path>,
        read_text: ReadText<'_>,
    ) -> Result<Self, Failure> {
        // An invalid profile has its own message.
        let mut of_profile = None;
        let read = source.read(|file: ScenarioFile| {
            if file.rows.is_empty() {
                let why = "missing rows: a scenario has at least one [[row]]".to_owned();
                return Err(FileError { at: None, why });
            }
            let mut rows = Vec::with_capacity(file.rows.len());
            let mut names = BTreeSet::new();
            for row in &file.rows {
                let read = Row::read(row, &file, path, read_text, &mut of_profile)?;
                if !names.insert(read.file_name()) {
                    let why =
                        "another row has the same device and method: give each its own `setting`";
                    return Err(FileError::new(row.get_ref().device.span(), why));
                }
                rows.push(read);
            }
            Ok(Self {
                id: id.to_owned(),
                title: file.title,
                shows: file.shows,
                source: file.source,
                seed: file.seed.unwrap_or(1),
                rows,
            })
        });
        of_profile.map_or(read, Err)
    }
}

impl Row {
    fn read(
        row: &Spanned<RowText>,
        file: &ScenarioFile,
        path: Option<&Path>,
        read_text: ReadText<'_>,
        of_profile: &mut Option<Failure>,
    ) -> Result<Self, FileError> {
        let row = row.get_ref();
        let name = row.device.get_ref();
        let profile = match Profile::find(name, path, read_text) {
            Some(Ok(profile)) => profile,
            Some(Err(failure)) => {
                *of_profile = Some(failure);
                return Err(FileError::new(row.device.span(), "its profile is wrong"));
            }
            None => {
                let known = FileKind::PROFILE.names();
                let why = format!(
                    "there is no profile `{name}`; a device is one of {known}, or the \
                     path of a profile: ./{name}.toml"
                );
                return Err(FileError::new(row.device.span(), why));
            }
        };
        let method = *row.method.get_ref();
        let port = match method {
            Method::Raw => profile.raw,
            Method::Lpr => profile.lpr,
        };
        let Some(port) = port else {
            let services = profile.services().join(" and ");
            let why = format!("{} serves only {services}", profile.full_name());
            return Err(FileError::new(row.method.span(), why));
        };
        let link = row.link.or(file.link).unwrap_or_default();
        Ok(Self {
            profile,
            setting: row.setting.clone(),
            method,
            port,
            bytes: row.bytes.unwrap_or(file.bytes).0,
            sender: [file.sender, row.sender],
            link,
            documented: row.documented.clone(),
        })
    }

    /// Returns the settings of the row's sender for `bytes` bytes.
    pub fn sender_settings(&self, bytes: Bytes) -> SenderSettings {
        SenderText::settings(&self.sender, self.method, bytes)
    }

    /// Returns the name of the row's capture: `<device>-<method>.pcap`, with the setting if there
    /// is one. A device whose name ends with the method does not get it twice.
    pub fn file_name(&self) -> String {
        let mut name = self.profile.id.clone();
        let method = format!("-{}", self.method.id());
        if !name.ends_with(&method) {
            name.push_str(&method);
        }
        if let Some(setting) = &self.setting {
            name.push('-');
            name.extend(setting.chars().map(|letter| match letter {
                letter if letter.is_alphanumeric() || letter == '.' => letter,
                _ => '-',
            }));
        }
        name + ".pcap"
    }
}
