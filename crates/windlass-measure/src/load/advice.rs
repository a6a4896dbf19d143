//! What settings of cupsd to change, each with what was measured.
//!
//! Nothing is changed here: an administrator does that, and `--compare` tells what it
//! brought.

use serde::Serialize;
use windlass_base::{Bytes, Sentence, sentence};
use windlass_print::load::{Counts, Kind, KnownBy, Outcomes, Queueing, Troubles};

use super::cups::CupsSettings;
use super::limits::{Limit, LimitKind};

/// From here on answers have become longer while jobs came: as a part of what they
/// were at first.
const SLOWER: f64 = 1.5;

/// From here on a log has so much of a job that it costs something.
const MUCH_LOG: u64 = 200;

/// What to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingAdvice {
    /// Which setting.
    pub setting: &'static str,
    /// The line for the file.
    pub line: String,
    /// In which file it is.
    pub file: &'static str,
    /// By which figures, in a sentence.
    pub sentence: Sentence,
}

const SERVER: &str = "cupsd.conf";
const FILES: &str = "cups-files.conf";

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'a> {
    pub(super) settings: &'a CupsSettings,
    pub(super) counts: Counts,
    pub(super) queue: &'a Queueing,
    pub(super) wrong: &'a Troubles,
    /// What became of jobs, and by what that is known.
    pub(super) outcomes: Option<(&'a Outcomes, KnownBy)>,
    pub(super) limits: [Option<&'a Limit>; 2],
    pub(super) connections: usize,
}

impl Measured<'_> {
    fn is_limited_by(&self, kinds: &[LimitKind]) -> bool {
        self.limits.into_iter().flatten().any(|limit| kinds.contains(&limit.limit))
    }

    fn refused(&self, kind: Kind) -> u64 {
        let of = self.wrong.troubles.iter().filter(|trouble| trouble.kind == kind);
        of.map(|trouble| trouble.jobs).sum()
    }

    /// What to change, that with most to gain first.
    pub(super) fn advice(&self) -> Vec<SettingAdvice> {
        let all = [
            self.jobs(),
            self.clients(),
            self.files(),
            self.log(),
            self.history(),
            self.sync(),
            self.disk(),
            self.events(),
        ];
        all.into_iter().flatten().collect()
    }

    fn jobs(&self) -> Option<SettingAdvice> {
        let most = self.settings.number("MaxJobs").filter(|most| *most > 0)?;
        let refused = self.refused(Kind::TooManyJobs);
        let was_full = self.wrong.full.iter().any(|full| full.kind == Kind::TooManyJobs);
        (refused > 0 || was_full).then(|| SettingAdvice {
            setting: "MaxJobs",
            line: "MaxJobs 0".to_owned(),
            file: SERVER,
            sentence: sentence!(
                "It keeps {most} jobs at the most, those that are over among them, and {refused} \
                 were refused for that: 0 is no limit."
            ),
        })
    }

    fn clients(&self) -> Option<SettingAdvice> {
        let most = self.settings.number("MaxClients").filter(|most| *most > 0)?;
        let wanted = self.connections as u64;
        (wanted > most).then(|| SettingAdvice {
            setting: "MaxClients",
            line: format!("MaxClients {}", wanted.saturating_mul(2)),
            file: SERVER,
            sentence: sentence!(
                "It takes {most} clients at once, and there were {wanted}: the others waited."
            ),
        })
    }

    fn files(&self) -> Option<SettingAdvice> {
        let is_full = self.wrong.full.iter().any(|full| full.kind == Kind::SpoolFull);
        (is_full && self.settings.is_on("PreserveJobFiles")).then(|| SettingAdvice {
            setting: "PreserveJobFiles",
            line: "PreserveJobFiles No".to_owned(),
            file: SERVER,
            sentence: sentence!(
                "Its spool was full, and it keeps the documents of jobs that are over (now {}): \
                 this load alone left {} there.",
                self.settings.value("PreserveJobFiles").unwrap_or("Yes"),
                self.outcomes.map_or(Bytes::ZERO, |(outcomes, _)| outcomes.completed_bytes)
            ),
        })
    }

    fn log(&self) -> Option<SettingAdvice> {
        let level = self.settings.value("LogLevel")?;
        let is_loud = level.to_ascii_lowercase().starts_with("debug");
        let grew = self.settings.error_log_bytes;
        let of_job = grew.map(|grew| grew.get() / self.counts.acknowledged.max(1));
        let costs =
            self.is_limited_by(&[LimitKind::ServerCore, LimitKind::Processors, LimitKind::Disk])
                && of_job.is_some_and(|bytes| bytes >= MUCH_LOG);
        if !(is_loud || costs && level.eq_ignore_ascii_case("info")) {
            return None;
        }
        let measured = match (grew, of_job) {
            (Some(grew), Some(of_job)) => sentence!(
                "Its log grew by {grew}, {} for each job, with LogLevel {level}: it writes that \
                 itself, between jobs.",
                Bytes::new(of_job)
            ),
            _ => sentence!("It writes a log of LogLevel {level}, which cannot be seen from here."),
        };
        Some(SettingAdvice {
            setting: "LogLevel",
            line: "LogLevel warn".to_owned(),
            file: SERVER,
            sentence: measured,
        })
    }

    fn history(&self) -> Option<SettingAdvice> {
        let (first, last) = self.queue.first_tenth_seconds.zip(self.queue.last_tenth_seconds)?;
        let is_slower = last.as_seconds() >= SLOWER * first.as_seconds();
        (is_slower && self.settings.is_on("PreserveJobHistory")).then(|| {
            let most = self.settings.value("MaxJobs").unwrap_or("500");
            SettingAdvice {
                setting: "PreserveJobHistory",
                line: "PreserveJobHistory No".to_owned(),
                file: SERVER,
                sentence: sentence!(
                    "Answers took {first} on average for the first tenth of the jobs and {last} \
                     for the last: it goes through the jobs that it knows for each new one, and \
                     it keeps those that are over (MaxJobs {most}). A lower MaxJobs keeps some."
                ),
            }
        })
    }

    fn sync(&self) -> Option<SettingAdvice> {
        let waits = self.is_limited_by(&[LimitKind::Answers, LimitKind::Disk]);
        (waits && self.settings.is_on("SyncOnClose")).then(|| SettingAdvice {
            setting: "SyncOnClose",
            line: "SyncOnClose No".to_owned(),
            file: FILES,
            sentence: sentence!(
                "It syncs each file that it has written, one client after the other, and a job \
                 has two. Without it a loss of power costs jobs that were acknowledged."
            ),
        })
    }

    fn disk(&self) -> Option<SettingAdvice> {
        let limit = self.limits.into_iter().flatten().find(|it| it.limit == LimitKind::Disk)?;
        let root = self.settings.value("RequestRoot")?;
        let on = self.settings.spool_is_on.as_deref().unwrap_or("a disk that is not known");
        Some(SettingAdvice {
            setting: "RequestRoot",
            line: "RequestRoot /a/fast/disk/of/its/own".to_owned(),
            file: FILES,
            sentence: sentence!(
                "Its jobs are in {root} on {on}, a document and a control file for each. \
                 {limit.sentence}"
            ),
        })
    }

    fn events(&self) -> Option<SettingAdvice> {
        let (outcomes, known_by) = self.outcomes?;
        let lost = outcomes.unknown;
        let most = self.settings.number("MaxEvents")?;
        (known_by == KnownBy::Events && lost > 0).then(|| SettingAdvice {
            setting: "MaxEvents",
            line: format!("MaxEvents {}", most.saturating_mul(10).max(1_000)),
            file: SERVER,
            sentence: sentence!(
                "It keeps no history and {most} events: of {lost} jobs the event was gone before \
                 it could be asked for."
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_print::load::{Became, Full, Trouble};

    use super::super::cups::Setting;
    use super::*;

    fn settings(given: &[(&'static str, &str)], log: Option<u64>) -> CupsSettings {
        let setting = |(name, value): &(&'static str, &str)| Setting {
            name,
            value: (*value).to_owned(),
            is_given: true,
        };
        CupsSettings {
            read_from: vec!["/etc/cups/cupsd.conf".to_owned()],
            settings: given.iter().map(setting).collect(),
            spool_is_on: Some("ext4 (/dev/sda)".to_owned()),
            error_log_bytes: log.map(Bytes::new),
        }
    }

    fn advised(
        settings: &CupsSettings,
        queue: &Queueing,
        wrong: &Troubles,
        limit: LimitKind,
    ) -> Vec<String> {
        let limit = Limit::new(limit, "It was so.".into());
        let measured = Measured {
            settings,
            counts: Counts { acknowledged: 1_000, ..Counts::default() },
            queue,
            wrong,
            outcomes: None,
            limits: [Some(&limit), None],
            connections: 200,
        };
        let advice = measured.advice();
        advice.iter().for_each(|it| assert!(it.sentence.to_string().ends_with('.'), "{it:?}"));
        advice.into_iter().map(|it| it.line).collect()
    }

    #[test]
    fn each_setting_is_advised_by_what_was_measured() {
        let (queue, wrong) = (Queueing::default(), Troubles::default());
        let loud = settings(&[("LogLevel", "debug2")], Some(12_000_000));
        let none: [&str; 0] = [];
        assert_eq!(advised(&loud, &queue, &wrong, LimitKind::Answers), ["LogLevel warn"]);
        let info = settings(&[("LogLevel", "info")], Some(500_000));
        assert_eq!(advised(&info, &queue, &wrong, LimitKind::Answers), none);
        assert_eq!(advised(&info, &queue, &wrong, LimitKind::ServerCore), ["LogLevel warn"]);
        let quiet = settings(&[("LogLevel", "warn")], Some(0));
        assert_eq!(advised(&quiet, &queue, &wrong, LimitKind::ServerCore), none);

        let kept = settings(&[("PreserveJobHistory", "Yes"), ("MaxJobs", "0")], None);
        let slower = Queueing {
            first_tenth_seconds: Some(Span::from_millis(1)),
            last_tenth_seconds: Some(Span::from_millis(4)),
            ..Queueing::default()
        };
        assert_eq!(
            advised(&kept, &slower, &wrong, LimitKind::ServerCore),
            ["PreserveJobHistory No"]
        );
        assert_eq!(advised(&kept, &queue, &wrong, LimitKind::ServerCore), none);

        let full = |kind| Troubles {
            full: vec![Full {
                kind,
                refused_seconds: Span::ZERO,
                accepted_seconds: None,
                refusals: 1,
            }],
            troubles: vec![Trouble {
                kind,
                became: Became::Refused,
                words: String::new(),
                jobs: 7,
                first_seconds: Span::ZERO,
                last_seconds: Span::ZERO,
            }],
            ..Troubles::default()
        };
        let few = settings(&[("MaxJobs", "500"), ("MaxClients", "100")], None);
        let lines = advised(&few, &queue, &full(Kind::TooManyJobs), LimitKind::Full);
        assert_eq!(lines, ["MaxJobs 0", "MaxClients 400"]);
        let files = settings(&[("PreserveJobFiles", "86400"), ("SyncOnClose", "Yes")], None);
        let lines = advised(&files, &queue, &full(Kind::SpoolFull), LimitKind::Answers);
        assert_eq!(lines, ["PreserveJobFiles No", "SyncOnClose No"]);
        let disk = settings(&[("RequestRoot", "/var/spool/cups")], None);
        assert_eq!(advised(&disk, &queue, &wrong, LimitKind::Disk).len(), 1);
    }
}
