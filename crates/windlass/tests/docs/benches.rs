//! The headline figures of `docs/benchmarks.md` are those of the benches' results.
//!
//! `cargo test -p windlass --test docs -- --ignored write_benchmarks` writes them.

use std::collections::BTreeMap;
use std::fs;

use windlass_testkit::{marked, repository};

const PAGE: &str = "docs/benchmarks.md";

/// The folder of the results.
const RESULTS: &str = "crates/windlass/benches/results";

/// A cell of a part's table, by row and column.
struct Cell(&'static str, &'static str);

/// The place of a figure in a part.
enum Figure {
    In(Cell),
    /// A line below the table, by its name.
    Note(&'static str),
    Absent,
}

use Figure::{Absent, In, Note};

/// A row of a bench's headline table.
struct Headline {
    bench: &'static str,
    part: &'static str,
    measures: &'static str,
    ours: Figure,
    /// The best program beside windlass with its figure, or the bound.
    other: (&'static str, Figure),
    ratio: Figure,
}

const fn row(
    bench: &'static str,
    part: &'static str,
    measures: &'static str,
    ours: Figure,
    other: (&'static str, Figure),
    ratio: Figure,
) -> Headline {
    Headline { bench, part, measures, ours, other, ratio }
}

const fn cell(row: &'static str, column: &'static str) -> Figure {
    In(Cell(row, column))
}

/// The rows of the page, bench by bench.
const HEADLINES: [Headline; 36] = [
    row(
        "explain",
        "a",
        "1,122,765 packets of 96 B, seconds",
        cell("windlass", "median s"),
        ("tcptrace", cell("tcptrace", "median s")),
        cell("tcptrace", "× windlass"),
    ),
    row(
        "explain",
        "b",
        "the same packets whole, seconds",
        cell("windlass", "median s"),
        ("tcptrace", cell("tcptrace", "median s")),
        cell("tcptrace", "× windlass"),
    ),
    row(
        "explain",
        "d",
        "1,000,000 packets of connections that stay open, seconds",
        cell("windlass", "median s"),
        ("tcptrace", cell("tcptrace", "median s")),
        cell("tcptrace", "× windlass"),
    ),
    row(
        "explain",
        "a",
        "1,122,765 packets of 96 B, peak MB",
        cell("windlass", "peak MB"),
        ("tcptrace", cell("tcptrace", "peak MB")),
        Absent,
    ),
    row(
        "send",
        "veth-1",
        "one stream over veth, Gbit/s",
        cell("windlass", "Gbit/s"),
        ("iperf3", cell("iperf3", "Gbit/s")),
        Note("rate over iperf3"),
    ),
    row(
        "send",
        "veth-10",
        "ten streams over veth, Gbit/s",
        cell("windlass", "Gbit/s"),
        ("iperf", cell("iperf", "Gbit/s")),
        Note("rate over iperf"),
    ),
    row(
        "send",
        "loopback-1",
        "one stream over loopback, Gbit/s",
        cell("windlass", "Gbit/s"),
        ("iperf3", cell("iperf3", "Gbit/s")),
        Note("rate over iperf3"),
    ),
    row(
        "send",
        "udp-veth",
        "datagrams received over veth, Gbit/s",
        cell("windlass", "Gbit/s received"),
        ("iperf3", cell("iperf3", "Gbit/s received")),
        Note("received over iperf3"),
    ),
    row(
        "capture",
        "headers",
        "packets lost of 800,000, headers to a file",
        cell("windlass", "lost"),
        ("tcpdump", cell("tcpdump", "lost")),
        Absent,
    ),
    row(
        "capture",
        "headers",
        "processor seconds for a million packets",
        cell("windlass", "CPU s/M"),
        ("tcpdump", cell("tcpdump", "CPU s/M")),
        Note("processor time over tcpdump"),
    ),
    row(
        "capture",
        "tcp",
        "MB/s of TCP while it is captured",
        cell("windlass", "MB/s"),
        ("not captured", cell("not captured", "MB/s")),
        Note("TCP keeps under windlass"),
    ),
    row(
        "devices",
        "square",
        "share of right verdicts, by the packets",
        Note("right by the packets, as a share"),
        ("", Absent),
        Absent,
    ),
    row(
        "devices",
        "square",
        "wrong verdicts of high confidence",
        Note("wrong and high by the packets"),
        ("", Absent),
        Absent,
    ),
    row(
        "devices",
        "promises",
        "share of promised rates kept within 15 %",
        Note("kept within 15 %, as a share"),
        ("", Absent),
        Absent,
    ),
    row(
        "link",
        "100mbit",
        "transfer over 100 Mbit/s",
        cell("transfer", "measured"),
        ("bound", cell("transfer", "bound")),
        Absent,
    ),
    row(
        "link",
        "100mbit",
        "idle round trip of 2.45 ms",
        cell("round trip, idle", "measured"),
        ("bound", cell("round trip, idle", "bound")),
        Absent,
    ),
    row(
        "link",
        "1gbit",
        "transfer over 1 Gbit/s",
        cell("transfer", "measured"),
        ("", Absent),
        Absent,
    ),
    row(
        "paths",
        "fixed",
        "100 Mbit/s × 150 ms",
        cell("100 Mbit/s × 150 ms", "rate"),
        ("iperf3", cell("100 Mbit/s × 150 ms", "best that queues no more")),
        Absent,
    ),
    row(
        "paths",
        "fixed",
        "200 Mbit/s × 20 ms, a queue of 32 kB",
        cell("200 Mbit/s × 20 ms queue 32k", "rate"),
        ("iperf3", cell("200 Mbit/s × 20 ms queue 32k", "best that queues no more")),
        Absent,
    ),
    row(
        "paths",
        "drawn",
        "61 Mbit/s × 45 ms, a long queue",
        cell("61 Mbit/s × 45 ms queue 1676897", "rate"),
        ("iperf3", cell("61 Mbit/s × 45 ms queue 1676897", "best that queues no more")),
        Absent,
    ),
    row(
        "ping",
        "one-cpu",
        "median round trip, both ends on one processor",
        cell("windlass ping --latency", "p50"),
        ("sockperf", cell("sockperf ping-pong --tcp", "p50")),
        Note("p50 over the best of sockperf"),
    ),
    row(
        "ping",
        "two-cpus",
        "median round trip, two processors",
        cell("windlass ping --latency", "p50"),
        ("sockperf", cell("sockperf ping-pong --tcp --nonblocked", "p50")),
        Note("p50 over the best of sockperf"),
    ),
    row(
        "top",
        "share",
        "most of one processor, in %, a look a second",
        Note("the most, in % of one processor"),
        ("", Absent),
        Absent,
    ),
    row(
        "load",
        "load",
        "jobs/s of 10 kB, one connection",
        cell("10,000 B", "jobs/s"),
        ("", Absent),
        Absent,
    ),
    row(
        "spool",
        "held",
        "1 MB jobs queued, printer stopped",
        cell("queued", "windlass"),
        ("cupsd", cell("queued", "cupsd")),
        cell("queued", "ratio"),
    ),
    row(
        "spool",
        "small",
        "10 kB jobs queued, 280 queues",
        cell("queued", "windlass"),
        ("cupsd", cell("queued", "cupsd")),
        cell("queued", "ratio"),
    ),
    row(
        "spool",
        "forward",
        "10 kB jobs forwarded to sockets",
        cell("forwarded", "windlass"),
        ("cupsd", cell("forwarded", "cupsd")),
        cell("forwarded", "ratio"),
    ),
    row(
        "spool",
        "sync-small",
        "10 kB jobs, each on the disk",
        cell("queued", "windlass"),
        ("cupsd", cell("queued", "cupsd")),
        cell("queued", "ratio"),
    ),
    row(
        "spool",
        "tls",
        "1 MB jobs over TLS",
        cell("processed", "windlass"),
        ("cupsd", cell("processed", "cupsd")),
        cell("processed", "ratio"),
    ),
    row(
        "runs",
        "list",
        "`runs list` of 100,000 runs",
        cell("windlass runs list", "time"),
        ("", Absent),
        Absent,
    ),
    row(
        "speed",
        "speed",
        "segments/s, a print server",
        cell("22 MB to a print server of 24.8 kB/s", "segments/s"),
        ("", Absent),
        Absent,
    ),
    row(
        "tables",
        "several",
        "four large captures into tables",
        cell("explain --parquet", "time"),
        ("`--json`", cell("explain --json --all", "time")),
        Note("speed of --json"),
    ),
    row("tables", "cores", "two processors beside one", Note("speed of one"), ("", Absent), Absent),
    row(
        "tables",
        "peers",
        "a question to a capture, with DuckDB",
        cell("explain --parquet, DuckDB", "until answered"),
        ("tshark", cell("tshark, DuckDB", "until answered")),
        cell("tshark, DuckDB", "× windlass"),
    ),
    row(
        "questions",
        "questions",
        "the slowest of the usual questions, seconds",
        cell("changed-pairs", "s"),
        ("bound", cell("changed-pairs", "bound")),
        Absent,
    ),
    row(
        "cluster",
        "throttled",
        "speed of two executors beside one",
        cell("2", "to one"),
        ("bound", cell("2", "bound")),
        Absent,
    ),
];

/// A part of a results file.
#[derive(Default)]
struct Part {
    facts: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Part {
    fn text(&self, figure: &Figure) -> String {
        match figure {
            In(Cell(row, column)) => {
                let at = self.columns.iter().position(|one| one == column);
                let at = at.unwrap_or_else(|| panic!("no column {column}"));
                let found = self.rows.iter().find(|cells| cells[0] == *row);
                found.unwrap_or_else(|| panic!("no row {row}"))[at].clone()
            }
            Note(name) => {
                let found =
                    self.notes.iter().find_map(|note| note.strip_prefix(&format!("{name}: ")));
                found.unwrap_or_else(|| panic!("no figure {name}")).to_owned()
            }
            Absent => String::new(),
        }
    }
}

/// The parts of a bench's results, by name.
fn parts(bench: &str) -> BTreeMap<String, Part> {
    let text = fs::read_to_string(repository(&format!("{RESULTS}/{bench}.md"))).unwrap();
    let (mut parts, mut name, mut facts) = (BTreeMap::<String, Part>::new(), String::new(), "");
    for line in text.lines() {
        let part = parts.get_mut(&name);
        let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix('|'));
        if line.starts_with("Measured on ") {
            facts = line;
        } else if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut name);
            parts.insert(name.clone(), Part { facts: facts.to_owned(), ..Part::default() });
        } else if let (Some(part), Some(cells)) = (part, cells) {
            let cells: Vec<String> = cells.split('|').map(|cell| cell.trim().to_owned()).collect();
            if part.columns.is_empty() {
                part.columns = cells;
            } else if !cells[0].starts_with("---") {
                part.rows.push(cells);
            }
        } else if let (Some(part), Some(note)) = (parts.get_mut(&name), line.strip_prefix("- ")) {
            part.notes.push(note.to_owned());
        }
    }
    parts
}

/// The day, the commit and the command of a line of facts.
fn run(facts: &str) -> String {
    let rest = facts.strip_prefix("Measured on ").unwrap();
    let day_and_commit = rest.split(';').next().unwrap();
    let command = rest.split('`').nth(1).unwrap();
    format!("{day_and_commit}: `{command}`")
}

/// The generated part of a bench's section.
fn section(bench: &str) -> String {
    let parts = parts(bench);
    let headlines = || HEADLINES.iter().filter(|headline| headline.bench == bench);
    let mut runs = Vec::new();
    let mut table = "| | windlass | beside | ratio |\n|---|---|---|---|\n".to_owned();
    for headline in headlines() {
        let part = parts.get(headline.part);
        let part = part.unwrap_or_else(|| panic!("{bench} has no part {}", headline.part));
        let run = run(&part.facts);
        if !runs.contains(&run) {
            runs.push(run);
        }
        let (who, other) = &headline.other;
        let beside = format!("{who} {}", part.text(other));
        let (ours, ratio) = (part.text(&headline.ours), part.text(&headline.ratio));
        let (measures, beside) = (headline.measures, beside.trim());
        table.push_str(&format!("| {measures} | {ours} | {beside} | {ratio} |\n"));
    }
    format!("{}. [All tables](../{RESULTS}/{bench}.md).\n\n{table}", runs.join("; "))
}

/// The page with the figures of the results in it.
fn written() -> String {
    let mut page = fs::read_to_string(repository(PAGE)).unwrap();
    let mut files = Vec::new();
    for file in fs::read_dir(repository(RESULTS)).unwrap() {
        let name = file.unwrap().file_name().to_string_lossy().into_owned();
        files.push(name.trim_end_matches(".md").to_owned());
    }
    for bench in files {
        let [open, close] = [
            format!("<!-- {bench}: written by `write_benchmarks` -->\n\n"),
            format!("\n<!-- end of {bench} -->\n"),
        ];
        page = marked::with_part(&page, [&open, &close], &section(&bench));
    }
    page
}

#[test]
fn the_headline_figures_are_those_of_the_results() {
    let page = fs::read_to_string(repository(PAGE)).unwrap();
    let again = "cargo test -p windlass --test docs -- --ignored write_benchmarks";
    assert!(page == written(), "{PAGE} has other figures; to write them again: {again}");
}

#[test]
#[ignore = "it writes into the repository"]
fn write_benchmarks() {
    fs::write(repository(PAGE), written()).unwrap();
}
