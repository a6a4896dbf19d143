//! The captures of an archive: each explained separately, with totals.

use std::cmp::Reverse;

use serde::Serialize;
use windlass_base::{Cause, Failure, Limit, LimitReason, Schema};
use windlass_capture::{Archive, CaptureFacts, CaptureReceiver, ReadCapture, SkipReason};
use windlass_lab::what_if::{Changes, WhatIf, try_remedies};
use windlass_output::records::capture_head;
use windlass_output::records::explain::overview::{Overview, OverviewBuilder};
use windlass_output::{Column, Page, Record, Style, Table, Text, figures, verdict};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analysis, Keep, Reasons, Totals, Transfer};

use super::{Detail, ExplainArgs, ExplainedConnection, MODELLED, doing, report_of, why_of};

/// Maximum number of captures with a row, without `--all`.
const ROWS: usize = 10_000;

/// Maximum number of captures with a line in the text.
const LINES: usize = 20;

/// Maximum number of judged connections, without `--all`. Their peers are kept in memory.
const JUDGED_IN_ALL: u64 = 100_000;

/// A capture of an archive.
#[derive(Debug, Serialize)]
struct Row {
    capture: CaptureFacts,
    totals: Totals,
    /// Verdict of the connection with the most data; null without data.
    limit: Option<Limit>,
    /// Its reason.
    because: Option<LimitReason>,
    #[serde(skip)]
    cause: Option<Cause>,
}

/// A connection with its capture.
#[derive(Debug, Serialize)]
struct MemberConnection {
    file: String,
    member: String,
    #[serde(flatten)]
    explained: ExplainedConnection,
}

/// The record of `windlass explain` of an archive.
#[derive(Debug, Serialize)]
pub(super) struct ArchiveExplanation {
    #[serde(skip)]
    detail: Detail,
    schema: Schema,
    archive: Archive,
    /// Of all captures together.
    totals: Totals,
    packets: u64,
    /// Packets that were lost, as the captures say.
    drops: u64,
    /// Captures that could not be read to their end.
    damaged: u64,
    captures: Vec<Row>,
    /// Captures that have no row.
    captures_left_out: u64,
    /// Summary of the connections; null if only one is judged.
    overview: Option<Overview>,
    connections: Vec<MemberConnection>,
    /// Connections that carried data but are not in `connections`.
    left_out: u64,
}

impl ArchiveExplanation {
    /// The shape of the JSON, described by `schemas/explain-archive.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.explain-archive", version: 1 };
}

/// A connection that may be among those that are explained.
struct Candidate {
    file: String,
    member: String,
    report: ConnectionReport,
    why: Option<Reasons>,
    transfer: Transfer,
}

/// Captures of a file during reading: one, or those of an archive.
pub(super) struct Captures<'a> {
    args: &'a ExplainArgs,
    keep: Keep,
    /// The analysis of the capture that is being read.
    analysis: Analysis<()>,
    /// The capture, if the file is no archive.
    pub(super) one: Option<(ReadCapture, Analysis<()>)>,
    is_archive: bool,
    /// The most connections that are explained.
    top: usize,
    rows: Vec<Row>,
    rows_left_out: u64,
    totals: Totals,
    packets: u64,
    drops: u64,
    damaged: u64,
    judged: OverviewBuilder,
    judged_count: u64,
    largest: Vec<Candidate>,
}

impl<'a> Captures<'a> {
    pub(super) fn new(args: &'a ExplainArgs, keep: Keep) -> Self {
        let top = usize::try_from(args.top).unwrap_or(usize::MAX);
        Self {
            args,
            keep,
            analysis: Analysis::new(keep, ()),
            one: None,
            is_archive: false,
            top: if args.all { usize::MAX } else { top },
            rows: Vec::new(),
            rows_left_out: 0,
            totals: Totals::default(),
            packets: 0,
            drops: 0,
            damaged: 0,
            judged: OverviewBuilder::default(),
            judged_count: 0,
            largest: Vec::new(),
        }
    }

