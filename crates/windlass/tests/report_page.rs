//! `windlass report`: what its page and its Markdown say, beside `explain --json`, and how a
//! browser shows the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use windlass_base::figures::Share;
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_testkit::browser::{LEAST_LETTERS, WIDTHS, shown};
use windlass_testkit::captures::{Findings, corpus, explained, figure};
use windlass_testkit::devtools::{Browser, serious_faults};
use windlass_testkit::{has, repository, told, windlass};

/// The places of the page's grid.
const GRID: f64 = 8_388_608.0;

fn reported(captures: &[&Path], to: &Path, more: &[&str]) -> Output {
    windlass().arg("report").args(captures).arg("-o").arg(to).args(more).output().unwrap()
}

/// A report that is written, as text.
fn written(captures: &[&Path], to: &Path, more: &[&str]) -> String {
    let (stdout, stderr, code) = told(&reported(captures, to, more));
    assert_eq!((stderr.as_str(), code), ("", 0), "{captures:?}");
    assert!(stdout.starts_with("Wrote "), "{stdout}");
    std::fs::read_to_string(to).unwrap()
}

/// Returns the text of a page, without markup.
fn said(page: &str) -> String {
    let body = page.split_once("<main>").unwrap().1;
    let mut text = String::new();
    for piece in body.split('<') {
        let piece = piece.split_once('>').map_or(piece, |(_, said)| said);
        text.push_str(piece);
    }
    let unescaped =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    for (escaped, plain) in unescaped {
        text = text.replace(escaped, plain);
    }
    text.replace("\u{a0}", " ")
}

/// Figures and sentences of a report that must stand in a page or a ticket, as they read.
fn expected(report: &Value) -> Vec<String> {
    let number = |pointer: &str| figure(report, pointer);
    let span = |pointer: &str| Some(Span::from_seconds(number(pointer)?).to_string());
    let bytes = |pointer: &str| Some(Bytes::new(whole_part(number(pointer)?)).to_string());
    let rate = |pointer: &str| Some(Rate::from_bytes_per_second(number(pointer)?).to_string());
    let share = |pointer: &str| Some(Share(number(pointer)?).to_string());
    let text = |pointer: &str| Some(report.pointer(pointer)?.as_str()?.to_owned());
    let mut all: Vec<String> = [
        text("/sender"),
        text("/receiver"),
        text("/verdict/limit"),
        text("/verdict/because"),
        text("/verdict/confidence"),
        text("/verdict/sentence"),
        share("/verdict/share"),
        rate("/verdict/predicted_bytes_per_second"),
        rate("/verdict/measured_bytes_per_second"),
        rate("/bytes_per_second"),
        bytes("/bytes"),
        span("/seconds"),
        span("/transfer_seconds"),
        bytes("/receive_window/bytes"),
        bytes("/receive_window/max_flight_bytes"),
        span("/ack_latency_seconds/p50"),
        span("/ack_latency_seconds/p90"),
        span("/ack_latency_seconds/max"),
        span("/rtt_seconds/min"),
        text("/verdict/law/formula"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let lists = [
        ("/verdict/evidence", "shows"),
        ("/verdict/remedies", "action"),
        ("/verdict/caveats", "text"),
    ];
    for (pointer, key) in lists {
        let list = report.pointer(pointer).and_then(Value::as_array).unwrap();
        all.extend(list.iter().map(|one| one[key].as_str().unwrap().to_owned()));
    }
    all
}

/// The value of an attribute behind a place in a page.
fn attribute<'a>(page: &'a str, after: &str, name: &str) -> Option<&'a str> {
    let rest = &page[page.find(after)?..];
    let rest = &rest[rest.find(&format!(" {name}=\""))? + name.len() + 3..];
    Some(&rest[..rest.find('"')?])
}

