//! `windlass-archive retain`.

use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::runtime::Runtime;
use windlass_base::{Failure, Schema};

use super::{age, counted, print};
use crate::compact::{clean, retain};
use crate::place;
use crate::sql::until_signal;
use crate::store::State;

/// Captures to drop.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Example:
  windlass-archive retain archive --older-than 90d")]
pub struct RetainArgs {
    /// Archive: a folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    archive: String,

    /// Drop captures whose last packet is older than this, such as 90d, 12w or 2y
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Duration,

    /// Keep replaced files this long, for readers
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = age)]
    grace: Duration,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Record of `windlass-archive retain`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: Schema,
    archive: &'a str,
    before: String,
    dropped: u64,
    deleted_files: u64,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-retain", version: 1 };

pub fn run(args: &RetainArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let place = place(&args.archive, "cannot drop captures of")?;
    let before = SignedDuration::try_from(args.older_than)
        .and_then(|age| Timestamp::now().checked_sub(age))
        .map_err(|error| {
            Failure::usage("cannot drop captures of that age", error)
                .advise("Give an age such as 90d, 12w or 2y.")
        })?;
    let work = async {
        let mut state = State::read(&place).await?;
        let dropped = retain(&place, &mut state, before).await?;
        let deleted = clean(&place, &mut state, args.grace).await?;
        Ok::<_, Failure>((dropped, deleted))
    };
    let Some(done) = runtime.block_on(until_signal(work)) else {
        return Err(Failure::new(format!("cannot drop captures of {place}"), "it was stopped")
            .advise("Dropped captures stay dropped; run the command again.")
            .into());
    };
    let (dropped, deleted_files) = done?;
    let report = Report {
        schema: SCHEMA,
        archive: &args.archive,
        before: before.to_string(),
        dropped,
        deleted_files,
    };
    print(&report, args.json, || {
        format!(
            "{}: {} dropped that ended before {}; {} deleted.\n",
            args.archive,
            counted(dropped, "capture"),
            before.strftime("%Y-%m-%d %H:%M UTC"),
            counted(deleted_files, "old file")
        )
    })
}
