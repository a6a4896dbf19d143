//! Devices that take their time or break off: how many copies they get, and what is told of it.
//!
//! `cargo test -p windlass --test spool_serve -- --ignored write_devices` writes the table of
//! `devices/table.md` again.

mod emulated;
mod states;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_wire::ipp::{GroupTag, Operation, Status};

use self::emulated::{Deed, Device, Kind};
use super::client::{about, about_job, ask, get, print, state};
use super::server::{Spool, wait_for};
use super::{content, some_bytes};
use windlass_testkit::port::free_port;
use windlass_testkit::schema::checked;
use windlass_testkit::{has, marked, told, windlass};

/// The document: a device holds up what is larger than a connection has room for.
const SIZE: usize = 3_000_000;

/// A device that a row of the table has, and what becomes of its job.
struct Row {
    name: String,
    kind: Kind,
    deeds: Vec<Deed>,
    does: &'static str,
    policy: &'static str,
    /// More settings of the printer.
    settings: &'static str,
    /// True if it is there only when it was tried in vain.
    is_away: bool,
    /// Copies and parts at the device, and the job's last state.
    whole: usize,
    parts: usize,
    end: &'static str,
}

impl Row {
    /// Returns whether its policy is the one of a printer that has none.
    fn is_usual(&self) -> bool {
        let usual = if self.kind == Kind::IppJobs { "retry-job" } else { "hold-job" };
        self.policy == usual
    }
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Raw, "raw"),
    (Kind::Lpd, "LPD"),
    (Kind::Ipp, "IPP, Print-Job"),
    (Kind::IppJobs, "IPP, Create-Job"),
];

const POLICIES: [&str; 3] = ["hold-job", "retry-job", "abort-job"];

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add =
        |kind, deeds: &[Deed], does, policy, settings, ends: (usize, usize, &'static str)| {
            rows.push(Row {
                name: format!("p{}", rows.len()),
                kind,
                deeds: deeds.to_vec(),
                does,
                policy,
                settings,
                is_away: deeds.is_empty(),
                whole: ends.0,
                parts: ends.1,
                end: ends.2,
            });
        };
    for (kind, _) in KINDS {
        let usual = "";
        let completed = (1, 0, "completed");
        add(kind, &[Deed::Stalls], "takes 200 kB, and the rest 75 s later", usual, "", completed);
        if kind != Kind::Raw {
            add(kind, &[Deed::AnswersLate], "answers 70 s late", usual, "", completed);
        }
        add(kind, &[], "is away at first", usual, "", completed);
        let breaks = [
            (Deed::ResetsWithin, "resets after 200 kB", "", (0, 1)),
            (
                Deed::HangsWithin,
                "takes 200 kB and hangs; `patience` is set",
                "patience = \"5s\"\n",
                (0, 1),
            ),
            (Deed::ResetsBehind, "resets when it has all", "", (1, 0)),
        ];
        for (deed, does, settings, (whole, parts)) in breaks {
            // A raw device has all when its TCP has, and one that tells of its jobs says so.
            let is_known = matches!(kind, Kind::Raw | Kind::IppJobs);
            if is_known && deed == Deed::ResetsBehind {
                add(kind, &[deed], does, usual, settings, completed);
                continue;
            }
            for policy in POLICIES {
                let ends = match policy {
                    "hold-job" => (whole, parts, "pending-held"),
                    "retry-job" => (whole + 1, parts, "completed"),
                    _ => (whole, parts, "aborted"),
                };
                add(kind, &[deed], does, policy, settings, ends);
            }
        }
    }
    rows
}

/// Returns the words of a line of the log, or of a message, without the moment of the protocol in
/// which it happened, which is another each time.
fn brief(text: &str) -> String {
    let causes = ["cannot connect", "the server closed the connection", "no progress"];
    let cause = causes.into_iter().find(|cause| text.contains(cause)).unwrap_or_default();
    let part = if text.contains("; the device may have printed up to ") {
        "; the device may have printed up to N B"
    } else {
        ""
    };
    let then = match text.rsplit(": ").next().unwrap_or_default() {
        then if then.starts_with("tried again in") => ": tried again",
        "aborted" => ": aborted",
        "held until it is released" => ": held",
        _ => "",
    };
    format!("{cause}{part}{then}")
}

/// The printers of all rows, with their devices.
struct Bench {
    spool: Spool,
    devices: Vec<Device>,
    ids: Vec<i32>,
    accounts: PathBuf,
}

