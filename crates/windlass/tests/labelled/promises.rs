//! Promises of `windlass explain` for a change, compared with its effect.
//!
//! A promise is a remedy of a labelled transfer, at one end. Its change is made to the plan of the
//! transfer, which has the same seed and the same sizes, and the transfer runs again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::change::{Change, with_size};
use crate::draw::Draw;
use crate::list::List;
use crate::situation::Situation;
use crate::{named, program, run};

/// Each change is made so often, and its rate is the median.
const TIMES: usize = 3;
const ENDS: [&str; 2] = ["snd", "rcv"];
/// An estimate is right within this factor.
const CLOSE: f64 = 1.15;
/// A bound is exceeded beyond this factor: runs differ.
const EXCEEDED: f64 = 1.03;

/// A remedy with what it promises.
struct Promise {
    situation: &'static str,
    seed: u64,
    end: &'static str,
    verdict: String,
    confidence: String,
    kind: &'static str,
    /// True if a law or the simulator knows the change.
    has_law: bool,
    change: Option<Change>,
    now: f64,
    bytes: f64,
    promised: Option<f64>,
    interval: [Option<f64>; 2],
    measured: Option<Result<f64, String>>,
}

/// Makes the changes that explanations of a folder's transfers promise something of, and writes
/// `promises.tsv` and `promises.md` into it.
pub(crate) fn write(
    folder: &Path,
    situations: &[&'static Situation],
    seeds: std::ops::Range<u64>,
    at_once: usize,
) {
    let list = List::new(folder);
    let kept: BTreeSet<String> = list.lines("LIST").iter().map(|line| first(line, '.')).collect();
    let all: Vec<(&Situation, u64)> = seeds
        .flat_map(|seed| situations.iter().map(move |one| (*one, seed)))
        .filter(|(one, seed)| kept.contains(&format!("{}-{seed}", named(one))))
        .collect();
    let promises = std::sync::Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((situation, seed)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let made = of_transfer(folder, &list, situation, *seed);
            promises.lock().unwrap().extend(made);
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    let mut promises: Vec<Promise> = promises.into_inner().unwrap();
    promises.sort_by(|a, b| (a.situation, a.seed, a.end).cmp(&(b.situation, b.seed, b.end)));
    fs::write(folder.join("promises.tsv"), table(&promises)).unwrap();
    let summary = summary(&promises);
    fs::write(folder.join("promises.md"), &summary).unwrap();
    eprintln!("{summary}");
}

fn first(line: &str, until: char) -> String {
    line.split(until).next().unwrap_or_default().to_owned()
}

/// Returns the promises of both captures of a transfer, with what their changes bring.
fn of_transfer(
    folder: &Path,
    list: &List,
    situation: &'static Situation,
    seed: u64,
) -> Vec<Promise> {
    let name = format!("{}-{seed}", named(situation));
    let mut promises = Vec::new();
    for end in ENDS {
        let explained = explain(&folder.join(format!("{name}.{end}.pcap.gz")));
        let Some(connection) = explained.first() else { continue };
        let verdict = &connection["verdict"];
        let remedies = verdict["remedies"].as_array().into_iter().flatten();
        promises.extend(remedies.map(|remedy| promise(situation, seed, end, connection, remedy)));
    }
    for promise in &mut promises {
        let Some(change) = promise.change.clone().filter(|_| promise.promised.is_some()) else {
            continue;
        };
        let known = list.lines("MADE").iter().any(|line| line.starts_with(&head(&name, &change)));
        if !known {
            make(list, situation, seed, &change, promise.bytes);
        }
        let index = usize::from(promise.end == "rcv");
        promise.measured = Some(measured(list, &name, &change, index));
    }
    promises
}

fn head(name: &str, change: &Change) -> String {
    format!("{name}\t{change}\t")
}

/// Explains a capture; its connections, the largest first.
fn explain(file: &Path) -> Vec<Value> {
    let mut explain = Command::new(program());
    explain.args(["explain", "--json"]).arg(file).stderr(Stdio::null());
    let told: Value = serde_json::from_slice(&explain.output().unwrap().stdout).unwrap_or_default();
    told["connections"].as_array().cloned().unwrap_or_default()
}

fn promise(
    situation: &'static Situation,
    seed: u64,
    end: &'static str,
    connection: &Value,
    remedy: &Value,
) -> Promise {
    let verdict = &connection["verdict"];
    let word = |name: &str| verdict[name].as_str().unwrap_or_default().to_owned();
    let rate = |name: &str| remedy[name].as_f64();
    let (expected, most) = (rate("expected_bytes_per_second"), rate("at_most_bytes_per_second"));
    let action = remedy["action"].as_str().unwrap_or_default();
    Promise {
        situation: situation.name,
        seed,
        end,
        verdict: format!("{}/{}", word("limit"), word("because")),
        confidence: word("confidence"),
        kind: match (expected, most) {
            (Some(_), _) => "estimate",
            (None, Some(_)) => "bound",
            (None, None) => "unknown",
        },
        has_law: expected.or(most).is_some()
            || !remedy["what_if"].is_null()
            || action.contains("does not tell")
            || action.contains("was not seen"),
        change: Change::of(verdict, remedy),
        now: connection["bytes_per_second"].as_f64().unwrap_or(0.0),
        bytes: connection["bytes"].as_f64().unwrap_or(0.0),
        promised: expected.or(most),
        interval: [rate("expected_least_bytes_per_second"), rate("expected_most_bytes_per_second")],
        measured: None,
    }
}

/// Makes a change some times, and appends the rates at both ends to the list.
fn make(list: &List, situation: &Situation, seed: u64, change: &Change, bytes: f64) {
    let name = format!("{}-{seed}", named(situation));
    let planned = (situation.plan)(&mut Draw::new(situation.name, seed));
    let Some(mut plan) = change.carried_out(planned) else {
        list.append("MADE", &format!("{}the plan has no such setting\n", head(&name, change)));
        return;
    };
    with_size(&mut plan, bytes);
    let mut rates = [Vec::new(), Vec::new()];
    let mut told = String::new();
    for _ in 0..2 * TIMES {
        let work = tempfile::tempdir().unwrap();
        match run::changed(&plan, seed, work.path()) {
            Ok(()) => {
                let both = ENDS.map(|end| rate(&explain(&work.path().join(end))));
                if let [Some(at_sender), Some(at_receiver)] = both {
                    rates[0].push(at_sender);
                    rates[1].push(at_receiver);
                }
            }
            Err(why) => told = why,
        }
        if rates[0].len() == TIMES {
            break;
        }
    }
    if rates[0].is_empty() {
        list.append("MADE", &format!("{}{told}\n", head(&name, change)));
        return;
    }
    let [at_sender, at_receiver] = rates
        .map(|rates| rates.iter().map(|rate| format!("{rate:.0}")).collect::<Vec<_>>().join(","));
    list.append("MADE", &format!("{}{at_sender}\t{at_receiver}\n", head(&name, change)));
}

/// Returns the rate of a transfer: of all its connections together, which began at once.
fn rate(connections: &[Value]) -> Option<f64> {
    let largest = connections.first()?;
    let number = |one: &Value, name: &str| one[name].as_f64().unwrap_or(0.0);
    let same = connections.iter().filter(|one| {
        one["receiver_address"] == largest["receiver_address"]
            && number(one, "bytes") * 2.0 > number(largest, "bytes")
    });
    let (mut bytes, mut seconds) = (0.0, 0.0_f64);
    for one in same {
        bytes += number(one, "bytes");
        seconds = seconds.max(number(one, "bytes") / number(one, "bytes_per_second").max(1.0));
    }
    (seconds > 0.0).then(|| bytes / seconds)
}

/// Returns the median of the rates at one end, or why there is none.
fn measured(list: &List, name: &str, change: &Change, index: usize) -> Result<f64, String> {
    let lines = list.lines("MADE");
    let line = lines.iter().find_map(|line| line.strip_prefix(&head(name, change)));
    let line = line.unwrap_or_default();
    let fields: Vec<&str> = line.split('\t').collect();
    let field = fields.get(index).filter(|_| fields.len() == 2).ok_or(line)?;
    let mut rates: Vec<f64> = field.split(',').filter_map(|rate| rate.parse().ok()).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().ok_or_else(|| line.to_owned())
}

impl Promise {
    /// Returns the measured rate over the promised one.
    fn ratio(&self) -> Option<f64> {
        Some(self.measured.as_ref()?.as_ref().ok()? / self.promised?)
    }

    fn is_close(&self) -> Option<bool> {
        let ratio = self.ratio().filter(|_| self.kind == "estimate")?;
        Some((1.0 / CLOSE..=CLOSE).contains(&ratio))
    }

    fn is_exceeded(&self) -> Option<bool> {
        self.ratio().filter(|_| self.kind == "bound").map(|ratio| ratio > EXCEEDED)
    }
}

fn table(promises: &[Promise]) -> String {
    let mut text = String::from(
        "situation\tseed\tend\tverdict\tconfidence\tchange\tkind\tnow\tpromised\tleast\tmost\t\
         measured\tratio\n",
    );
    let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.0}")).unwrap_or_default();
    for one in promises {
        let change = one.change.as_ref().map_or_else(|| "-".to_owned(), Change::to_string);
        let measured = match &one.measured {
            Some(Ok(measured)) => rate(Some(*measured)),
            Some(Err(why)) => why.clone(),
            None => String::new(),
        };
        let ratio = one.ratio().map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
        let Promise { situation, seed, end, verdict, confidence, kind, now, .. } = one;
        let [least, most] = one.interval.map(rate);
        writeln!(
            text,
            "{situation}\t{seed}\t{end}\t{verdict}\t{confidence}\t{change}\t{kind}\t{now:.0}\t{}\t\
             {least}\t{most}\t{measured}\t{ratio}",
            rate(one.promised),
        )
        .unwrap();
    }
    text
}

/// Counts of promises: those that hold, and all.
type Counts<'a> = BTreeMap<&'a str, [usize; 2]>;

fn summary(promises: &[Promise]) -> String {
    let mut text =
        String::from("# How often promised rates hold\n\nWritten by `write_promises`.\n\n");
    let measured: Vec<&Promise> = promises.iter().filter(|one| one.ratio().is_some()).collect();
    let kinds: BTreeSet<&str> = measured.iter().map(|one| one.situation).collect();
    writeln!(text, "{} promises carried out, of {} situations.\n", measured.len(), kinds.len())
        .unwrap();
    let mut all = Counts::new();
    let (mut by_confidence, mut by_change, mut bounds) = (all.clone(), all.clone(), all.clone());
    for one in &measured {
        if let Some(is_close) = one.is_close() {
            add(&mut all, "estimates", is_close);
            add(&mut by_confidence, &one.confidence, is_close);
            add(&mut by_change, one.change.as_ref().map_or("-", Change::kind), is_close);
        }
        if let Some(is_exceeded) = one.is_exceeded() {
            add(&mut bounds, "all", !is_exceeded);
            add(&mut bounds, one.change.as_ref().map_or("-", Change::kind), !is_exceeded);
        }
    }
    let mut part = |title: &str, what: &str, counts: &Counts<'_>| {
        writeln!(text, "| {title} | {what} | of | share |\n|---|---|---|---|").unwrap();
        for (name, [right, all]) in counts {
            let share = 100.0 * *right as f64 / (*all).max(1) as f64;
            writeln!(text, "| {name} | {right} | {all} | {share:.1} % |").unwrap();
        }
        text.push('\n');
    };
    part("all", "within 15 %", &all);
    part("confidence", "within 15 %", &by_confidence);
    part("change", "within 15 %", &by_change);
    part("bounds", "not exceeded", &bounds);
    let mut kinds = Counts::new();
    let with_law: Vec<&Promise> = promises.iter().filter(|one| one.has_law).collect();
    for one in &with_law {
        add(&mut kinds, "an estimate or a bound", one.kind != "unknown");
    }
    part("remedies with a law", "promise", &kinds);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for one in promises {
        let why = one.measured.as_ref().and_then(|measured| measured.as_ref().err());
        if let Some((why, change)) = why.zip(one.change.as_ref()) {
            *reasons.entry(format!("{}: {}", change.kind(), first(why, ';'))).or_default() += 1;
        }
    }
    text.push_str("| not carried out | promises |\n|---|---|\n");
    for (why, count) in reasons {
        writeln!(text, "| {why} | {count} |").unwrap();
    }
    text
}

fn add<'a>(counts: &mut Counts<'a>, name: &'a str, holds: bool) {
    let count = counts.entry(name).or_default();
    count[0] += usize::from(holds);
    count[1] += 1;
}
