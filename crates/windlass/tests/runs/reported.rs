//! Runs as pages and as tickets.

use serde_json::{Value, json};

use super::{RunsFolder, figure};
use windlass_testkit::browser::{LEAST_LETTERS, WIDTHS, shown};
use windlass_testkit::devtools::{Browser, serious_faults};
use windlass_testkit::{has, repository, told};

/// A report of what is named, and what was said of it.
fn written(kept: &RunsFolder, what: &str, file: &str) -> (String, String) {
    let to = kept.folder.path().join(file);
    let said = kept.done(&format!("report {what} -o {}", to.display()));
    (std::fs::read_to_string(to).unwrap(), said)
}

#[test]
fn a_run_is_a_page_and_a_ticket() {
    let kept = RunsFolder::new();
    let printed = kept.done("lab imagen --tag both");
    let printed_sweep = kept.done("sweep --simulate white-space --tag both --note <b>");
    let runs = kept.list();
    let (page, said) = written(&kept, "last~1", "lab.html");
    assert!(said.contains(": 1 run, "), "{said}");
    let plain = page.replace('\u{a0}', " ");
    // Each row of the document's table, with the rate that the list has, too.
    let whole = kept.json("run", "show last~1");
    let rows = whole["records"][0]["record"]["rows"].as_array().unwrap().clone();
    assert!(rows.len() >= 2, "{whole:#}");
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        assert!(plain.contains(&text("device")) && plain.contains(&text("method")), "{row}");
        assert!(plain.contains(row["verdict"]["sentence"].as_str().unwrap()), "{row}");
    }
    let row_name = runs[0]["figures"][0]["of"].as_str();
    assert!(figure(&runs[0], "rate", row_name) > 0.0);
    let (ticket, _) = written(&kept, "tag:both", "both.md");
    for line in printed.lines().chain(printed_sweep.lines()) {
        assert!(ticket.contains(&format!("    {line}\n")), "{line}: {ticket}");
    }
    assert!(ticket.contains("| note | \\<b\\> |"), "{ticket}");
    let (both, said) = written(&kept, "tag:both", "both.html");
    assert!(said.contains(": 2 runs, "), "{said}");
    assert!(!both.contains("<dd><b>") && both.contains("&lt;b&gt;"));
    assert!(both.contains("Throughput against the receive window"), "the paper's curve");
    // Beside a capture, too.
    let capture = repository("tests/corpus/receiver-window-ack-latency.snd.pcap.gz");
    let (mixed, said) = written(&kept, &format!("last {}", capture.display()), "mixed.html");
    assert!(said.contains(": 1 connection, 1 run, "), "{said}");
    assert!(mixed.contains("tcp.stream eq 0") && mixed.contains("Throughput against"));
}

#[test]
fn what_is_neither_a_file_nor_a_run_is_told() {
    let kept = RunsFolder::new();
    kept.done("lab imagen");
    let to = kept.folder.path().join("r.html");
    for (what, code, says) in [
        ("last~7", 1, "windlass runs list"),
        ("tag:none", 1, "no run has this tag"),
        ("uplaod.pcap", 1, "cannot report on uplaod.pcap"),
    ] {
        let (stdout, stderr, exit) = kept.told(&format!("report {what} -o {}", to.display()));
        assert!(stdout.is_empty() && stderr.contains(says), "{what}: {stderr}");
        assert_eq!(exit, code, "{what}: {stderr}");
    }
    let svg = kept.folder.path().join("r.svg");
    let (_, stderr, code) = kept.told(&format!("report last -o {}", svg.display()));
    assert!(code == 2 && stderr.contains(".html"), "{code}: {stderr}");
    kept.done("sweep --simulate gigabit --windows 64k,1m");
    let named = format!("report last --chart sequence -o {}", svg.display());
    let (_, stderr, code) = kept.told(&named);
    assert!(code == 2 && stderr.contains("charts of a capture"), "{code}: {stderr}");
    assert!(!to.exists() && !svg.exists());
    // A file of that name comes first.
    let capture = repository("tests/corpus/receiver-window-ack-latency.snd.pcap.gz");
    std::fs::copy(capture, kept.folder.path().join("last")).unwrap();
    let mut command = kept.command(&["report", "last", "-o", "r.html"]);
    let (stdout, stderr, code) = told(&command.current_dir(kept.folder.path()).output().unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains(": 1 connection, "), "{stdout}");
}

#[test]
fn the_graphs_of_runs_are_a_picture() {
    let kept = RunsFolder::new();
    kept.done("sweep --simulate white-space --tag drawn");
    kept.done("watch --count 3 --interval 100ms --tag drawn");
    let (svg, said) = written(&kept, "tag:drawn", "drawn.svg");
    assert!(said.contains(": 2 runs, "), "{said}");
    let whole = kept.json("run", "show last~1");
    let points = whole["records"][0]["record"]["points"].as_array().unwrap();
    let of_window = |one: &&Value| one["streams"] == 1 && !one["window_bytes"].is_null();
    let windows = points.iter().filter(of_window).count();
    // The curve's points, and those of the machine: three shares in each of three intervals.
    assert_eq!(svg.matches("<circle class=\"dot").count(), windows + 9, "{svg}");
    assert!(svg.contains("A ring is the window") && svg.contains("This machine meanwhile"));
    // What draws for print knows no variables, and nothing is fetched.
    assert!(!svg.contains("var(") && !svg.contains("<script") && !svg.contains("href"), "{svg}");
    assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
}

#[test]
fn the_page_of_a_run_can_be_read_at_any_width() {
    let test = "the_page_of_a_run_can_be_read_at_any_width";
    if !has("chromium", test) {
        return;
    }
    let kept = RunsFolder::new();
    kept.done("lab imagen --tag all");
    kept.done("sweep --simulate white-space --tag all");
    kept.done("watch --count 3 --interval 100ms --tag all");
    let (page, _) = written(&kept, "tag:all", "all.html");
    let folder = kept.folder.path();
    let open = "inner.querySelectorAll('details').forEach((one) => { one.open = true; });";
    for dark in [false, true] {
        let all: Vec<Value> = shown(&page, folder, dark, open);
        for (width, seen) in WIDTHS.into_iter().zip(&all) {
            assert!(seen["least"].as_f64().unwrap() >= LEAST_LETTERS, "at {width}: {seen:#}");
            assert!(seen["wide"].as_u64().unwrap() <= u64::from(width), "at {width}: {seen:#}");
            assert_eq!((&seen["fetched"], &seen["strange"]), (&json!([]), &json!(0)), "at {width}");
            // The sweep's curve, and what the machine did.
            assert!(seen["plots"].as_u64().unwrap() >= 2, "at {width}: {seen:#}");
        }
    }
    let mut browser = Browser::start(folder);
    browser.open(&format!("file://{}", folder.join("all.html").display()));
    for dark in [false, true] {
        browser.look(1_200, dark);
        if let Some(faults) = serious_faults(&mut browser, test) {
            assert_eq!(faults, Vec::<String>::new(), "dark: {dark}");
        }
    }
}