fn config(folder: &Path, rows: &[Row], devices: &[Device]) -> String {
    let mut text = format!("account-log = \"{}\"\n", folder.join("accounts").display());
    for (row, device) in rows.iter().zip(devices) {
        let _ = writeln!(text, "[[printer]]\nname = \"{}\"", row.name);
        let _ = writeln!(text, "device = \"{}\"\n{}", device.uri(), row.settings);
        if !row.policy.is_empty() && !row.is_usual() {
            let _ = writeln!(text, "on-partial = \"{}\"", row.policy);
        }
    }
    let path = folder.join("spool.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

impl Bench {
    fn begin(folder: &Path, rows: &[Row]) -> Self {
        let devices: Vec<Device> = rows
            .iter()
            .map(|row| Device::new(row.kind, &row.deeds, SIZE, row.is_away.then(free_port)))
            .collect();
        let config = config(folder, rows, &devices);
        let spool = Spool::start(&folder.join("spool"), &["--config", &config]);
        // What each can is known before it gets its job.
        let jobs = rows.iter().filter(|row| row.kind == Kind::IppJobs && !row.is_away);
        for row in jobs {
            wait_for("what the device can", || {
                let asked = about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, &row.name);
                let said = ask(spool.ipp, &asked, b"");
                said.value(GroupTag::PRINTER, "windlass-device-creates-jobs").is_some()
            });
        }
        let data = some_bytes(1, SIZE);
        let ids = rows.iter().map(|row| print(spool.ipp, &row.name, "one", &data)).collect();
        Self { spool, devices, ids, accounts: folder.join("accounts") }
    }

    /// Returns what a client is told of a job, as `lpstat -l` shows it.
    fn says(&self, row: usize, name: &str) -> String {
        let asked =
            about_job(Operation::GET_JOB_ATTRIBUTES, self.spool.ipp, &name_of(row), self.ids[row]);
        let said = ask(self.spool.ipp, &asked, b"");
        said.text(GroupTag::JOB, name).map(std::borrow::Cow::into_owned).unwrap_or_default()
    }

    fn account(&self, printer: &str) -> Option<Value> {
        let text = fs::read_to_string(&self.accounts).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.into_iter().find(|line| line["printer"] == printer)
    }
}

fn name_of(row: usize) -> String {
    format!("p{row}")
}

/// Drives all devices, and gives a line of the table for each.
fn driven() -> Vec<[String; 7]> {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut bench = Bench::begin(folder.path(), &rows);
    let mut live: BTreeMap<usize, &str> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        if row.is_away {
            bench.spool.says(&format!("printer {}: job {}: cannot connect", row.name, place + 1));
            bench.devices[place].listen();
        }
        let waits = [Deed::Stalls, Deed::AnswersLate];
        if row.deeds.first().is_some_and(|deed| waits.contains(deed)) {
            // It is told while it stands still. On a busy machine it may stand still before.
            let is_late = row.deeds == [Deed::AnswersLate];
            let sign = if is_late { "no-answer" } else { "closed-window" };
            wait_for("that it stalls", || bench.says(place, "windlass-stall-sign") == sign);
            live.insert(place, sign);
            let message = bench.says(place, "job-printer-state-message");
            assert!(message.starts_with("the device has "), "{}: {message}", row.name);
            // It has no other copy, and where it stalls not even this one.
            let (whole, parts) = bench.devices[place].came();
            assert!(whole <= usize::from(is_late) && parts == 0, "{}", row.name);
            bench.devices[place].gate.open();
        }
    }
    let mut lines = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let what = format!("{}: {:?} {:?} {}", row.name, row.kind, row.deeds, row.policy);
        wait_for(&format!("{what}: {}", row.end), || {
            state(bench.spool.ipp, &row.name, bench.ids[place]) == Some(row.end)
        });
        let is_there = || bench.devices[place].came() == (row.whole, row.parts);
        wait_for(&format!("{what}: its copies: {:?}", bench.devices[place].came()), is_there);
        let about = format!("printer {}: ", row.name);
        let mut events = bench.spool.events("device-failed").into_iter();
        let log = events.rfind(|line| line.starts_with(&about));
        let log = log.as_deref().map(brief).unwrap_or_default();
        let has_line = ["completed", "aborted"].contains(&row.end);
        if has_line {
            wait_for("its account", || bench.account(&row.name).is_some());
        }
        let account = bench.account(&row.name).map(|line| {
            // One that is away may be tried more often on a busy machine.
            let attempts = line["attempts"].to_string();
            let attempts = if row.is_away { "N" } else { &attempts };
            let broken = line["broken_off_bytes"].as_u64().unwrap();
            let parts = if broken > 0 { ", N B broken off" } else { "" };
            format!("{}, {attempts} × sent{parts}", line["outcome"].as_str().unwrap())
        });
        assert_eq!(account.is_some(), has_line, "{what}");
        let last = brief(&bench.says(place, "job-printer-state-message"));
        // The message has what the log says, as long as the job is not printed.
        let is_same = row.end == "completed" || log.starts_with(&last) && !last.is_empty();
        assert!(is_same, "{what}: {last:?} and {log:?}");
        let shown = match (live.remove(&place), last.as_str()) {
            (Some(sign), _) => format!("processing, {sign}; then {}", row.end),
            (None, "") => row.end.to_owned(),
            (None, last) => format!("{}: {last}", row.end),
        };
        let copies = match (row.whole, row.parts) {
            (whole, 0) => whole.to_string(),
            (0, parts) => format!("{parts} part"),
            (whole, parts) => format!("{whole} and {parts} part"),
        };
        let kind = KINDS.iter().find(|(kind, _)| *kind == row.kind).unwrap().1;
        lines.push([
            kind.to_owned(),
            row.does.to_owned(),
            match (row.policy, row.is_usual()) {
                ("", _) => String::new(),
                (policy, true) => format!("`{policy}`, the default"),
                (policy, false) => format!("`{policy}`"),
            },
            copies,
            log,
            shown,
            account.unwrap_or_else(|| "no line".to_owned()),
        ]);
    }
    assert_eq!(bench.spool.stop().code, Some(0));
    lines
}

