//! Scenarios: which senders send what to which devices, as a TOML file.
//! `docs/profiles.md` describes the format.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_sim::{LinkSettings, SenderSettings, written};

use super::file::{self, Kind, ReadText, Size, Source, Wrong};
use super::profile::Profile;
use super::sender::{Method, SenderText};

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called on the command line.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub shows: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// What decides all that is left to chance.
    pub seed: u64,
    /// The transfers.
    pub rows: Vec<Row>,
}

/// A transfer.
#[derive(Clone, Debug)]
pub struct Row {
    /// The device.
    pub profile: Profile,
    /// What tells it from another transfer to the same device.
    pub setting: Option<String>,
    /// How the data is wrapped.
    pub method: Method,
    /// The port that it goes to.
    pub port: u16,
    /// The data.
    pub bytes: Bytes,
    /// What the scenario says of its sender, and what the row does.
    sender: [SenderText; 2],
    /// The link, alike in both directions.
    pub link: LinkSettings,
    /// What a document says of it.
    pub documented: Documented,
}

/// What a document says of a transfer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Documented {
    /// Its rate.
    #[serde(deserialize_with = "written::maybe")]
    pub rate: Option<Rate>,
    /// The time that it took.
    #[serde(deserialize_with = "written::maybe")]
    pub time: Option<Span>,
    /// The device's ACK latency.
    #[serde(deserialize_with = "written::maybe")]
    pub ack_latency: Option<Span>,
    /// What the device cost, as the document writes it.
    pub price: Option<String>,
    /// What to know of these figures.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
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
    documented: Documented,
}

impl Scenario {
    /// The scenario of this name, or in this file.
    ///
    /// # Errors
    /// Fails where there is none, or it says what cannot be.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(Kind::SCENARIO, name, read)?;
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
        // A profile that is wrong has a message of its own.
        let mut of_profile = None;
        let read = source.read(|file: File| {
            if file.rows.is_empty() {
                let why = "missing rows: a scenario has one [[row]] at least".to_owned();
                return Err(Wrong { at: None, why });
            }
            let mut rows = Vec::with_capacity(file.rows.len());
            let mut names = BTreeSet::new();
            for row in &file.rows {
                let read = Row::read(row, &file, path, read_text, &mut of_profile)?;
                if !names.insert(read.file_name()) {
                    let why =
                        "another row has the same device and method: tell them apart by `setting`";
                    return Err(Wrong::new(row.get_ref().device.span(), why));
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
        file: &File,
        path: Option<&Path>,
        read_text: ReadText<'_>,
        of_profile: &mut Option<Failure>,
    ) -> Result<Self, Wrong> {
        let row = row.get_ref();
        let name = row.device.get_ref();
        let profile = match Profile::find(name, path, read_text) {
            Some(Ok(profile)) => profile,
            Some(Err(failure)) => {
                *of_profile = Some(failure);
                return Err(Wrong::new(row.device.span(), "its profile is wrong"));
            }
            None => {
                let known = Kind::PROFILE.names();
                let why = format!(
                    "there is no profile `{name}`; a device is one of {known}, or the \
                     path of a profile: ./{name}.toml"
                );
                return Err(Wrong::new(row.device.span(), why));
            }
        };
        let method = *row.method.get_ref();
        let port = match method {
            Method::Raw => profile.raw,
            Method::Lpr => profile.lpr,
        };
        let Some(port) = port else {
            let services = profile.services().join(" and ");
            let why = format!("{} serves {services} only", profile.full_name());
            return Err(Wrong::new(row.method.span(), why));
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

    /// What its sender is set to, for so many bytes.
    pub fn sender_settings(&self, bytes: Bytes) -> SenderSettings {
        SenderText::settings(&self.sender, self.method, bytes)
    }

    /// What its capture is called: `<device>-<method>.pcap`, with the setting
    /// where there is one. A device that is called after its method does not
    /// get it twice.
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
