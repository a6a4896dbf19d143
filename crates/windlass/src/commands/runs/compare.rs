//! `windlass runs compare`.

use clap::Args;
use serde::Serialize;
use windlass_base::figures::{Count, ItemCount, fixed};
use windlass_base::{Failure, Rate, Schema, Sentence, sentence};
use windlass_output::records::runs::{second, value};
use windlass_output::{Column, Output, Page, Record, Rows, Style, Table, Text, figures};
use windlass_runs::compare::{
    CauseCount, Caution, Change, Claim, Comparison, FigureComparison, Group, LEAST_REPEATS, Spread,
    Verdicts,
};
use windlass_runs::condition::{Condition, ConditionMatch, HELP};
use windlass_runs::{Selector, Store, Summary, Unit};

use super::{all, members};
use crate::commands::unwritten;

/// The arguments of `windlass runs compare`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs compare last~1 last        compare the last two runs
  windlass runs compare tag:before tag:after
                                           compare two groups of repeats
  windlass runs compare old=k2f9ab,m3t7xq new=tag:new
                                           name the groups old and new
  windlass runs compare tag:main tag:branch --fail-if 'rate < 0.9 * baseline'
                                           exit with 1 if the rate fell by more than 10 %

Conditions:
  rate < 0.9 * baseline                    compare a median with the baseline's median
  latency-p99 > 5ms, retransmissions > 1%  compare a median with a value
  Names of figures are as in the tables of the report. The exit code is 1 if any condition holds.")]
pub struct CompareArgs {
    /// Group of runs: one run, several with commas between them, or tag:WORD. NAME=… names the
    /// group. The first group is the baseline
    #[arg(value_name = "RUN", required = true, value_parser = group)]
    pub groups: Vec<RequestedGroup>,

    /// Exit with 1 if this condition holds
    #[arg(long, value_name = "CONDITION")]
    #[arg(help = format!("Exit with 1 if this condition holds: {HELP}"))]
    pub fail_if: Vec<Condition>,
}

/// A group of runs, as named on the command line.
#[derive(Clone, Debug)]
pub struct RequestedGroup {
    name: Option<String>,
    text: String,
    runs: Vec<Selector>,
}

fn group(text: &str) -> Result<RequestedGroup, String> {
    let (name, rest) = match text.split_once('=') {
        // A tag may contain the sign, too.
        Some((name, rest)) if !name.starts_with("tag:") && !name.is_empty() => {
            (Some(name.to_owned()), rest)
        }
        _ => (None, text),
    };
    let runs: Result<Vec<Selector>, String> = rest.split(',').map(str::parse).collect();
    Ok(RequestedGroup { name, text: rest.to_owned(), runs: runs? })
}

/// Report of a comparison.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct CompareReport {
    schema: Schema,
    #[serde(flatten)]
    found: Comparison,
    conditions: Vec<JudgedCondition>,
    /// True if figures have their names for people. Conditions use the other names.
    #[serde(skip)]
    is_for_page: bool,
}

/// A condition, and the groups for which it holds.
#[derive(Debug, Serialize)]
struct JudgedCondition {
    condition: String,
    holds: Vec<ConditionMatch>,
}

impl CompareReport {
    /// The shape of the JSON, described by `schemas/runs-compare.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.runs-compare", version: 1 };

    /// Compares groups for the terminal.
    pub(in crate::commands) fn new(groups: &[Group]) -> Self {
        let found = Comparison::of(groups);
        Self { schema: Self::SCHEMA, found, conditions: Vec::new(), is_for_page: false }
    }

    /// Compares groups for a page, where there are no conditions.
    pub(in crate::commands) fn for_page(groups: &[Group]) -> Self {
        Self { is_for_page: true, ..Self::new(groups) }
    }

    /// Returns the name of a figure.
    fn name(&self, figure: &FigureComparison) -> String {
        if self.is_for_page { figure.name.says().to_owned() } else { figure.name.to_string() }
    }

    /// Returns a value of a figure; on a page a rate is in bytes and in bits.
    fn value(&self, number: f64, unit: Unit) -> Text {
        match unit {
            Unit::BytesPerSecond if self.is_for_page => {
                figures::both(Rate::from_bytes_per_second(number))
            }
            _ => value(number, unit),
        }
    }
}