/// The page with the table, and what stands around it.
const PAGE: &str = "crates/windlass/tests/spool_serve/devices/table.md";
const BEGIN: &str = "<!-- devices: written by `write_devices` -->\n";
const END: &str = "<!-- end of devices -->\n";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE)
}

fn table() -> String {
    let mut table = String::from(
        "| device | what it does | `on-partial` | copies | the log says | `lpstat -l` says | account \
         log |\n|---|---|---|---|---|---|---|\n",
    );
    for line in driven() {
        let _ = writeln!(table, "| {} |", line.join(" | "));
    }
    table
}

#[test]
fn a_device_gets_a_job_once_as_long_as_it_keeps_the_connection() {
    let (page, table) = (fs::read_to_string(page()).unwrap(), table());
    let again = "cargo test -p windlass --test spool_serve -- --ignored write_devices";
    assert!(
        marked::part(&page, [BEGIN, END]) == table,
        "{PAGE} has another table; write it: {again}\n{table}"
    );
}

#[test]
#[ignore = "writes the table of devices/table.md again"]
fn write_devices() {
    let text = fs::read_to_string(page()).unwrap();
    fs::write(page(), marked::with_part(&text, [BEGIN, END], &table())).unwrap();
}

/// One device by one protocol, with more words for the server.
fn single(kind: Kind, deeds: &[Deed], more: &[&str]) -> (tempfile::TempDir, Device, Spool) {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::new(kind, deeds, SIZE, None);
    let printer = format!("a={}", device.uri());
    let more = [&["--printer", &printer], more].concat();
    let spool = Spool::start(&folder.path().join("spool"), &more);
    (folder, device, spool)
}