/// The points of a path of the page, which has moves, and steps across and down.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = path;
    while let Some(step) = rest.chars().next() {
        let end = rest[1..].find(|one: char| one.is_ascii_alphabetic());
        let (words, next) = rest[1..].split_at(end.unwrap_or(rest.len() - 1));
        let words = words.replace('-', " -");
        let numbers: Vec<f64> = words.split_whitespace().map(|one| one.parse().unwrap()).collect();
        match step {
            'M' => (x, y) = (numbers[0], numbers[1]),
            'm' => (x, y) = (x + numbers[0], y + numbers[1]),
            'h' => x += numbers[0],
            'v' => y += numbers[0],
            'V' => y = numbers[0],
            other => panic!("{other}"),
        }
        found.push((x, y));
        rest = next;
    }
    found
}

/// A curve of the first chart of this name: its points in seconds and in the chart's unit.
fn curve(page: &str, chart: &str, name: &str) -> Vec<(f64, f64)> {
    let begin = page.find(&format!("-{chart}\"")).unwrap();
    let part = &page[begin..];
    let part = &part[..part.find("</figure>").unwrap()];
    let span: f64 = attribute(page, "class=\"connection\"", "data-span").unwrap().parse().unwrap();
    let number = |name: &str| attribute(part, "", name).unwrap().parse::<f64>().unwrap();
    let (top, low) = (number("data-top"), number("data-low"));
    let path = attribute(part, &format!("data-name=\"{name}\""), "d").unwrap_or_default();
    let value = |up: f64| if low > 0.0 { low * (top / low).powf(up) } else { up * top };
    points(path).into_iter().map(|(x, y)| (x / GRID * span, value(1.0 - y / GRID))).collect()
}

/// Returns the area under a curve.
fn under(curve: &[(f64, f64)]) -> f64 {
    curve.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1).sum()
}

#[test]
fn values_are_those_of_explain() {
    let folder = tempfile::tempdir().unwrap();
    let (page_file, ticket_file) = (folder.path().join("r.html"), folder.path().join("r.md"));
    let mut findings = Findings::default();
    let mut seen = 0;
    for entry in corpus().iter().step_by(9) {
        let report = &explained(&entry.path)["connections"][0];
        let page = written(&[&entry.path], &page_file, &[]);
        let ticket = written(&[&entry.path], &ticket_file, &[]).replace('\\', "");
        let text = said(&page);
        for value in expected(report) {
            seen += 1;
            let is_there = text.contains(&value) && ticket.contains(&value);
            findings.check(is_there, &entry.file, "in page and ticket", &value, "missing");
        }
        let rows = page.matches("data-name=\"Charged\"").count();
        assert_eq!(rows, report["timeline"].as_array().unwrap().len(), "{}", entry.file);
        let moved = under(&curve(&page, "throughput", "new bytes"));
        let bytes = figure(report, "/bytes").unwrap();
        let same = (moved - bytes).abs() <= bytes * 0.005;
        findings.check(same, &entry.file, "bytes under the throughput", bytes, moved);
    }
    findings.assert_none();
    assert!(seen > 300, "{seen}");
}

/// At the sender what is drawn is what the report counts: elsewhere the report keeps the
/// sender's time, and the charts the capture's.
#[test]
fn charts_reach_as_far_as_reports_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.html");
    let mut findings = Findings::default();
    let at_sender = |name: &str| name.contains(".snd.");
    let mut entries = corpus();
    entries.retain(|entry| at_sender(&entry.file));
    for entry in &entries {
        let report = &explained(&entry.path)["connections"][0];
        let page = written(&[&entry.path], &file, &[]);
        let most =
            |chart, name| curve(&page, chart, name).iter().map(|one| one.1).fold(0.0, f64::max);
        // What is far beyond the chart, as a window may be, is cut above its top.
        let top = |chart: &str| {
            let part = &page[page.find(&format!("-{chart}\"")).unwrap()..];
            attribute(part, "", "data-top").unwrap().parse::<f64>().unwrap()
        };
        for (chart, name, pointer) in [
            ("flight", "in flight", "/receive_window/max_flight_bytes"),
            ("flight", "window", "/receive_window/max_bytes"),
            ("latency", "time from segment to ACK", "/ack_latency_seconds/max"),
        ] {
            let (drawn, told) = (most(chart, name), figure(report, pointer).unwrap_or(0.0));
            let same = (drawn - told).abs() <= told * 0.001 + 1e-6;
            let is_cut = name == "window" && top(chart) < drawn && drawn < told;
            // Nor is the window of the SYN drawn, before which there was no data.
            let first = figure(report, "/handshake/receiver/first_window_bytes");
            let is_first = name == "window" && first == Some(told) && drawn < told;
            findings.check(same || is_cut || is_first, &entry.file, pointer, told, drawn);
        }
    }
    findings.assert_none();
}