impl Record for CompareReport {
    fn text(&self, page: &mut Page) {
        let found = &self.found;
        let groups = found.groups.iter().map(|group| {
            let failed = if group.failed > 0 {
                Text::from(", ")
                    .and(figures::counted(group.failed as u64, "of them"))
                    .and(" failed")
            } else {
                Text::new()
            };
            let when = Text::from(second(group.first_time));
            let when = if group.runs.len() > 1 {
                when.and(" to ").and(second(group.last_time))
            } else {
                when
            };
            let count = figures::counted(group.runs.len() as u64, "run");
            (group.name.clone(), count.and(", ").and(when).and(" UTC").and(failed))
        });
        let mut rows = Rows::new();
        for (place, (name, text)) in groups.enumerate() {
            let is_baseline = place == 0 && found.groups.len() > 1;
            rows.push(name, if is_baseline { text.and("; the baseline") } else { text });
        }
        page.rows(&rows);
        self.differs(page);
        if found.groups.iter().all(|group| group.runs.len() == 1) {
            self.single_runs(page);
        } else {
            for figure in &found.figures {
                self.figure(page, figure);
            }
            for verdicts in &found.verdicts {
                self.verdicts(page, verdicts);
            }
        }
        if !found.cautions.is_empty() {
            page.heading("Notes");
            for caution in &found.cautions {
                page.item("-", &warning(caution));
            }
        }
        for judged in &self.conditions {
            page.gap();
            judged.text(page);
        }
    }
}

