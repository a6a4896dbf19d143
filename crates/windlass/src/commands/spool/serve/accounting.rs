//! Settings of accounting: page logs and quotas, from the command line and the settings
//! file.

use std::time::Duration;

use windlass_base::Failure;
use windlass_base::values::bytes;
use windlass_spool::{AccountSettings, PageLogFormat, Quota, Rotation};

use super::args::{ServeArgs, page_log_format};
use super::config::{Config, QuotaConfig};

/// Returns the failure of a wrong value of a setting.
fn wrong(setting: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::usage("cannot run the spool server", format!("{setting}: {wrong}"))
        .advise("docs/accounting.md has examples.")
}

/// Returns the settings of accounting.
pub(super) fn settings(args: &ServeArgs, config: &Config) -> Result<AccountSettings, Failure> {
    let of_file = config.page_log_format.as_deref().map(page_log_format).transpose();
    let of_file = of_file.map_err(|error| wrong("page-log-format", error))?;
    let format = args.page_log_format.clone().or(of_file);
    let format = match format {
        Some(format) => format,
        None => PageLogFormat::new(PageLogFormat::USUAL)
            .map_err(|error| wrong("page-log-format", error))?,
    };
    let size = config.page_log_size.as_deref().map(bytes).transpose();
    let size = args.page_log_size.or(size.map_err(|error| wrong("page-log-size", error))?);
    let usual = Rotation::default();
    let page_log = args.page_log.clone().or_else(|| config.page_log.clone());
    let lines = args.account_log.clone().or_else(|| config.account_log.clone());
    if page_log.is_some() && page_log == lines {
        return Err(wrong("account-log", "the page log uses this file: give another"));
    }
    Ok(AccountSettings {
        page_log: page_log.map(|path| (path, format)),
        lines,
        rotation: Rotation {
            size: size.map(windlass_base::Bytes::get),
            keep: args.page_log_files.or(config.page_log_files).unwrap_or(usual.keep),
        },
        quotas: config.quota.iter().map(quota).collect::<Result<_, _>>()?,
    })
}

fn quota(one: &QuotaConfig) -> Result<Quota, Failure> {
    let of = |error: &dyn std::fmt::Display| wrong("quota", error);
    if let Some(user) = one.user.as_ref().filter(|user| user.starts_with('@')) {
        return Err(of(&format!("{user:?} is a group: quotas apply to users only")));
    }
    let quota = Quota {
        printer: one.printer.clone(),
        user: one.user.clone(),
        period: period(&one.period).map_err(|error| of(&error))?,
        pages: one.pages,
        bytes: one
            .size
            .as_deref()
            .map(bytes)
            .transpose()
            .map_err(|error| of(&error))?
            .map(windlass_base::Bytes::get),
        jobs: one.jobs,
    };
    if quota.pages.is_none() && quota.bytes.is_none() && quota.jobs.is_none() {
        return Err(of(&"the quota has no limit: give pages, size or jobs"));
    }
    Ok(quota)
}

/// Reads the period of a quota, which may be days or weeks.
fn period(text: &str) -> Result<Duration, String> {
    let no = || format!("{text:?} is not a period: write 1h, 1d, 7d, 30d or 365d");
    let digits = text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| no())?;
    let seconds = match unit.trim() {
        // CUPS's job-quota-period is in seconds.
        "" | "s" => 1,
        "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(no()),
    };
    let seconds = number.checked_mul(seconds).filter(|all| (1..=10 * 366 * 86_400).contains(all));
    seconds.map(Duration::from_secs).ok_or_else(no)
}

#[cfg(test)]
mod tests {
    use super::period;
    use std::time::Duration;

    #[test]
    fn periods_are_long() {
        let days = |days: u64| Ok(Duration::from_secs(days * 86_400));
        assert_eq!(period("30d"), days(30));
        assert_eq!(period("604800"), days(7));
        assert_eq!(period("1 w"), days(7));
        assert_eq!(period("24h"), days(1));
        for text in ["", "d", "0d", "-1d", "1y", "99999999999d"] {
            assert!(period(text).is_err(), "{text}");
        }
    }
}
