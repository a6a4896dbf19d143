//! Advice on settings of cupsd, each with its measurement.
//!
//! Nothing is changed here: an administrator changes the settings, and `--compare` shows the
//! effect.

use serde::Serialize;
use windlass_base::{Bytes, Sentence, sentence};
use windlass_print::load::{
    Counts, OutcomeSource, Outcomes, ProblemKind, QueueingFigures, Troubles,
};

use super::cups::CupsSettings;
use super::limits::{Limit, LimitKind};

/// Ratio of the last answer times to the first beyond which answers have become slower.
const SLOWER: f64 = 1.5;

/// Bytes of log for a job beyond which the log costs something.
const MUCH_LOG: u64 = 200;

/// Advice to change a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingAdvice {
    /// Name of the setting.
    pub setting: &'static str,
    /// Line for the file.
    pub line: String,
    /// File of the setting.
    pub file: &'static str,
    /// Figures that support the advice, in a sentence.
    pub sentence: Sentence,
}

const SERVER: &str = "cupsd.conf";
const FILES: &str = "cups-files.conf";

/// Measurements on which the advice rests.
#[derive(Clone, Copy, Debug)]
pub(super) struct CupsMeasurements<'a> {
    pub(super) settings: &'a CupsSettings,
    pub(super) counts: Counts,
    pub(super) queue: &'a QueueingFigures,
    pub(super) wrong: &'a Troubles,
    /// Outcomes of jobs, and their source.
    pub(super) outcomes: Option<(&'a Outcomes, OutcomeSource)>,
    pub(super) limits: [Option<&'a Limit>; 2],
    pub(super) connections: usize,
}

impl CupsMeasurements<'_> {
    fn is_limited_by(&self, kinds: &[LimitKind]) -> bool {
        self.limits.into_iter().flatten().any(|limit| kinds.contains(&limit.limit))
    }

    fn refused(&self, kind: ProblemKind) -> u64 {
        let of = self.wrong.troubles.iter().filter(|trouble| trouble.kind == kind);
        of.map(|trouble| trouble.jobs).sum()
    }

    /// Returns the settings to change, the one with the largest gain first.
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
        let refused = self.refused(ProblemKind::TooManyJobs);
        let was_full = self.wrong.full.iter().any(|full| full.kind == ProblemKind::TooManyJobs);
        (refused > 0 || was_full).then(|| SettingAdvice {
            setting: "MaxJobs",
            line: "MaxJobs 0".to_owned(),
            file: SERVER,
            sentence: sentence!(
                "cupsd keeps at most {most} jobs, including finished ones, and refused {refused} \
                 jobs for that reason. 0 means no limit."
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
                "cupsd accepts {most} clients at once, and there were {wanted}: the others waited."
            ),
        })
    }

    fn files(&self) -> Option<SettingAdvice> {
        let is_full = self.wrong.full.iter().any(|full| full.kind == ProblemKind::SpoolFull);
        (is_full && self.settings.is_on("PreserveJobFiles")).then(|| SettingAdvice {
            setting: "PreserveJobFiles",
            line: "PreserveJobFiles No".to_owned(),
            file: SERVER,
            sentence: sentence!(
                "The spool was full, and cupsd keeps the documents of finished jobs (now {}): this \
                 load alone left {} in the spool.",
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
                "The log grew by {grew}, {} for each job, with LogLevel {level}: cupsd writes the \
                 log between jobs.",
                Bytes::new(of_job)
            ),
            _ => sentence!("cupsd logs with LogLevel {level}; the log cannot be read from here."),
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
                    "The mean answer time was {first} for the first tenth of the jobs and {last} \
                     for the last tenth: cupsd searches all known jobs for each new one, and keeps \
                     finished jobs (MaxJobs {most}). A lower MaxJobs also helps."
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
                "cupsd syncs each written file to disk, for one client after the other, and a job \
                 has two files. Without it a power failure can lose acknowledged jobs."
            ),
        })
    }

    fn disk(&self) -> Option<SettingAdvice> {
        let limit = self.limits.into_iter().flatten().find(|it| it.limit == LimitKind::Disk)?;
        let root = self.settings.value("RequestRoot")?;
        let on = self.settings.spool_is_on.as_deref().unwrap_or("an unknown disk");
        Some(SettingAdvice {
            setting: "RequestRoot",
            line: "RequestRoot /a/fast/disk/of/its/own".to_owned(),
            file: FILES,
            sentence: sentence!(
                "The jobs are in {root} on {on}, with a document and a control file each. \
                 {limit.sentence}"
            ),
        })
    }

    fn events(&self) -> Option<SettingAdvice> {
        let (outcomes, known_by) = self.outcomes?;
        let lost = outcomes.unknown;
        let most = self.settings.number("MaxEvents")?;
        (known_by == OutcomeSource::Events && lost > 0).then(|| SettingAdvice {
            setting: "MaxEvents",
            line: format!("MaxEvents {}", most.saturating_mul(10).max(1_000)),
            file: SERVER,
            sentence: sentence!(
                "cupsd keeps no history and {most} events: the events of {lost} jobs were gone \
                 before windlass asked for them."
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_print::load::{FullPeriod, SubmissionFailure, Trouble};

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
        queue: &QueueingFigures,
        wrong: &Troubles,
        limit: LimitKind,
    ) -> Vec<String> {
        let limit = Limit::new(limit, "It was so.".into());
        let measured = CupsMeasurements {
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
        let (queue, wrong) = (QueueingFigures::default(), Troubles::default());
        let loud = settings(&[("LogLevel", "debug2")], Some(12_000_000));
        let none: [&str; 0] = [];
        assert_eq!(advised(&loud, &queue, &wrong, LimitKind::Answers), ["LogLevel warn"]);
        let info = settings(&[("LogLevel", "info")], Some(500_000));
        assert_eq!(advised(&info, &queue, &wrong, LimitKind::Answers), none);
        assert_eq!(advised(&info, &queue, &wrong, LimitKind::ServerCore), ["LogLevel warn"]);
        let quiet = settings(&[("LogLevel", "warn")], Some(0));
        assert_eq!(advised(&quiet, &queue, &wrong, LimitKind::ServerCore), none);

        let kept = settings(&[("PreserveJobHistory", "Yes"), ("MaxJobs", "0")], None);
        let slower = QueueingFigures {
            first_tenth_seconds: Some(Span::from_millis(1)),
            last_tenth_seconds: Some(Span::from_millis(4)),
            ..QueueingFigures::default()
        };
        assert_eq!(
            advised(&kept, &slower, &wrong, LimitKind::ServerCore),
            ["PreserveJobHistory No"]
        );
        assert_eq!(advised(&kept, &queue, &wrong, LimitKind::ServerCore), none);

        let full = |kind| Troubles {
            full: vec![FullPeriod {
                kind,
                refused_seconds: Span::ZERO,
                accepted_seconds: None,
                refusals: 1,
            }],
            troubles: vec![Trouble {
                kind,
                became: SubmissionFailure::Refused,
                words: String::new(),
                jobs: 7,
                first_seconds: Span::ZERO,
                last_seconds: Span::ZERO,
            }],
            ..Troubles::default()
        };
        let few = settings(&[("MaxJobs", "500"), ("MaxClients", "100")], None);
        let lines = advised(&few, &queue, &full(ProblemKind::TooManyJobs), LimitKind::Full);
        assert_eq!(lines, ["MaxJobs 0", "MaxClients 400"]);
        let files = settings(&[("PreserveJobFiles", "86400"), ("SyncOnClose", "Yes")], None);
        let lines = advised(&files, &queue, &full(ProblemKind::SpoolFull), LimitKind::Answers);
        assert_eq!(lines, ["PreserveJobFiles No", "SyncOnClose No"]);
        let disk = settings(&[("RequestRoot", "/var/spool/cups")], None);
        assert_eq!(advised(&disk, &queue, &wrong, LimitKind::Disk).len(), 1);
    }
}