/// Script that zooms: it presses keys in the second chart, and returns the state of the charts.
const ZOOM: &str = r##"
  const frame = inner.querySelectorAll(".frame")[1];
  const see = () => [...inner.querySelectorAll(".connection .area")].slice(0, 4)
    .map((area) => area.getAttribute("viewBox"));
  const press = (key) => frame.dispatchEvent(new win.KeyboardEvent("keydown", { key, bubbles: true }));
  const whole = see(), words = inner.querySelector(".xs").textContent;
  for (const key of ["+", "+", "+", "ArrowRight"]) press(key);
  const near = see(), other = inner.querySelector(".xs").textContent;
  press("0");
  const again = see(), back = inner.querySelector(".xs").textContent === words;
  const area = inner.querySelectorAll(".area")[1], box = area.getBoundingClientRect();
  const point = (kind) => area.dispatchEvent(new win.PointerEvent(kind, { bubbles: true,
    clientX: box.left + box.width / 2, clientY: box.top + 5 }));
  point("pointermove");
  const lines = [...inner.querySelectorAll(".connection .over .line")].slice(0, 4)
    .map((line) => !line.hidden && line.style.left === "50%");
  const reading = inner.querySelectorAll(".reading")[0].textContent;
  point("pointerleave");
  const gone = [...inner.querySelectorAll(".over .line")].every((line) => line.hidden);
  press("+");
  const shown = !inner.querySelector(".controls").hidden;
  inner.querySelectorAll("details").forEach((one) => { one.open = true; });
  return { whole, near, again, back, moved: other !== words, shown, lines, reading, gone };
"##;

