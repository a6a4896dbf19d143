//! `windlass-archive compact`.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::runtime::Runtime;
use windlass_base::{Failure, Schema};

use super::{age, counted, print};
use crate::compact::{clean, compact};
use crate::place;
use crate::progress::Progress;
use crate::sql::until_signal;
use crate::store::State;

/// Archive to compact.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Example:
  windlass-archive compact archive")]
pub struct CompactArgs {
    /// Archive: a folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    archive: String,

    /// Keep replaced files this long, for readers
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = age)]
    grace: Duration,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Record of `windlass-archive compact`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: Schema,
    archive: &'a str,
    batches: u64,
    into: u64,
    deleted_files: u64,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-compact", version: 1 };

pub fn run(args: &CompactArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let place = place(&args.archive, "cannot compact")?;
    let mut line = Progress::default();
    let work = async {
        let mut state = State::read(&place).await?;
        let compacted = compact(&place, &mut state, |done, all| {
            line.say(|| format!("{done} of {} joined", counted(all, "batch")));
        })
        .await?;
        let deleted = clean(&place, &mut state, args.grace).await?;
        Ok::<_, Failure>((compacted, deleted))
    };
    let Some(done) = runtime.block_on(until_signal(work)) else {
        return Err(Failure::new(format!("cannot compact {place}"), "it was stopped")
            .advise("No data is lost; run the command again.")
            .into());
    };
    drop(line);
    let (compacted, deleted_files) = done?;
    let report = Report {
        schema: SCHEMA,
        archive: &args.archive,
        batches: compacted.batches,
        into: compacted.into,
        deleted_files,
    };
    print(&report, args.json, || {
        let joined = match report.batches {
            0 => "nothing to join".to_owned(),
            batches => format!("{batches} batches joined into {}", report.into),
        };
        format!("{}: {joined}; {} deleted.\n", args.archive, counted(deleted_files, "old file"))
    })
}
