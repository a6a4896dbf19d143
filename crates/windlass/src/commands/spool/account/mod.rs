//! `windlass spool account`: what the lines of an account add up to.

mod sums;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use windlass_base::{Bytes, Failure, Named, Schema};
use windlass_output::{Column, Output, Page, Record, Table, Text, figures};
use windlass_spool::AccountLine;

use self::sums::{Sum, Sums};
use crate::commands::unwritten;

/// The longest line that is read. A job's record has less.
const MAX_LINE: u64 = 1 << 20;

/// The arguments of `windlass spool account`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool account /var/log/windlass/account.jsonl
                                           who printed how much
  windlass spool account account.jsonl account.jsonl.1 --by printer
                                           the same by printer, with the log that was set aside
  windlass spool account account.jsonl --by day --user ann --json
                                           what ann printed each day")]
pub struct AccountArgs {
    /// Lines of JSON that a spool wrote with --account-log; - is the standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// What each row is of; may be given again for rows of both
    #[arg(long, value_enum, value_name = "WHAT", default_values_t = [By::User])]
    pub by: Vec<By>,

    /// Only what this user printed
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Only what this printer had
    #[arg(long, value_name = "NAME")]
    pub printer: Option<String>,
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Named)]
pub enum By {
    /// A user
    User,
    /// A printer
    Printer,
    /// A day, in UTC
    Day,
    /// What the job is billed to (job-billing)
    Billing,
}

impl By {
    fn of(self, line: &AccountLine<'_>) -> String {
        match self {
            Self::User => line.user.to_string(),
            Self::Printer => line.printer.to_string(),
            Self::Day => line.ended.get(..10).unwrap_or_default().to_owned(),
            Self::Billing => line.billing.clone().unwrap_or_default(),
        }
    }
}

/// What the lines add up to.
#[derive(Debug, Serialize)]
struct Account {
    schema: Schema,
    by: Vec<By>,
    rows: Vec<Row>,
    total: Sum,
    /// Lines that are none of an account.
    unreadable_lines: u64,
}

/// A row.
#[derive(Debug, Serialize)]
struct Row {
    /// In the order of `by`.
    of: Vec<String>,
    sum: Sum,
}

impl Account {
    /// The shape of the JSON, described by `schemas/spool-account.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.spool-account", version: 1 };
}

impl Record for Account {
    fn text(&self, page: &mut Page) {
        let left = self.by.iter().map(|by| Column::left(by.id()));
        let right = ["jobs", "completed", "pages", "unknown", "size"].map(Column::right);
        let mut table = Table::new(left.chain(right));
        let cells = |of: &[String], sum: &Sum| {
            let of = of.iter().map(|one| Text::from(one.as_str()));
            let counts = [sum.jobs, sum.completed, sum.pages, sum.jobs_of_unknown_pages];
            let counts = counts.map(|count| Text::from(figures::count(count)));
            of.chain(counts).chain([figures::size(Bytes::new(sum.bytes))]).collect::<Vec<_>>()
        };
        for row in &self.rows {
            table.push(cells(&row.of, &row.sum));
        }
        let mut all = vec![String::new(); self.by.len()];
        if let Some(first) = all.first_mut() {
            "all".clone_into(first);
        }
        table.push(cells(&all, &self.total));
        page.table(&table);
        if self.total.jobs_of_unknown_pages > 0 {
            page.line(
                "unknown: jobs that were delivered, or broken off, whose pages cannot be told; \
                 they are not among the pages",
            );
        }
        if self.unreadable_lines > 0 {
            page.line(format!("{} lines are none of an account", self.unreadable_lines));
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &AccountArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut by = args.by.clone();
    let mut seen = Vec::new();
    by.retain(|one| {
        let is_new = !seen.contains(one);
        seen.push(*one);
        is_new
    });
    let (mut sums, mut unreadable) = (Sums::default(), 0);
    for path in &args.files {
        let doing = || format!("cannot read {}", path.display());
        let no = |error: io::Error| Failure::new(doing(), error);
        let from: Box<dyn BufRead> = if path.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(path).map_err(no)?))
        };
        let mut lines = 0;
        read(from, |line| {
            lines += 1;
            match line {
                None => unreadable += 1,
                Some(line) => {
                    let is_wanted = args.user.as_ref().is_none_or(|user| *user == line.user)
                        && args.printer.as_ref().is_none_or(|one| *one == line.printer);
                    if is_wanted {
                        sums.add(by.iter().map(|by| by.of(&line)).collect(), &line);
                    }
                }
            }
        })
        .map_err(no)?;
        if lines > 0 && lines == unreadable {
            return Err(Failure::new(doing(), "none of its lines is of an account")
                .advise("Give a file that windlass spool serve --account-log wrote.")
                .into());
        }
    }
    let total = sums.total();
    let rows = sums.rows().map(|(of, sum)| Row { of, sum }).collect();
    let account =
        Account { schema: Account::SCHEMA, by, rows, total, unreadable_lines: unreadable };
    output.print(&account).map_err(unwritten)?;
    Ok(())
}

/// Reads lines; nothing is said of what is none of an account.
fn read(
    mut from: Box<dyn BufRead>,
    mut told: impl FnMut(Option<AccountLine<'_>>),
) -> io::Result<()> {
    let shape = AccountLine::SCHEMA.to_string();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = io::Read::take(&mut from, MAX_LINE);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let read = serde_json::from_slice::<AccountLine<'_>>(&line).ok();
        told(read.filter(|line| line.schema == shape));
    }
}