#[test]
fn the_page_can_be_read_and_zoomed_at_any_width() {
    let test = "the_page_can_be_read_and_zoomed_at_any_width";
    if !has("chromium", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hostile = folder.path().join("<img src=x onerror=alert(1)>.txt");
    std::fs::write(&hostile, hostile_text()).unwrap();
    let captures = ["loss-fast-recovery-2pc.snd", "zero-window-opens-late.snd"]
        .map(|name| repository(&format!("tests/corpus/{name}.pcap.gz")));
    let files: Vec<&Path> = captures.iter().chain([&hostile]).map(PathBuf::as_path).collect();
    let title = ["--title", "<script>console.log('title')</script>"];
    let page = written(&files, &folder.path().join("r.html"), &title);
    let mut grounds = Vec::new();
    for dark in [false, true] {
        let all = shown(&page, folder.path(), dark, ZOOM);
        for (width, seen) in WIDTHS.into_iter().zip(&all) {
            assert!(seen["least"].as_f64().unwrap() >= LEAST_LETTERS, "at {width}: {seen:#}");
            assert_eq!(seen["cut"], json!([]), "at {width}");
            assert!(seen["wide"].as_u64().unwrap() <= u64::from(width), "at {width}: {seen:#}");
            assert_eq!((&seen["fetched"], &seen["strange"]), (&json!([]), &json!(0)), "at {width}");
            // Four charts, a band and the key of each of three connections.
            assert!(seen["plots"].as_u64().unwrap() >= 3 * 12, "{seen:#}");
            assert!(seen["texts"].as_u64().unwrap() > 300, "{seen:#}");
            let acted = &seen["acted"];
            assert_eq!(acted["whole"][0], "0 0 8388608 8388608");
            assert_eq!(acted["whole"], acted["again"], "{acted:#}");
            for chart in 0..4 {
                assert_ne!(acted["whole"][chart], acted["near"][chart], "{acted:#}");
            }
            let zoomed = [&acted["back"], &acted["moved"], &acted["shown"]];
            assert_eq!(zoomed, [true, true, true], "{acted:#}");
            assert_eq!(acted["lines"], json!([true, true, true, true]), "{acted:#}");
            assert_eq!(acted["gone"], true, "{acted:#}");
            let reading = acted["reading"].as_str().unwrap();
            let has_both = reading.contains("B/s = ") && reading.contains("bit/s");
            assert!(reading.contains(" · packet ") && has_both, "{reading}");
        }
        grounds.push(all[0]["dark"].clone());
    }
    assert_ne!(grounds[0], grounds[1], "light and dark");
    let mut browser = Browser::start(folder.path());
    browser.open(&format!("file://{}", folder.path().join("r.html").display()));
    for dark in [false, true] {
        browser.look(1_200, dark);
        if let Some(faults) = serious_faults(&mut browser, test) {
            assert_eq!(faults, Vec::<String>::new(), "dark: {dark}");
        }
    }
}

/// A text of tcpdump whose hosts have names that want to be more.
fn hostile_text() -> String {
    let (one, other) =
        ("<img/src=x/onerror=console.log(1)>\"'&amp;", "</script><b>|*x*`\u{1b}[31m");
    let mut text = String::new();
    for flight in 0..8 {
        let (first, end) = (1 + flight * 1_000, 1 + (flight + 1) * 1_000);
        text += &format!(
            "00:00:0{flight}.000000 IP {one}.5 > {other}.9100: Flags [P.], seq {first}:{end}, \
             ack 1, win 512, length 1000\n\
             00:00:0{flight}.400000 IP {other}.9100 > {one}.5: Flags [.], ack {end}, win 1000, \
             length 0\n"
        );
    }
    text
}

#[test]
fn names_do_not_become_markup() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("<i>names.txt");
    std::fs::write(&capture, hostile_text()).unwrap();
    let page = written(&[&capture], &folder.path().join("r.html"), &["--title", "</title><u>"]);
    for markup in ["<img", "<b>", "<i>", "<u>", "&amp;amp;x", "\u{1b}"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("&lt;img/src=x/onerror=console.log(1)&gt;&quot;&#39;&amp;amp;"));
    assert!(
        page.contains("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'")
    );
    for fetches in ["http:", "https:", "url(", "@import", " src=", " href=\"h", "fetch(", "XMLHttp"]
    {
        let found = page.replace("&lt;img/src", "").contains(fetches);
        assert!(!found, "{fetches}");
    }
    let ticket = written(&[&capture], &folder.path().join("r.md"), &["--title", "*a*\n# b"]);
    assert!(ticket.starts_with("# \\*a\\* \\# b\n"), "{ticket}");
    for line in ticket.lines().filter(|line| line.contains("names")) {
        assert!(!line.contains("<i>") && line.contains("\\<i\\>"), "{line}");
    }
    assert!(!ticket.contains(['\u{1b}', '\u{7}']) && ticket.contains("\\|\\*x\\*\\`"), "{ticket}");
}

/// A window that is filled once in a round trip is a level rate, whose steps stay within a tenth
/// of the average.
#[test]
fn rounds_do_not_alias() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("rounds.txt");
    let mut text = String::new();
    for round in 0..33_u32 {
        for segment in 0..10_u32 {
            let micros = round * 123_000 + segment * 1_000;
            let (first, end) =
                (1 + (round * 10 + segment) * 1_000, 1 + (round * 10 + segment + 1) * 1_000);
            let time = |after: u32| {
                let at = micros + after;
                format!("00:00:{:02}.{:06}", at / 1_000_000, at % 1_000_000)
            };
            text += &format!(
                "{} IP 192.0.2.1.5 > 192.0.2.2.9100: Flags [.], seq {first}:{end}, ack 1, win 512, \
                 length 1000\n",
                time(0)
            );
            if segment == 9 {
                text += &format!(
                    "{} IP 192.0.2.2.9100 > 192.0.2.1.5: Flags [.], ack {end}, win 10000, length 0\n",
                    time(113_900)
                );
            }
        }
    }
    std::fs::write(&capture, text).unwrap();
    let page = written(&[&capture], &folder.path().join("r.html"), &[]);
    let drawn = curve(&page, "throughput", "new bytes");
    let rates: Vec<f64> = drawn.iter().map(|one| one.1).filter(|rate| *rate > 1.0).collect();
    let level = 10_000.0 / 0.123;
    assert!(rates.len() > 30, "{drawn:?}");
    assert!(rates.iter().all(|rate| (rate / level - 1.0).abs() < 0.1), "{rates:?}");
}

