//! `windlass spool account`: sums of an account log.

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

/// Maximum bytes of a line. A job's record has fewer.
const MAX_LINE: u64 = 1 << 20;

/// The arguments of `windlass spool account`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool account /var/log/windlass/account.jsonl
                                           sum up pages and jobs by user
  windlass spool account account.jsonl account.jsonl.1 --by printer
                                           by printer, with the rotated log
  windlass spool account account.jsonl --by day --user ann --json
                                           the jobs of ann on each day, as JSON")]
pub struct AccountArgs {
    /// Account log, as written by spool serve --account-log; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Key of the rows; may be given again for rows by several keys
    #[arg(long, value_enum, value_name = "WHAT", default_values_t = [AccountKey::User])]
    pub by: Vec<AccountKey>,

    /// Only jobs of this user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Only jobs of this printer
    #[arg(long, value_name = "NAME")]
    pub printer: Option<String>,
}

/// Key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Named)]
pub enum AccountKey {
    /// A user
    User,
    /// A printer
    Printer,
    /// A day, in UTC
    Day,
    /// The billing account of the job (job-billing)
    Billing,
}

impl AccountKey {
    fn of(self, line: &AccountLine<'_>) -> String {
        match self {
            Self::User => line.user.to_string(),
            Self::Printer => line.printer.to_string(),
            Self::Day => line.ended.get(..10).unwrap_or_default().to_owned(),
            Self::Billing => line.billing.clone().unwrap_or_default(),
        }
    }
}

/// Sums of the lines.
#[derive(Debug, Serialize)]
struct Account {
    schema: Schema,
    by: Vec<AccountKey>,
    rows: Vec<Row>,
    total: Sum,
    /// Lines that are not of an account log.
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
                "unknown: delivered or interrupted jobs whose page count is unknown; the column \
                 pages leaves them out",
            );
        }
        if self.unreadable_lines > 0 {
            page.line(format!("{} lines are not account lines", self.unreadable_lines));
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
            return Err(Failure::new(doing(), "the file has no account line")
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

/// Reads lines; passes `None` for each line that is not of an account log.
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