impl CompareReport {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.found.groups.iter().map(|group| group.name.as_str())
    }

    fn differs(&self, page: &mut Page) {
        if self.found.groups.len() < 2 && self.found.differs.is_empty() {
            return;
        }
        page.heading("Differences");
        if self.found.differs.is_empty() {
            page.indented(|page| page.line("nothing known: command and machine are the same"));
            return;
        }
        let columns = self.names().map(|name| Column::left(name).flexible());
        let mut table = Table::new([Column::left("")].into_iter().chain(columns));
        for one in &self.found.differs {
            let values = one.values.iter().map(|values| match values.as_slice() {
                [] => Text::from("-"),
                values => {
                    let words = values.iter().map(|one| if one.is_empty() { "-" } else { one });
                    Text::from(words.collect::<Vec<_>>().join(" or "))
                }
            });
            table.push([Text::from(one.what.as_str())].into_iter().chain(values));
        }
        page.indented(|page| page.table(&table));
    }

    /// Shows groups of one run: a few side by side, and many one below the other.
    fn single_runs(&self, page: &mut Page) {
        page.heading("Figures");
        let found = &self.found;
        let title = |name: &dyn std::fmt::Display, of: &Option<String>| match of {
            Some(of) => format!("{name} of {of}"),
            None => name.to_string(),
        };
        let mut rows: Vec<(String, Vec<Text>)> = Vec::new();
        for figure in &found.figures {
            let cells = figure.groups.iter().zip(&figure.changes).map(|(spread, change)| {
                let text =
                    spread.map_or(Text::from("-"), |one| self.value(one.median, figure.unit));
                match change {
                    Some(change) => {
                        text.and(" (").and(read_change(change, by(change), figure.unit)).and(")")
                    }
                    None => text,
                }
            });
            rows.push((title(&self.name(figure), &figure.of), cells.collect()));
        }
        for verdicts in &found.verdicts {
            let cells = verdicts
                .groups
                .iter()
                .map(|causes| Text::from(causes.first().map_or("-", |first| first.cause.as_str())));
            rows.push((title(&"limit", &verdicts.of), cells.collect()));
        }
        page.indented(|page| {
            if found.groups.len() <= SIDE_BY_SIDE {
                let columns = self.names().map(Column::right);
                let mut table = Table::new([Column::left("")].into_iter().chain(columns));
                for (title, cells) in rows {
                    table.push([Text::from(title)].into_iter().chain(cells));
                }
                page.table(&table);
            } else {
                self.one_below_the_other(page, &rows);
            }
        });
    }

    /// Shows a row for each run, in as many tables as the figures need.
    fn one_below_the_other(&self, page: &mut Page, figures: &[(String, Vec<Text>)]) {
        let names = self.names().map(|name| Text::from(name).width()).max().unwrap_or(0);
        let width = |(title, cells): &(String, Vec<Text>)| {
            let cells = cells.iter().map(Text::width).max().unwrap_or(0);
            cells.max(Text::from(title.as_str()).width()) + 2
        };
        let mut rest = figures;
        while !rest.is_empty() {
            let mut wide = names;
            let fitting = rest.iter().take_while(|one| {
                wide += width(one);
                wide <= page.width()
            });
            let (now, later) = rest.split_at(fitting.count().max(1));
            let columns = now.iter().map(|(title, _)| Column::right(title.as_str()));
            let mut table = Table::new([Column::left("run")].into_iter().chain(columns));
            for (place, name) in self.names().enumerate() {
                let cells = now.iter().map(|(_, cells)| cells.get(place).cloned());
                table.push(
                    [Text::from(name)].into_iter().chain(cells.map(Option::unwrap_or_default)),
                );
            }
            page.table(&table);
            rest = later;
            if !rest.is_empty() {
                page.gap();
            }
        }
    }

    fn figure(&self, page: &mut Page, figure: &FigureComparison) {
        let of = figure.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
        page.heading(format!("{}{of}", self.name(figure)));
        let mut table =
            Table::headed("… | median: | 95 % interval | change: | 95 % interval | p: | ");
        let rows = self.names().zip(&figure.groups).zip(&figure.changes);
        for ((name, spread), change) in rows {
            let mut cells = vec![Text::from(name)];
            cells.extend(spread_cells(spread.as_ref(), figure.unit));
            cells.extend(change_cells(change.as_ref(), figure.unit));
            table.push(cells);
        }
        page.indented(|page| page.table(&table));
    }

    fn verdicts(&self, page: &mut Page, verdicts: &Verdicts) {
        let of = verdicts.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
        let changed = if verdicts.changed { ": changed" } else { "" };
        page.heading(format!("limit{of}{changed}"));
        let mut rows = Rows::new();
        for (name, causes) in self.names().zip(&verdicts.groups) {
            let all: usize = causes.iter().map(|counted| counted.runs).sum();
            let text = |CauseCount { cause, runs }: &CauseCount| {
                if all == 1 { cause.clone() } else { format!("{cause} in {runs} of {all}") }
            };
            let texts: Vec<String> = causes.iter().map(text).collect();
            rows.push(name, if texts.is_empty() { "-".to_owned() } else { texts.join(", ") });
        }
        page.indented(|page| page.rows(&rows));
    }
}

fn spread_cells(spread: Option<&Spread>, unit: Unit) -> [Text; 2] {
    let Some(spread) = spread else { return [Text::from("-"), Text::new()] };
    let range = |low: f64, high: f64| value(low, unit).and(" to ").and(value(high, unit));
    let interval = match (spread.low, spread.high) {
        (Some(low), Some(high)) => range(low, high),
        _ if spread.count == 1 => Text::new(),
        _ => Text::from("all ").and(range(spread.min, spread.max)),
    };
    [value(spread.median, unit), interval]
}

/// Returns a change as a share of the baseline, or in the figure's unit if there is no share.
fn read_change(change: &Change, by: f64, unit: Unit) -> Text {
    if change.share.is_some() {
        return figures::difference(by);
    }
    let sign = if by < 0.0 { "-" } else { "+" };
    Text::from(sign).and(value(by.abs(), unit))
}

/// Returns the number that [`read_change`] shows.
fn by(change: &Change) -> f64 {
    change.share.unwrap_or(change.difference)
}

