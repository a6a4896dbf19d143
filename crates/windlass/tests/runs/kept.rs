//! Kept runs: their contents and their folder.

use std::io::Read;
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use super::{RunsFolder, checked, figure, is_empty};
use windlass_testkit::{is_root, skipped, told, windlass};

/// A printer that takes so many connections, and reads each to its end.
fn printer(connections: usize) -> (u16, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let takes = thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            stream.unwrap().read_to_end(&mut Vec::new()).unwrap();
        }
    });
    (port, takes)
}

#[test]
fn each_measurement_is_kept_with_all_that_it_found() {
    let kept = RunsFolder::new();
    let (port, takes) = printer(4);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listening = listener.local_addr().unwrap().port();
    let document = kept.folder.path().join("report.txt");
    std::fs::write(&document, vec![b'x'; 100_000]).unwrap();
    let printer = format!("socket://127.0.0.1:{port}");
    let mut commands = vec![
        "lab imagen".to_owned(),
        "sweep --simulate white-space".to_owned(),
        "watch --count 1 --interval 100ms".to_owned(),
        format!("ping 127.0.0.1:{listening} --count 2 --interval 1ms"),
        format!("print {printer} {}", document.display()),
        format!("spool load {printer} --jobs 3"),
    ];
    if is_root() {
        commands.push("capture lo --time 200ms --quiet".to_owned());
    } else {
        skipped("each_measurement_is_kept_with_all_that_it_found, of capture", "it takes root");
    }
    for line in &commands {
        let with_note = format!("{line} --tag {} --note kept", line.split(' ').next().unwrap());
        let (_, stderr, code) = kept.told(&with_note);
        assert_eq!(code, 0, "{line}: {stderr}");
    }
    takes.join().unwrap();
    let runs = kept.list();
    assert_eq!(runs.len(), commands.len(), "{runs:#?}");
    for (run, line) in runs.iter().zip(&commands) {
        let id = run["id"].as_str().unwrap();
        let whole = kept.json("run", &format!("show {id}"));
        let record = &whole["records"][0]["record"];
        let command = run["command"].as_str().unwrap();
        assert!(line.starts_with(command), "{line}: {command}");
        // The record is the one that the command prints, and fits the same schema.
        checked(&command.replace(' ', "-"), &record.to_string());
        assert_eq!(whole["notes"][0]["text"], "kept");
        assert!(whole["machine"]["host"]["user_share"].is_number(), "{line}: {whole:#}");
        let settings = whole["host"]["settings"].as_object().unwrap();
        assert!(settings.contains_key("net.ipv4.tcp_rmem"), "{settings:?}");
        assert!(!run["figures"].as_array().unwrap().is_empty(), "{line}: {run:#}");
        // And the text is what people saw.
        let shown = kept.done(&format!("runs show {id}"));
        let text = whole["records"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty() && shown.ends_with(text), "{line}:\n{shown}\n{text}");
    }
    let intervals = |at: usize| {
        let id = runs[at]["id"].as_str().unwrap();
        let whole = kept.json("run", &format!("show {id}"));
        whole["records"][0]["record"]["intervals"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(intervals(2), 1, "watch");
    let devices: Vec<&str> = runs[0]["figures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["name"] == "rate")
        .map(|one| one["of"].as_str().unwrap())
        .collect();
    assert!(devices.len() > 1 && devices[0].starts_with("imagen"), "{devices:?}");
    assert!(figure(&runs[5], "queue-rate", None) > 0.0);
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let kept = RunsFolder::new();
    kept.done("lab imagen --no-save");
    let words = ["lab", "imagen"];
    let output = kept.command(&words).env("WINDLASS_STORE", "").output().unwrap();
    assert_eq!(told(&output).2, 0);
    // Lists and calculations measure nothing, and what failed before it measured keeps nothing.
    kept.done("lab");
    kept.done("law window --window 64KiB --rtt 36ms");
    assert_eq!(kept.told("lab no-such-scenario").2, 2);
    assert_eq!(kept.told("ping no.such.host.invalid --count 1").2, 1);
    assert!(is_empty(&kept.store()));
    let (_, stderr, code) = kept.told("lab imagen --no-save --tag x");
    assert_eq!(code, 2, "{stderr}");
    // A folder that is named wins over a variable that keeps none.
    let named = kept.folder.path().join("named");
    let words = ["lab", "imagen", "--store", named.to_str().unwrap()];
    told(&kept.command(&words).env("WINDLASS_STORE", "").output().unwrap());
    assert!(!is_empty(&named) && is_empty(&kept.store()));
}

#[test]
fn runs_are_kept_where_the_users_data_is() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = |data: Option<&str>| {
        let mut command = windlass();
        command.args(["lab", "imagen"]).env_remove("WINDLASS_STORE").env("HOME", home);
        match data {
            Some(data) => command.env("XDG_DATA_HOME", data),
            None => command.env_remove("XDG_DATA_HOME"),
        };
        let (_, stderr, code) = told(&command.output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0));
    };
    run(None);
    assert!(!is_empty(&home.join(".local/share/windlass/runs")));
    let data = home.join("data");
    run(Some(data.to_str().unwrap()));
    assert!(!is_empty(&data.join("windlass/runs")));
    // The specification of base directories passes over what is no whole path.
    run(Some("relative"));
    let mut command = windlass();
    command.args(["runs", "list", "--json"]).env_remove("WINDLASS_STORE").env("HOME", home);
    let list = checked("runs", &told(&command.env_remove("XDG_DATA_HOME").output().unwrap()).0);
    assert_eq!(list["runs"].as_array().unwrap().len(), 2);
}

/// Checks that a measurement continues if it cannot be kept: equal output and exit code, and a
/// warning.
fn warns(command: &mut std::process::Command, why: &str) {
    let (stdout, stderr, code) = told(&command.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("IMAGEN"), "{stdout}");
    assert!(stderr.starts_with("windlass: warning: cannot keep the run in "), "{stderr}");
    assert!(stderr.contains(why) && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn a_home_that_may_not_be_written_warns_and_goes_on() {
    let kept = RunsFolder::new();
    let file = kept.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let store = file.join("runs");
    warns(kept.command(&["lab", "imagen"]).env("WINDLASS_STORE", store), "Not a directory");
    let mut nowhere = windlass();
    nowhere.args(["lab", "imagen"]).env_remove("WINDLASS_STORE").env_remove("HOME");
    let (_, stderr, code) = told(&nowhere.env_remove("XDG_DATA_HOME").output().unwrap());
    assert_eq!(code, 0);
    assert!(stderr.contains("neither HOME nor XDG_DATA_HOME is set"), "{stderr}");
}

#[test]
fn a_full_disk_warns_and_leaves_nothing_behind() {
    let test = "a_full_disk_warns_and_leaves_nothing_behind";
    if !is_root() {
        return skipped(test, "it takes root to mount a file system that is full");
    }
    let kept = RunsFolder::new();
    let place = kept.folder.path().join("small");
    std::fs::create_dir(&place).unwrap();
    // In a mount namespace of its own, which ends with the shell.
    let script = "mount -t tmpfs -o size=4k,nr_inodes=20 none \"$1\" || exit 77
        head -c 4096 /dev/zero > \"$1/full\"
        WINDLASS_STORE=\"$1/runs\" \"$2\" lab imagen
        echo \"rc $?\"
        find \"$1/runs\" -type f | wc -l";
    let mut shell = std::process::Command::new("unshare");
    shell.args(["-m", "sh", "-c", script, "sh"]).arg(&place).arg(env!("CARGO_BIN_EXE_windlass"));
    let output = shell.output().unwrap();
    if output.status.code() == Some(77) {
        return skipped(test, "tmpfs cannot be mounted");
    }
    let (stdout, stderr, _) = told(&output);
    assert!(stdout.contains("IMAGEN") && stdout.ends_with("rc 0\n0\n"), "{stdout}");
    assert!(stderr.contains("warning: cannot keep the run") && stderr.contains("No space left"));
}

#[test]
fn what_failed_after_it_measured_is_kept_with_its_error() {
    let kept = RunsFolder::new();
    // Nothing answers in a millisecond what is dropped: a network for documents (RFC 5737).
    let (_, stderr, code) = kept.told("ping 127.0.0.1 --count 1 --timeout 1ns --interval 1ms");
    if code == 0 {
        return skipped("what_failed_after_it_measured_is_kept_with_its_error", "it answered");
    }
    assert_eq!(code, 1, "{stderr}");
    let runs = kept.list();
    let id = runs[0]["id"].as_str().unwrap();
    let whole = kept.json("run", &format!("show {id}"));
    assert_eq!(whole["exit_code"], 1);
    let failure = whole["failure"].as_str().unwrap();
    assert!(stderr.contains(failure), "{failure}: {stderr}");
    assert_eq!(kept.json("runs", "list --failed")["runs"].as_array().unwrap().len(), 1);
    assert!(kept.done("runs list").contains("failed"));
}

#[test]
fn lists_tags_notes_and_deletions() {
    let kept = RunsFolder::new();
    assert!(kept.done("runs list").starts_with("No runs found in "));
    let (_, stderr, code) = kept.told("runs show last");
    assert_eq!(code, 1);
    assert!(stderr.contains("Measure first"), "{stderr}");
    for device in ["imagen-v2", "imagen-v3.3"] {
        kept.done(&format!("lab imagen --device {device} --bytes 20kB --tag {device}"));
    }
    kept.done("lab print-servers --device netgear-ps101 --bytes 20kB");
    let ids: Vec<String> =
        kept.list().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    let listed = |filter: &str| {
        let list = kept.json("runs", &format!("list {filter}"));
        let runs = list["runs"].as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("--target print"), [ids[2].as_str()]);
    assert_eq!(listed("--tag imagen-v2"), [ids[0].as_str()]);
    assert_eq!(listed("--since 1h --command lab --limit 2"), ids[1..]);
    assert!(listed("--until 1h").is_empty() && listed("--command send").is_empty());

    let changed = kept.json("runs-change", "tag last slow and/steady");
    assert_eq!(changed["runs"][0]["tags"], serde_json::json!(["slow", "and/steady"]));
    kept.json("runs-change", "tag tag:slow slow --remove");
    assert!(listed("--tag slow").is_empty() && listed("--tag and/steady") == [ids[2].as_str()]);
    let note = kept.command(&["runs", "note", "last", "the old \u{1b}[31m cable"]).output();
    assert_eq!(told(&note.unwrap()).2, 0);
    let shown = kept.done("runs show last");
    assert!(shown.contains("cable") && !shown.contains('\u{1b}'), "{shown:?}");
    let list = kept.done("runs list");
    assert!(list.contains("and/st"), "{list}");

    let found = kept.json("runs-change", "delete --target imagen --dry-run");
    assert_eq!((&found["done"], found["runs"].as_array().unwrap().len()), (&"found".into(), 2));
    assert_eq!(kept.told("runs delete").2, 2, "all of them are not deleted by mistake");
    kept.json("runs-change", &format!("delete {}", ids[0]));
    kept.json("runs-change", "delete --tag imagen-v3.3");
    assert_eq!(listed(""), [ids[2].as_str()]);
    let (_, stderr, code) = kept.told(&format!("runs show {}", ids[0]));
    assert_eq!(code, 1);
    assert!(stderr.contains("no run has this name"), "{stderr}");
}

#[test]
fn exports_are_whole() {
    let kept = RunsFolder::new();
    kept.done("lab imagen");
    kept.done("sweep --simulate white-space");
    let lines = kept.done("runs export");
    let runs: Vec<Value> = lines.lines().map(|line| checked("run", line)).collect();
    assert_eq!(runs.len(), 2);
    let table = kept.folder.path().join("runs.csv");
    kept.done(&format!("runs export --format csv --command lab -o {}", table.display()));
    let table = std::fs::read_to_string(table).unwrap();
    let mut rows = table.split_terminator("\r\n");
    let head: Vec<&str> = rows.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|one| *one == name).unwrap();
    let (rate, limit) = (column("rate_bytes_per_second"), column("limit"));
    let record = &runs[0]["records"][0]["record"];
    let mut count = 0;
    for (row, of) in rows.zip(record["rows"].as_array().unwrap()) {
        // No field of these has a comma in it but within quotes, behind which none is asked for.
        let fields: Vec<&str> = row.rsplit(',').collect();
        let field = |at: usize| fields[head.len() - 1 - at];
        assert_eq!(field(rate).parse::<f64>().unwrap(), of["bytes_per_second"].as_f64().unwrap());
        assert!(field(limit).starts_with(of["verdict"]["limit"].as_str().unwrap()), "{row}");
        count += 1;
    }
    assert!(count > 1);
    let long = kept.done("runs export --format long last");
    let points = record_of(&runs[1])["points"].as_array().unwrap().len();
    let rows = long.lines().filter(|line| line.contains(",points.bits_per_second,")).count();
    assert_eq!(rows, points, "a row for each point of the curve");
}

fn record_of(run: &Value) -> &Value {
    &run["records"][0]["record"]
}