    /// Takes a capture of an archive.
    fn take(&mut self, read: &ReadCapture, analysis: Analysis<()>) {
        let (connections, totals) = analysis.analyzer.finish();
        self.totals.add(totals);
        let facts = CaptureFacts::new(self.args.capture.name(), read);
        self.packets += facts.packets;
        self.drops += facts.drops.unwrap_or(0);
        self.damaged += u64::from(facts.damage.is_some());
        let mut cause = None;
        for transfer in connections {
            let report = report_of(&transfer, read);
            let why = self.args.why.map(|which| why_of(&transfer, read, which));
            cause = cause.or(Some(report.verdict.cause));
            if self.args.all || self.judged_count < JUDGED_IN_ALL {
                self.judged_count += 1;
                // Captures of one transfer at both its ends are not two concurrent transfers.
                self.judged.add(&report, read.name(transfer.peer()), None);
            }
            let (file, member) = (facts.file.clone(), facts.member.clone().unwrap_or_default());
            self.largest.push(Candidate { file, member, report, why, transfer });
        }
        if self.largest.len() >= self.top.saturating_mul(2).max(self.top.saturating_add(64)) {
            self.keep_largest();
        }
        if self.args.all || self.rows.len() < ROWS {
            let (limit, because) = (cause.map(Cause::limit), cause.and_then(Cause::because));
            self.rows.push(Row { capture: facts, totals, limit, because, cause });
        } else {
            self.rows_left_out += 1;
        }
    }

    /// Keeps the largest connections alone, of equals the first.
    fn keep_largest(&mut self) {
        self.largest.sort_by_key(|one| Reverse(one.report.bytes));
        self.largest.truncate(self.top);
    }

    /// Returns the record of the whole archive.
    pub(super) fn finish(
        mut self,
        archive: Archive,
        wanted: Option<&Changes>,
    ) -> ArchiveExplanation {
        self.keep_largest();
        let with_data = self.totals.connections_with_data;
        let connections: Vec<MemberConnection> = self
            .largest
            .into_iter()
            .enumerate()
            .map(|(place, one)| {
                let Candidate { file, member, mut report, why, transfer } = one;
                if place < MODELLED {
                    try_remedies(&mut report, &transfer);
                }
                let what_if = wanted.map(|changes| WhatIf::of(changes, &report, &transfer));
                MemberConnection {
                    file,
                    member,
                    explained: ExplainedConnection { report, what_if, why },
                }
            })
            .collect();
        ArchiveExplanation {
            detail: Detail::of(self.args),
            schema: ArchiveExplanation::SCHEMA,
            archive,
            totals: self.totals,
            packets: self.packets,
            drops: self.drops,
            damaged: self.damaged,
            captures: self.rows,
            captures_left_out: self.rows_left_out,
            // No transfers are looked at side by side, so no host is asked for its name.
            overview: self.judged.overview(with_data, |host| format!("{host:?}")),
            left_out: with_data - connections.len() as u64,
            connections,
        }
    }
}

impl CaptureReceiver for Captures<'_> {
    type Observer = Analysis<()>;

    fn archive(&mut self, archive: &Archive) -> Result<(), Failure> {
        self.is_archive = true;
        let Some(number) = self.args.connection else { return Ok(()) };
        let wrong =
            format!("it is an archive, and each of its captures may have a connection {number}");
        Err(Failure::usage(doing(self.args), wrong)
            .advise(format!("Name the capture, as {}::MEMBER.", archive.file)))
    }

    fn observer(&mut self) -> &mut Analysis<()> {
        &mut self.analysis
    }

    fn forget(&mut self) {
        self.analysis = Analysis::new(self.keep, ());
    }

    fn read(&mut self, read: ReadCapture) -> Result<(), Failure> {
        let next = Analysis::new(self.keep, ());
        let analysis = std::mem::replace(&mut self.analysis, next);
        if self.is_archive {
            self.take(&read, analysis);
        } else {
            self.one = Some((read, analysis));
        }
        Ok(())
    }
}

impl ArchiveExplanation {
    /// Returns the error of an incomplete explanation.
    pub(super) fn failure(&self, args: &ExplainArgs) -> Option<Failure> {
        if let Some(damage) = &self.archive.damage {
            let wrong = format!("the archive is damaged {damage}");
            return Some(Failure::new(doing(args), wrong).advise(
                "Everything before the damage was explained. Check that the archive was copied completely.",
            ));
        }
        self.connections.is_empty().then(|| {
            Failure::new(doing(args), "no TCP connection in its captures carried data")
                .advise("Name one of its captures to see the contents.")
        })
    }