fn change_cells(change: Option<&Change>, unit: Unit) -> [Text; 4] {
    let Some(change) = change else { return [Text::new(), Text::new(), Text::new(), Text::new()] };
    let read = |by: f64| read_change(change, by, unit);
    if change.claim == Claim::TooFew {
        let claim = Text::styled(Style::Dim, "too few runs");
        return [read(by(change)), Text::new(), Text::new(), claim];
    }
    let interval = match (change.low, change.high) {
        (Some(low), Some(high)) => read(low).and(" to ").and(read(high)),
        _ => Text::new(),
    };
    let (style, claim) = match change.claim {
        Claim::TooFew | Claim::None => (Style::Dim, "not shown"),
        Claim::More => (Style::Plain, "more"),
        Claim::Less => (Style::Plain, "less"),
        Claim::Better => (Style::Good, "better"),
        Claim::Worse => (Style::Bad, "worse"),
    };
    let likelihood =
        if change.p < LEAST_P { Text::from("<0.0001") } else { Text::from(fixed(change.p, 4)) };
    [read(by(change)), interval, likelihood, Text::styled(style, claim)]
}

/// Smallest p that is shown as a number.
const LEAST_P: f64 = 0.000_1;

/// Maximum number of runs side by side.
const SIDE_BY_SIDE: usize = 3;

fn warning(caution: &Caution) -> Sentence {
    match caution {
        Caution::FewRuns { groups, fewest } => {
            let groups = groups.join(", ");
            sentence!(
                "No difference is claimed with fewer than {least} runs in each group; the smallest \
                 has {count} ({groups}). windlass runs repeat makes more.",
                count = ItemCount(*fewest as u64, "run"),
                least = Count(LEAST_REPEATS as u64)
            )
        }
        Caution::NotInterleaved { group } => sentence!(
            "All runs of {group} were before or after those of the baseline, so the difference \
             includes changes of load over time. windlass runs repeat RUN -- COMMAND alternates \
             two settings."
        ),
        Caution::Commands => sentence!("The runs are of different commands."),
        Caution::Failed { group, runs } => sentence!(
            "{count} of {group} failed; the figures include it up to the failure.",
            count = ItemCount(*runs as u64, "run")
        ),
        Caution::Shared { run } => {
            let run = run.to_string();
            sentence!("Run {run} is in more than one group.")
        }
    }
}

impl JudgedCondition {
    fn text(&self, page: &mut Page) {
        if self.holds.is_empty() {
            page.line(
                Text::styled(Style::Good, "does not hold").and(": ").and(self.condition.as_str()),
            );
        }
        for held in &self.holds {
            let of = held.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            page.line(
                Text::styled(Style::Bad, "holds")
                    .and(format!(": {}: {}{of} has ", self.condition, held.group))
                    .and(value(held.value, held.unit))
                    .and(", the bound is ")
                    .and(value(held.bound, held.unit)),
            );
        }
    }
}

/// Reads the groups that the command line names.
fn groups(
    wanted: &[RequestedGroup],
    runs: &[Summary],
    store: &Store,
) -> Result<Vec<Group>, Failure> {
    let mut groups = Vec::new();
    for one in wanted {
        let mut ids = Vec::new();
        for selector in &one.runs {
            ids.extend(selector.of(runs)?.into_iter().map(|run| run.id));
        }
        ids.dedup();
        let named = match (one.runs.as_slice(), ids.as_slice()) {
            ([Selector::Tag(tag)], _) => tag.clone(),
            (_, [id]) => id.short().to_owned(),
            _ => one.text.clone(),
        };
        let members = members(store, ids)?;
        groups.push(Group { name: one.name.clone().unwrap_or(named), members });
    }
    Ok(groups)
}

/// Runs the command.
pub(super) fn run(args: &CompareArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let runs = all(store)?;
    let mut report = CompareReport::new(&groups(&args.groups, &runs, store)?);
    for condition in &args.fail_if {
        let holds = condition.holds(&report.found).map_err(|wrong| {
            Failure::usage(format!("cannot check the condition {condition}"), wrong)
        })?;
        report.conditions.push(JudgedCondition { condition: condition.to_string(), holds });
    }
    output.print(&report).map_err(unwritten)?;
    match report.conditions.iter().find(|judged| !judged.holds.is_empty()) {
        Some(judged) => {
            Err(Failure::new("the comparison failed", format!("{} holds", judged.condition)).into())
        }
        None => Ok(()),
    }
}
