//! Table of `windlass explain --why` for each labelled capture.
//!
//! The captures stay out of the repository. What is measured of them goes into it, and a judgement
//! can be fitted and scored on that alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A situation has this many transfers in the table at most, the first by seed.
const EACH: usize = 25;

/// A capture of the list.
struct Labelled {
    file: String,
    truth: String,
    situation: String,
    program: String,
    seed: u64,
}

/// A row of the table.
struct Row {
    words: [String; 8],
    numbers: BTreeMap<String, f64>,
}

/// Writes `features.csv.gz`, `situations.tsv` and `reliability.md` of a folder of transfers into
/// another.
pub(crate) fn write(program: &str, folder: &Path, into: &Path) {
    let list = fs::read_to_string(folder.join("LIST")).unwrap();
    let mut all: Vec<Labelled> = list.lines().filter_map(labelled).collect();
    all.sort_by(|a, b| (&a.situation, a.seed, &a.file).cmp(&(&b.situation, b.seed, &b.file)));
    summary(&all, folder, into);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    all.retain(|one| {
        let count = counts.entry(one.situation.clone()).or_default();
        *count += 1;
        *count <= 2 * EACH
    });
    let rows = rows(program, folder, &all);
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.numbers.keys()).collect();
    let mut text = String::from("file,situation,truth,program,side,verdict,confidence,between");
    names.iter().for_each(|name| write!(text, ",{name}").unwrap());
    text.push('\n');
    for row in &rows {
        text.push_str(&row.words.join(","));
        for name in &names {
            let number = row.numbers.get(*name).map(|number| short(*number));
            write!(text, ",{}", number.unwrap_or_default()).unwrap();
        }
        text.push('\n');
    }
    fs::create_dir_all(into).unwrap();
    let plain = into.join("features.csv");
    fs::write(&plain, text).unwrap();
    let packed = Command::new("gzip").args(["-9", "-n", "-f"]).arg(plain).status().unwrap();
    assert!(packed.success());
    fs::write(into.join("reliability.md"), reliability(&rows)).unwrap();
    eprintln!("{} captures, {} figures of each", rows.len(), names.len());
}

/// Captures whose verdict is right, whose truth is in `between`, and all.
#[derive(Clone, Copy, Default)]
struct Score([usize; 3]);

impl Score {
    fn add(&mut self, row: &Row) {
        let [_, _, truth, _, _, verdict, _, between] = &row.words;
        let is_right = is_like(verdict, truth);
        let mut others = between.split(' ').filter(|one| !one.is_empty());
        let is_between = !is_right && others.any(|one| is_like(one, truth));
        self.0[0] += usize::from(is_right);
        self.0[1] += usize::from(is_between);
        self.0[2] += 1;
    }

    fn share(self) -> f64 {
        100.0 * self.0[0] as f64 / self.0[2].max(1) as f64
    }
}

/// Returns how often the verdicts are right, by confidence and by situation.
fn reliability(rows: &[Row]) -> String {
    let mut scores: BTreeMap<[&str; 3], Score> = BTreeMap::new();
    let mut situations: BTreeMap<[&str; 2], Score> = BTreeMap::new();
    for row in rows {
        let [_, situation, _, _, side, _, confidence, _] = &row.words;
        let link = if situation.starts_with("emulator-") { "emulator" } else { "windlass link" };
        scores.entry([link, side, confidence]).or_default().add(row);
        situations.entry([situation, side]).or_default().add(row);
    }
    let mut text = String::from(
        "# How often labelled transfers are judged right\n\n\
         Written by `write_features`, of the captures in `features.csv.gz`.\n\n\
         | link | captured at the | confidence | right | truth in `between` | captures |\n\
         |---|---|---|---|---|---|\n",
    );
    for ([link, side, confidence], score) in &scores {
        let Score([right, between, all]) = score;
        let share = score.share();
        writeln!(
            text,
            "| {link} | {side} | {confidence} | {right}, {share:.1} % | {between} | {all} |"
        )
        .unwrap();
    }
    text.push_str("\nSituations of which fewer than four in five are right:\n\n");
    text.push_str("| situation | captured at the | right | truth in `between` | captures |\n");
    text.push_str("|---|---|---|---|---|\n");
    for ([situation, side], score) in situations.iter().filter(|(_, score)| score.share() < 80.0) {
        let Score([right, between, all]) = score;
        writeln!(text, "| `{situation}` | {side} | {right} | {between} | {all} |").unwrap();
    }
    text
}

