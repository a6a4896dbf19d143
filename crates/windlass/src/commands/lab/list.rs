//! The list of `windlass lab`.

use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_lab::{Profile, Scenario, built_in};
use windlass_output::{Page, Record, Rows, Text};

use crate::files::read_text;

/// The record of `windlass lab` without a scenario.
#[derive(Debug, Serialize)]
pub(super) struct List {
    schema: Schema,
    scenarios: Vec<ScenarioFacts>,
    profiles: Vec<ProfileFacts>,
}

#[derive(Debug, Serialize)]
struct ScenarioFacts {
    name: String,
    title: String,
    shows: String,
    source: Option<String>,
    /// The devices, each once.
    devices: Vec<String>,
    transfers: u64,
}

#[derive(Debug, Serialize)]
struct ProfileFacts {
    name: String,
    device: String,
    maker: Option<String>,
    interface: Option<String>,
    about: String,
    source: String,
    methods: Vec<&'static str>,
}

impl List {
    const SCHEMA: Schema = Schema { name: "windlass.lab-list", version: 1 };

    pub(super) fn new() -> Result<Self, Failure> {
        let scenarios =
            built_in::SCENARIOS.iter().map(|(name, _)| Scenario::named(name, &read_text));
        let profiles = built_in::PROFILES.iter().filter_map(|(name, _)| Profile::built_in(name));
        Ok(Self {
            schema: Self::SCHEMA,
            scenarios: scenarios
                .map(|scenario| scenario.map(ScenarioFacts::new))
                .collect::<Result<_, _>>()?,
            profiles: profiles
                .map(|profile| profile.map(ProfileFacts::new))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl ScenarioFacts {
    fn new(scenario: Scenario) -> Self {
        let mut devices: Vec<String> = Vec::new();
        for row in &scenario.rows {
            if !devices.contains(&row.profile.id) {
                devices.push(row.profile.id.clone());
            }
        }
        Self {
            transfers: scenario.rows.len() as u64,
            name: scenario.id,
            title: scenario.title,
            shows: scenario.shows,
            source: scenario.source,
            devices,
        }
    }
}

impl ProfileFacts {
    fn new(profile: Profile) -> Self {
        Self {
            methods: profile.services(),
            name: profile.id,
            device: profile.name,
            maker: profile.maker,
            interface: profile.interface,
            about: profile.about,
            source: profile.source,
        }
    }
}

impl Record for List {
    fn text(&self, page: &mut Page) {
        page.heading("Scenarios");
        page.indented(|page| {
            let mut rows = Rows::new();
            for scenario in &self.scenarios {
                rows.push(
                    Text::default().strong(scenario.name.as_str()),
                    Text::from(scenario.title.as_str()).and(". ").and(scenario.shows.as_str()),
                );
            }
            page.rows(&rows);
        });
        page.heading("Devices");
        page.indented(|page| {
            let mut rows = Rows::new();
            for profile in &self.profiles {
                let name = match &profile.maker {
                    Some(maker) => format!("{maker} {}", profile.device),
                    None => profile.device.clone(),
                };
                rows.push(
                    Text::default().strong(profile.name.as_str()),
                    Text::from(name)
                        .dim(format!(" ({})", profile.methods.join(", ")))
                        .and(": ")
                        .and(profile.about.as_str()),
                );
            }
            page.rows(&rows);
        });
        page.gap();
        page.paragraph(
            "`windlass lab SCENARIO` runs a scenario. To write your own scenario or device as a \
             TOML file, see docs/profiles.md.",
        );
    }
}