fn why(spool: &Spool, what: &str) -> Value {
    let server = format!("127.0.0.1:{}", spool.ipp);
    let mut command = windlass();
    command.args(["spool", "why", what, "--server", &server, "--json"]);
    let (stdout, stderr, code) = told(&command.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    checked("spool-why", &stdout)
}

#[test]
fn a_stall_is_told_while_it_lasts_and_a_patience_that_is_set_then_ends_it() {
    let test = "a_stall_is_told_while_it_lasts_and_a_patience_that_is_set_then_ends_it";
    let (_folder, device, spool) = single(Kind::Raw, &[Deed::HangsWithin], &[]);
    let id = print(spool.ipp, "a", "one", &some_bytes(1, SIZE));
    let stall = || why(&spool, "1")["jobs"][0]["stall"].clone();
    wait_for("that it stalls", || stall().is_object());
    let stalled = stall();
    assert_eq!(stalled["sign"], "closed-window", "{stalled}");
    assert_eq!(stalled["of_bytes"], SIZE, "{stalled}");
    let acknowledged = stalled["acknowledged_bytes"].as_u64().unwrap();
    assert!((1..SIZE as u64).contains(&acknowledged), "{stalled}");
    assert!(stalled["seconds"].as_f64().unwrap() >= 1.0, "{stalled}");
    let report = why(&spool, "a");
    let message = report["printer_message"].as_str().unwrap();
    assert!(message.contains("has taken no data of job 1 for"), "{message}");
    assert_eq!(spool.metric("windlass_spool_device_stalled{printer=\"a\"}"), 1);
    assert!(get(spool.ipp, "/").1.contains("windlass spool"));
    if has("lpstat", test) {
        let server = format!("127.0.0.1:{}", spool.ipp);
        for words in [&["-l", "-o"][..], &["-p", "a"]] {
            let listed = content("lpstat", &[&["-h", &server], words].concat());
            assert!(listed.contains("has taken no data of job 1"), "{listed}");
        }
    }
    // It is waited for without end, until somebody says otherwise.
    let server = format!("127.0.0.1:{}", spool.ipp);
    let set = ["spool", "printer", "set", "a", "--device-patience", "1s", "--server", &server];
    assert!(windlass().args(set).output().unwrap().status.success());
    wait_for("that it is held", || state(spool.ipp, "a", id) == Some("pending-held"));
    let failed = spool.events_once("device-failed", 1);
    assert!(failed[0].contains("no progress for"), "{failed:?}");
    assert!(failed[0].contains("the device may have printed up to"), "{failed:?}");
    assert!(failed[0].ends_with(": held until it is released"), "{failed:?}");
    assert_eq!(spool.metric("windlass_spool_device_stalled{printer=\"a\"}"), 0);
    // Whoever has seen to it releases it: it is printed from its start. A busy machine may take
    // longer than that patience.
    let set = ["spool", "printer", "set", "a", "--device-patience", "none", "--server", &server];
    assert!(windlass().args(set).output().unwrap().status.success());
    assert_eq!(device.came().0, 0);
    let release = about_job(Operation::RELEASE_JOB, spool.ipp, "a", id);
    assert_eq!(Status(ask(spool.ipp, &release, b"").code), Status::OK);
    spool.wait_counts("a", "completed", 1);
    assert_eq!(device.came(), (1, 1));
    assert_eq!(spool.stop().code, Some(0));
}

/// By an end in order and by a kill, which resets the connection as well.
#[test]
fn a_job_that_a_device_was_taking_is_not_sent_again_after_the_server_ended() {
    for (signal, more, end, came) in [
        ("TERM", &[][..], "pending-held", (0, 1)),
        ("KILL", &[], "pending-held", (0, 1)),
        ("KILL", &["--on-partial", "retry-job"], "completed", (1, 1)),
        ("KILL", &["--on-partial", "abort-job"], "aborted", (0, 1)),
    ] {
        let (folder, device, spool) = single(Kind::Raw, &[Deed::HangsWithin], more);
        let id = print(spool.ipp, "a", "one", &some_bytes(1, SIZE));
        wait_for("that it stalls", || why(&spool, "1")["jobs"][0]["stall"].is_object());
        spool.signaled(signal);
        wait_for("the end of the connection", || device.came() == (0, 1));
        let printer = format!("a={}", device.uri());
        let more = [&["--printer", &printer], more].concat();
        let spool = Spool::start(&folder.path().join("spool"), &more);
        wait_for(end, || state(spool.ipp, "a", id) == Some(end));
        wait_for("its copies", || device.came() == came);
        let asked = about_job(Operation::GET_JOB_ATTRIBUTES, spool.ipp, "a", id);
        let said = ask(spool.ipp, &asked, b"");
        let said = said.text(GroupTag::JOB, "job-state-message").unwrap();
        let is_told = said.contains("the server ended") && said.contains("may have printed");
        assert_eq!(is_told, end != "completed", "{signal} {more:?}: {said}");
        assert_eq!(spool.stop().code, Some(0));
    }
}

#[test]
fn a_job_that_is_canceled_or_given_up_reaches_no_device_any_more() {
    let (_folder, device, spool) = single(Kind::Raw, &[Deed::HangsWithin], &[]);
    let id = print(spool.ipp, "a", "one", &some_bytes(1, SIZE));
    wait_for("that it stalls", || why(&spool, "1")["jobs"][0]["stall"].is_object());
    let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    assert_eq!(Status(ask(spool.ipp, &cancel, b"").code), Status::OK);
    wait_for("its end", || state(spool.ipp, "a", id) == Some("canceled"));
    // The kernel had all of it, and sends nothing of that any more.
    wait_for("the end of the connection", || device.came() == (0, 1));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_job_of_ipp_is_followed_to_its_end_at_the_printer() {
    let test = "a_job_of_ipp_is_followed_to_its_end_at_the_printer";
    let accounts = tempfile::tempdir().unwrap();
    let log = accounts.path().join("accounts");
    let deeds = [Deed::Prints, Deed::Aborts, Deed::Cancels, Deed::Prints];
    let more = ["--account-log", log.to_str().unwrap()];
    let (_folder, device, spool) = single(Kind::Ipp, &deeds, &more);
    let data = some_bytes(1, SIZE);
    let ids: Vec<i32> = (0..3).map(|_| print(spool.ipp, "a", "one", &data)).collect();
    // What the printer says of itself is told while it prints.
    let says = || why(&spool, "a")["printer_message"].as_str().unwrap().to_owned();
    wait_for("what it says", || says().contains("and reports: media-low-report"));
    assert_eq!(state(spool.ipp, "a", ids[0]), Some("processing"));
    let asked = about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, "a");
    let reasons = ask(spool.ipp, &asked, b"");
    let reasons = reasons.text(GroupTag::PRINTER, "printer-state-reasons").unwrap().into_owned();
    assert_eq!(reasons, "media-low-report");
    let reason = "windlass_spool_device_reason{printer=\"a\",reason=\"media-low-report\"}";
    assert_eq!(spool.metric(reason), 1);
    if has("lpstat", test) {
        let listed = content("lpstat", &["-h", &format!("127.0.0.1:{}", spool.ipp), "-p", "a"]);
        assert!(listed.contains("media-low-report"), "{listed}");
    }
    device.gate.open();
    for (id, end) in ids.iter().zip(["completed", "aborted", "canceled"]) {
        wait_for(end, || state(spool.ipp, "a", *id) == Some(end));
    }
    let failed = spool.events_once("device-failed", 2);
    assert!(failed[0].ends_with("job 2: the device aborted the job: aborted"), "{failed:?}");
    assert!(
        failed[1].ends_with("job 3: the job was canceled at the device: canceled"),
        "{failed:?}"
    );
    // Sides are those that the printer counts.
    assert_eq!(spool.metric("windlass_spool_printed_pages_total{printer=\"a\"}"), 3);
    wait_for("the accounts", || {
        fs::read_to_string(&log).is_ok_and(|text| text.lines().count() == 3)
    });
    let lines = fs::read_to_string(&log).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["outcome"], &first["impressions"]), (&"completed".into(), &3.into()));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_job_that_a_printer_has_is_canceled_there_and_left_to_it_by_an_end() {
    let (folder, device, spool) = single(Kind::Ipp, &[Deed::Prints, Deed::Prints], &[]);
    let data = some_bytes(1, SIZE);
    let says = |spool: &Spool| why(spool, "a")["printer_message"].as_str().unwrap().to_owned();
    let id = print(spool.ipp, "a", "one", &data);
    wait_for("that it prints", || says(&spool).contains("has job 1"));
    let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    assert_eq!(Status(ask(spool.ipp, &cancel, b"").code), Status::OK);
    wait_for("its end", || state(spool.ipp, "a", id) == Some("canceled"));
    assert!(device.is_canceled());
    // One that it has whole is its own when the server ends: it is not printed again.
    let id = print(spool.ipp, "a", "two", &data);
    wait_for("that it prints", || says(&spool).contains("has job 2"));
    assert_eq!(spool.stop().count("completed"), 1);
    assert!(!device.is_canceled());
    let printer = format!("a={}", device.uri());
    let spool = Spool::start(&folder.path().join("spool"), &["--printer", &printer]);
    assert_eq!(state(spool.ipp, "a", id), Some("completed"));
    assert_eq!(device.came(), (2, 0));
    assert_eq!(spool.stop().code, Some(0));
}