/// Returns whether a cause is what a pattern of Bash stands for.
fn is_like(cause: &str, pattern: &str) -> bool {
    let named = if cause.contains('/') { cause.to_owned() } else { format!("{cause}/") };
    let mut bash = Command::new("bash");
    bash.args(["-O", "extglob", "-c", "[[ $1 == $2 ]]", "bash", &named, pattern]);
    bash.status().unwrap().success()
}

/// Asks of all captures, two at a time, in their order.
fn rows(program: &str, folder: &Path, all: &[Labelled]) -> Vec<Row> {
    let (first, second) = all.split_at(all.len() / 2);
    let of = |part: &[Labelled]| -> Vec<Row> {
        part.iter().filter_map(|one| row(program, folder, one)).collect()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(second));
        let mut rows = of(first);
        rows.extend(other.join().unwrap());
        rows
    })
}

/// Reads a line of the list.
fn labelled(line: &str) -> Option<Labelled> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (file, truth) = (fields.next()?, fields.next()?);
    let (situation, program) = (fields.next()?, fields.next()?);
    let seed = file.split('.').next()?.rsplit('-').next()?.parse().ok()?;
    Some(Labelled { file, truth, situation, program, seed })
}

/// Writes how many transfers of each situation there are, and how many were dropped.
fn summary(all: &[Labelled], folder: &Path, into: &Path) {
    let dropped = fs::read_to_string(folder.join("DROPPED")).unwrap_or_default();
    let mut counts: BTreeMap<(&str, &str, &str), [usize; 2]> = BTreeMap::new();
    for one in all.iter().filter(|one| one.file.contains(".snd.")) {
        counts.entry((&one.situation, &one.truth, &one.program)).or_default()[0] += 1;
    }
    for ((situation, ..), count) in &mut counts {
        let names = dropped.lines().filter_map(|line| line.split('\t').next());
        let of_it = names.filter_map(|name| name.rsplit_once('-'));
        count[1] = of_it.filter(|(name, _)| name == situation).count();
    }
    let mut text = String::from("situation\ttruth\tprogram\tkept\tdropped\n");
    for ((situation, truth, program), [kept, dropped]) in counts {
        writeln!(text, "{situation}\t{truth}\t{program}\t{kept}\t{dropped}").unwrap();
    }
    fs::create_dir_all(into).unwrap();
    fs::write(into.join("situations.tsv"), text).unwrap();
}

/// Asks the program of a capture. Its connection with the most bytes is the labelled one.
fn row(program: &str, folder: &Path, one: &Labelled) -> Option<Row> {
    let mut command = Command::new(program);
    command.args(["explain", "--why", "--json"]).arg(folder.join(&one.file));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).ok()?;
    let connections = report["connections"].as_array()?;
    let connection = connections.iter().max_by_key(|one| one["bytes"].as_u64())?;
    let (verdict, why) = (&connection["verdict"], &connection["why"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cause = |value: &Value| {
        let (limit, because) = (text(&value["limit"]), text(&value["because"]));
        if because.is_empty() { limit } else { format!("{limit}/{because}") }
    };
    let between = verdict["between"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|other| if other.is_string() { text(other) } else { cause(other) });
    let between = between.collect::<Vec<_>>().join(" ");
    let side = if one.file.contains(".snd.") { "sender" } else { "receiver" };
    let mut numbers = BTreeMap::new();
    let mut put = |name: String, value: &Value| {
        if let Some(number) = value.as_f64() {
            numbers.insert(name, number);
        }
    };
    for name in ["share", "limit_share"] {
        put(format!("verdict.{name}"), &verdict[name]);
    }
    for (name, share) in connection["causes"].as_object().into_iter().flatten() {
        put(format!("share.{name}"), share);
    }
    for fact in why["facts"].as_array().into_iter().flatten() {
        put(text(&fact["name"]), &fact["value"]);
    }
    let words = [
        one.file.clone(),
        one.situation.clone(),
        one.truth.clone(),
        one.program.clone(),
        side.to_owned(),
        cause(verdict),
        text(&verdict["confidence"]),
        between,
    ];
    Some(Row { words, numbers })
}

/// A figure in five digits, as short as can be.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return if number == 0.0 { "0".to_owned() } else { String::new() };
    }
    let digits = (4 - number.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