    /// Describes the archive.
    fn head(&self) -> Text {
        let Archive { file, format, packing, members, captures, .. } = &self.archive;
        let mut head = Text::default().strong(file.as_str()).and(format!(": {format}"));
        if let Some(packing) = packing {
            head = head.and(format!(" packed with {packing}"));
        }
        head = head.and(", ").and(figures::counted(*captures, "capture"));
        if captures != members {
            head = head.and(" of ").and(figures::counted(*members, "member"));
        }
        head = head.and(", ").and(figures::counted(self.packets, "packet"));
        let Totals { connections, connections_with_data, .. } = self.totals;
        head.and(", ")
            .and(figures::counted(connections, "connection"))
            .and(format!(", {} with data", figures::count(connections_with_data)))
    }

    /// Returns the warnings on the archive.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for unread in &self.archive.passed_over {
            let example = &unread.example;
            let mut warning = format!("{}: {example}", unread.count());
            if unread.members > 1 {
                warning = format!("{}, as {example}", unread.count());
            }
            if let (SkipReason::Damaged | SkipReason::Method, Some(what)) =
                (unread.why, &unread.what)
            {
                warning.push_str(&format!(" ({what})"));
            }
            warnings.push(format!("{warning}."));
        }
        if self.drops > 0 {
            let packets = figures::counted(self.drops, "packet").plain();
            warnings.push(format!("The captures lost {packets}, as their files say."));
        }
        let mut damages = self.captures.iter().filter_map(|row| {
            row.capture.damage.as_ref().map(|damage| (&row.capture.member, damage))
        });
        if let (Some((member, damage)), true) = (damages.next(), self.captures.len() > 1) {
            let member = member.as_deref().unwrap_or_default();
            let many = if self.damaged == 1 { "capture is" } else { "captures are" };
            let damaged = figures::count(self.damaged);
            warnings.push(format!(
                "{damaged} {many} damaged, such as {member} {damage}. Everything before it is used."
            ));
        }
        if let Some(damage) = &self.archive.damage {
            warnings.push(format!("Damaged {damage}. Everything before it is used."));
        }
        if self.archive.interrupted {
            warnings.push("Stopped by Ctrl-C: this is what was read until then.".to_owned());
        }
        if self.totals.given_up > 0 {
            let given_up = figures::counted(self.totals.given_up, "silent connection").plain();
            let were = if self.totals.given_up == 1 { "was" } else { "were" };
            warnings.push(format!("{given_up} {were} taken as ended, to save memory."));
        }
        warnings
    }
}

/// Returns the end of a member's name, which usually differs between members.
fn end_of(name: &str) -> String {
    const MOST: usize = 40;
    match name.chars().count().checked_sub(MOST) {
        None | Some(0) => name.to_owned(),
        Some(more) => std::iter::once('…').chain(name.chars().skip(more + 1)).collect(),
    }
}

impl Record for ArchiveExplanation {
    fn text(&self, page: &mut Page) {
        let connections: Vec<_> = self
            .connections
            .iter()
            .map(|connection| (Some(connection.file.as_str()), &connection.explained))
            .collect();
        if self.detail == Detail::Brief {
            return self.detail.text(page, &connections);
        }
        page.paragraph(self.head());
        for warning in self.warnings() {
            page.paragraph(Text::styled(Style::Warn, warning));
        }
        match &self.captures[..] {
            [] => {}
            [one] => {
                page.gap();
                capture_head::write(page, &one.capture, one.totals);
            }
            rows => {
                page.gap();
                page.table(&Table::of(
                    &rows[..rows.len().min(LINES)],
                    &[
                        (Column::left("capture").flexible(), |row| {
                            end_of(row.capture.member.as_deref().unwrap_or_default()).into()
                        }),
                        (Column::right("bytes"), |row| row.totals.bytes.into()),
                        (Column::left("largest connection"), |row| match row.cause {
                            Some(cause) => Text::whole(&verdict::cause(cause)),
                            None => "no data".into(),
                        }),
                    ],
                ));
                let more = self.archive.captures - rows.len().min(LINES) as u64;
                if more > 0 {
                    page.paragraph(
                        figures::counted(more, "more capture").and("; --json has a row for each."),
                    );
                }
            }
        }
        if let Some(overview) = &self.overview {
            overview.text_of_captures(page);
        }
        self.detail.text(page, &connections);
        if self.left_out > 0 && !self.connections.is_empty() {
            page.gap();
            page.paragraph(
                figures::counted(self.left_out, "more connection")
                    .and(" carried data; --all explains each, --top N the N largest."),
            );
        }
    }
}