/// One answer that takes far longer than all others leaves room for these.
#[test]
fn one_late_ack_does_not_flatten_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.html");
    let mut seen = 0;
    for entry in corpus() {
        let report = &explained(&entry.path)["connections"][0];
        let latency = |which: &str| figure(report, &format!("/ack_latency_seconds/{which}"));
        let (Some(nine), Some(most)) = (latency("p90"), latency("max")) else { continue };
        if most < 30.0 * nine {
            continue;
        }
        seen += 1;
        let page = written(&[&entry.path], &file, &[]);
        assert!(page.contains(" The axis is logarithmic."), "{}", entry.file);
        let part = &page[page.find("-latency\"").unwrap()..];
        let number = |name: &str| attribute(part, "", name).unwrap().parse::<f64>().unwrap();
        let (low, top) = (number("data-low"), number("data-top"));
        assert!(low > 0.0 && low < nine && top >= most, "{}: {low} {nine} {top}", entry.file);
        if seen == 3 {
            break;
        }
    }
    assert!(seen > 0, "the corpus has such captures");
}

/// A long transfer becomes a page of bounded size that says how it was reduced.
#[test]
fn a_long_transfer_is_reduced_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("long.txt");
    let mut text = String::new();
    for count in 0..9_000_u32 {
        let (seconds, micros) = (count / 250, count % 250 * 4_000);
        let (first, end) = (1 + count * 1_000, 1 + (count + 1) * 1_000);
        let time = |after: u32| format!("00:00:{seconds:02}.{:06}", micros + after);
        text += &format!(
            "{} IP 192.0.2.1.5 > 192.0.2.2.9100: Flags [.], seq {first}:{end}, ack 1, win 512, \
             length 1000\n{} IP 192.0.2.2.9100 > 192.0.2.1.5: Flags [.], ack {end}, win {}, \
             length 0\n",
            time(0),
            time(1_000 + count % 7 * 100),
            1_000 + count % 50
        );
    }
    std::fs::write(&capture, text).unwrap();
    let page = written(&[&capture], &folder.path().join("r.html"), &[]);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(said(&page).contains("9,000 samples are drawn as "));
    // No extreme is lost.
    let latencies = curve(&page, "latency", "time from segment to ACK");
    let most = latencies.iter().map(|one| one.1).fold(0.0, f64::max);
    assert!((most - 0.0016).abs() < 2e-6, "{most}");
    let windows = curve(&page, "flight", "window");
    let most = windows.iter().map(|one| one.1).fold(0.0, f64::max);
    assert!((most - 1_049.0).abs() < 1.0, "{most}");
}

#[test]
fn several_captures_and_the_largest_connections() {
    let folder = tempfile::tempdir().unwrap();
    let captures = ["nagle-delayed-ack.snd", "small-segments.snd"]
        .map(|name| repository(&format!("tests/corpus/{name}.pcap.gz")));
    let files: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
    let page = written(&files, &folder.path().join("r.html"), &[]);
    for id in ["capture1-connection1", "capture2-connection1"] {
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    let text = said(&page);
    assert!(text.starts_with("\nWhat held back nagle-delayed-ack.snd.pcap.gz, small-segments.snd"));
    // It begins with a table of both, whose links lead to their parts.
    let contents = &page[page.find("id=\"contents\"").unwrap()..page.find("id=\"part1\"").unwrap()];
    for link in contents.split(" href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(page.matches(&format!(" id=\"{link}\"")).count(), 1, "{link}");
    }
    assert_eq!(contents.matches(" href=").count(), 4, "{contents}");
    for capture in &captures {
        let report = &explained(capture)["connections"][0];
        for pointer in ["/verdict/limit", "/verdict/confidence", "/sender"] {
            let told = report.pointer(pointer).unwrap().as_str().unwrap();
            assert!(said(&format!("<main>{contents}")).contains(told), "{told}: {contents}");
        }
    }
    let ticket = written(&files, &folder.path().join("r.md"), &[]);
    assert!(ticket.contains("| capture | connection | data | rate |"), "{ticket}");
    let alone = written(&files[..1], &folder.path().join("r.html"), &[]);
    assert!(!alone.contains("id=\"contents\""), "one needs no table");
    assert!(text.contains("Packets around the evidence"), "{text}");
}

#[test]
fn a_report_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let capture = corpus().remove(0).path;
    let (page, other) = (folder.path().join("r.html"), folder.path().join("r.pdf"));
    for (captures, to, more, code, says) in [
        (&[&*capture][..], &*other, &[][..], 2, "Name a file that ends in .html, .md or .svg."),
        (&[&capture, &capture], &page, &["--connection", "1"], 2, "there are several captures"),
        (&[&capture], &page, &["--connection", "9"], 1, "connection 9 does not exist"),
        (&[&capture], &page, &["--port", "9"], 1, "cannot report on"),
        (&[&capture], Path::new("/nowhere/r.html"), &[], 1, "there is no directory /nowhere"),
        (&[Path::new("nothing.pcap")], &page, &[], 1, "cannot report on nothing.pcap"),
    ] {
        let (stdout, stderr, exit) = told(&reported(captures, to, more));
        assert!(stdout.is_empty() && stderr.contains(says), "{stderr}");
        assert_eq!(exit, code, "{stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_picture_has_the_charts_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("report.svg");
    let titles = [
        ("throughput", "Throughput, and what limits it"),
        ("sequence", "Sequence numbers against time"),
        ("flight", "Bytes in flight against the window"),
        ("latency", "ACK latency and the round trip"),
    ];
    let capture = repository("tests/corpus/loss-fast-recovery-5pc.snd.pcap.gz");
    let has = |picture: &str| titles.map(|(_, title)| picture.contains(title));
    let whole = written(&[&capture], &to, &[]);
    assert_eq!(has(&whole), [true; 4]);
    let two = written(&[&capture], &to, &["--chart", "flight", "--chart", "sequence"]);
    assert_eq!(has(&two), [false, true, true, false]);
    // It is one file that every renderer draws: no variables, nothing fetched, no script.
    for not in ["var(", "href", "<script", "http://", "vector-effect"] {
        let own = whole.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(not), "{not}");
    }
    // The same strokes as the page has.
    let page = written(&[&capture], &folder.path().join("report.html"), &[]);
    for class in ["stroke again", "stroke sack"] {
        let of = |text: &str, moves: [char; 2]| {
            let paths =
                text.split("<path ").filter(|path| path.starts_with(&format!("class=\"{class}\"")));
            // The key has a piece of it.
            let path = paths.max_by_key(|path| path.len()).unwrap();
            path.split(" d=\"").nth(1).unwrap().split('"').next().unwrap().matches(moves).count()
        };
        assert_eq!(of(&page, ['M', 'm']), of(&whole, ['M', 'm']), "{class}");
    }
    let report = &explained(&capture)["connections"][0]["verdict"];
    assert!(whole.contains(report["because"].as_str().unwrap()), "{whole}");
    // Two captures stand below each other.
    let both = written(&[&capture, &capture], &to, &["--chart", "latency"]);
    assert_eq!(both.matches(titles[3].1).count(), 2);
    // A page has all of them.
    let page = reported(&[&capture], &folder.path().join("x.html"), &["--chart", "latency"]);
    let (_, stderr, code) = told(&page);
    assert!(code == 2 && stderr.contains("SVG"), "{code}: {stderr}");
}
