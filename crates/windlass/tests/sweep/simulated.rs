//! Sweeps against the paper's figures, and what users and scripts get of them.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use windlass_testkit::schema::checked;
use windlass_testkit::{run, told, windlass};

fn swept(line: &str) -> Value {
    let (stdout, stderr, code) = told(&run(&format!("sweep --json {line}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    serde_json::from_str(&stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn points(record: &Value) -> &[Value] {
    record["points"].as_array().unwrap()
}

/// The points with one stream and a window, in the order of these.
fn windows(record: &Value) -> Vec<&Value> {
    let alone = points(record).iter().filter(|point| point["streams"] == 1);
    alone.filter(|point| !point["window_bytes"].is_null()).collect()
}

fn window(point: &Value) -> f64 {
    number(&point["window_bytes"])
}

fn rate(point: &Value) -> f64 {
    number(&point["bits_per_second"])
}

fn at(record: &Value, bytes: u64, streams: u64) -> Value {
    let found = points(record)
        .iter()
        .find(|point| point["window_bytes"] == bytes && point["streams"] == streams);
    found.unwrap().clone()
}

/// The paper's figures 6 and 7, over both set-ups: from below one segment to the
/// end.
static FIGURES: LazyLock<[Value; 2]> = LazyLock::new(|| {
    PAPER.map(|(scenario, ..)| {
        swept(&format!("--simulate {scenario} --windows 512..4m --full --streams 1"))
    })
});

/// The paper's set-ups with its bandwidth-delay products.
const PAPER: [(&str, f64, f64); 2] =
    [("gigabit", 319e3, 0.002_55), ("white-space", 31e3, 0.002_45)];

#[test]
fn the_recommended_window_is_the_papers_optimum() {
    for (scenario, optimum, rtt) in PAPER {
        let record = swept(&format!("--simulate {scenario}"));
        let recommended = number(&record["recommended_window_bytes"]);
        let off = recommended / optimum;
        assert!((1.0 / 1.5..1.5).contains(&off), "{scenario}: {recommended}");
        let base = number(&record["base_rtt_seconds"]);
        assert!((base / rtt - 1.0).abs() < 0.01, "{scenario}: {base}");
        // Of data, and the radio carries 89 of the 100 Mb/s that the paper takes.
        let product = number(&record["bdp_bytes"]);
        assert!((0.8..1.0).contains(&(product / optimum)), "{scenario}: {product}");
        let capacity = number(&record["capacity_bits_per_second"]);
        assert!((product - capacity / 8.0 * base).abs() < 2.0, "{scenario}: {product}");
    }
}

#[test]
fn below_a_segment_it_is_orders_of_magnitude_slower_and_beyond_the_knee_it_is_level() {
    for ((scenario, ..), record) in PAPER.iter().zip(&*FIGURES) {
        let recommended = number(&record["recommended_window_bytes"]);
        let best = windows(record).into_iter().map(rate).fold(0.0, f64::max);
        for point in windows(record) {
            let (window, rate) = (window(point), rate(point));
            if window < 2_920.0 {
                // The paper: "at around 50 kbps", over both.
                assert!((10e3..100e3).contains(&rate), "{scenario}: {point}");
                assert!(rate < best / 1_000.0, "{scenario}: {point}");
            } else if window < recommended {
                assert!(rate < best * 0.95, "{scenario}: {point}");
            } else {
                assert!(rate >= best * 0.95, "{scenario}: {point}");
            }
            if window < recommended {
                assert_eq!(point["verdict"], "receiver-window", "{scenario}: {point}");
            } else if window > 1.5 * recommended {
                assert_eq!(point["verdict"], "path-capacity", "{scenario}: {point}");
            }
        }
        assert_eq!(at(record, 2_048, 1)["because"], "ack-latency");
        assert_eq!(at(record, 512, 1)["because"], "window-below-mss");
    }
}

#[test]
fn the_delivery_delay_falls_to_the_time_on_the_line_and_rises_with_the_queue() {
    let least = |record: &Value| {
        let scenario = &record["path"]["name"];
        let recommended = number(&record["recommended_window_bytes"]);
        let delay = |point: &Value| number(&point["delivery_delay_seconds"]);
        let all = windows(record);
        assert!(delay(all[0]) > 0.1, "{scenario}: it begins high: {}", all[0]);
        let beyond: Vec<f64> = all
            .iter()
            .filter(|point| window(point) >= recommended)
            .map(|point| delay(point))
            .collect();
        assert!(beyond.is_sorted(), "{scenario}: it rises beyond the knee: {beyond:?}");
        let least = all.iter().map(|point| delay(point)).fold(f64::MAX, f64::min);
        let low = record["directions"][0]["low_delay_window_bytes"].as_u64().unwrap();
        assert!(low as f64 <= recommended, "{scenario}");
        let chosen = delay(&at(record, low, 1));
        assert!(chosen <= least + 0.1 * 0.002_55, "{scenario}: {chosen} of {least}");
        least
    };
    // The paper: "The observed difference in the delays is roughly inversely
    // proportional to the capacity of the links."
    let [gigabit, white_space] = &*FIGURES;
    let ratio = least(white_space) / least(gigabit);
    assert!((0.5..2.0).contains(&(ratio / (1e9 / 89e6))), "{ratio}");
}

#[test]
fn one_stream_of_56_kb_gets_its_window_per_round_trip_and_ten_fill_the_line() {
    let record = swept("--simulate gigabit --windows 64k --streams 1,2,6,10,20 --time 1s");
    let one = at(&record, 57_344, 1);
    let law = 57_344.0 * 8.0 / 0.002_55;
    assert!((0.9..=1.0).contains(&(rate(&one) / law)), "{one}");
    assert_eq!(one["verdict"], "receiver-window");
    let two = at(&record, 57_344, 2);
    assert!((rate(&two) / rate(&one) - 2.0).abs() < 0.05, "{two}");
    assert_eq!(two["verdict"], "receiver-window");
    let capacity = number(&record["capacity_bits_per_second"]);
    // "around 900 Mbps", "between approximately 10 to 20 parallel streams".
    for streams in [6, 10, 20] {
        let point = at(&record, 57_344, streams);
        assert!(rate(&point) > 900e6 && rate(&point) >= 0.95 * capacity, "{point}");
        assert_eq!(point["verdict"], "path-capacity", "{point}");
    }
    assert_eq!(record["recommended_streams"], 6, "1 Gb/s over 180 Mb/s is 5.6");
    let way = &record["directions"][0];
    assert_eq!(way["streams_memory_bytes"], 6 * 57_344);
    let reason = way["streams_reason"].as_str().unwrap();
    assert!(reason.contains("min(C, n · W / T) it takes 6"), "{reason}");
}

#[test]
fn a_megabyte_is_recommended_over_20_ms_although_more_is_as_fast() {
    let record = swept("--simulate long-fat --time 3s");
    let recommended = record["recommended_window_bytes"].as_u64().unwrap();
    assert!((900_000..1_500_000).contains(&recommended), "{recommended}");
    let chosen = at(&record, recommended, 1);
    let (two, four) = (at(&record, 2 << 20, 1), at(&record, 4 << 20, 1));
    let rtt = |point: &Value| number(&point["rtt_seconds"]);
    for larger in [&two, &four] {
        assert!((rate(larger) / rate(&chosen) - 1.0).abs() < 0.05, "{larger}");
        assert!(rtt(larger) > 1.25 * rtt(&chosen), "{larger}");
    }
    assert!(rtt(&chosen) < 1.1 * 0.02, "{chosen}");
    let again = |point: &Value| number(&point["retransmissions"]);
    assert!(again(&chosen) == 0.0 && again(&four) > 100.0, "{four}");
    let reason = record["directions"][0]["window_reason"].as_str().unwrap();
    for part in ["2 MiB and 4 MiB give no more", "the RTT rises", "retransmissions rise"] {
        assert!(reason.contains(part), "{reason}");
    }
    let half = at(&record, 512 << 10, 1);
    assert!((rate(&half) / (524_288.0 * 8.0 / 0.02) - 1.0).abs() < 0.05, "{half}");
}

#[test]
fn the_figures_of_rfc_6349_come_from_what_was_measured() {
    let record = swept("--simulate long-fat --windows 1m,2m,4m --streams 1 --time 2s");
    let base = number(&record["base_rtt_seconds"]);
    let ideal = number(&record["directions"][0]["ideal_bits_per_second"]);
    assert!((ideal - 500e6 * 1_460.0 / 1_538.0).abs() < 1.0, "{ideal}");
    for point in points(&record) {
        let near = |name: &str, value: f64| {
            let told = number(&point[name]);
            assert!((told - value).abs() < 1e-6 * value.abs().max(1.0), "{name} of {point}");
        };
        near("transfer_time_ratio", ideal / rate(point));
        let (sent, again) = (&point["transmitted_bytes"], &point["retransmitted_bytes"]);
        near("tcp_efficiency_percent", (number(sent) - number(again)) / number(sent) * 100.0);
        near("buffer_delay_percent", (number(&point["rtt_seconds"]) - base) / base * 100.0);
        let flight = number(&point["offered_window_bytes"]) * number(&point["streams"]);
        let delay = flight * 8.0 / rate(point) - base;
        near("delivery_delay_seconds", delay.max(0.0));
    }
}

#[test]
fn the_same_sweep_gives_the_same_and_stops_where_more_adds_nothing() {
    let line = "--simulate white-space";
    let record = swept(line);
    assert_eq!(record, swept(line));
    let left = record["directions"][0]["windows_left_out_bytes"].as_array().unwrap();
    assert_eq!(left.len(), 5, "{left:?}");
    let full = swept(&format!("{line} --full"));
    assert_eq!(full["directions"][0]["windows_left_out_bytes"], serde_json::json!([]));
    assert_eq!(full["recommended_window_bytes"], record["recommended_window_bytes"]);
    assert!(points(&full).len() > points(&record).len());
}

#[test]
fn ways_that_are_alike_are_measured_once_and_others_one_by_one() {
    let record = swept("--simulate gigabit --windows 64k --streams 1");
    assert_eq!(record["plan"]["directions"], serde_json::json!(["up"]));
    let down = swept("--simulate gigabit --windows 64k --streams 1 --direction down");
    assert_eq!(rate(&points(&record)[0]), rate(&points(&down)[0]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uneven.toml");
    let uneven = "title = \"Uneven\"\nshows = \"x\"\n[[hop]]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n\
                  [[back]]\nrate = \"50 Mb/s\"\ndelay = \"5 ms\"\n";
    std::fs::write(&path, uneven).unwrap();
    let record = swept(&format!("--simulate {}", path.display()));
    let ways = record["directions"].as_array().unwrap();
    let told: Vec<&str> = ways.iter().map(|way| way["direction"].as_str().unwrap()).collect();
    assert_eq!(told, ["up", "down"]);
    let product = |way: &Value| number(&way["bdp_bytes"]);
    assert!((product(&ways[1]) / product(&ways[0]) - 5.0).abs() < 0.2, "{ways:?}");
    assert_eq!(record["bdp_bytes"], ways[0]["bdp_bytes"], "the first one's");
    let (text, ..) = told_text(&format!("sweep --simulate {}", path.display()));
    for part in
        ["by its window, up", "by its window, down", "Recommendation, up", "Recommendation, down"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn told_text(line: &str) -> (String, String, i32) {
    told(&run(line))
}

#[test]
fn chance_is_repeated_and_certainty_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lossy.toml");
    let lossy = "title = \"Lossy\"\nshows = \"x\"\ntime = \"5 s\"\n[[hop]]\nrate = \"20 Mb/s\"\n\
                 delay = \"10 ms\"\nloss = \"0.5%\"\n";
    std::fs::write(&path, lossy).unwrap();
    let name = path.display();
    let record = swept(&format!("--simulate {name} --windows 64k --streams 1"));
    assert_eq!(record["plan"]["repeat"], 3);
    let point = at(&record, 65_536, 1);
    let (least, most) = (&point["min_bits_per_second"], &point["max_bits_per_second"]);
    assert!(number(least) < rate(&point) && rate(&point) < number(most), "{point}");
    let other = swept(&format!("--simulate {name} --windows 64k --streams 1 --seed 9"));
    assert_ne!(other["points"], record["points"]);
    let certain = swept("--simulate gigabit --windows 64k --streams 1 --repeat 5");
    assert_eq!(certain["plan"]["repeat"], 1);
    let (text, ..) = told_text("sweep --simulate gigabit --windows 64k --streams 1 --repeat 5");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("a repeat would give the same"), "{text}");
}

#[test]
fn nothing_gets_through_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.toml");
    let dead = "title = \"Dead\"\nshows = \"x\"\n[[hop]]\nrate = \"20 Mb/s\"\nloss = \"100%\"\n";
    std::fs::write(&path, dead).unwrap();
    let record = swept(&format!("--simulate {}", path.display()));
    for name in ["base_rtt_seconds", "capacity_bits_per_second", "recommended_window_bytes"] {
        assert!(record[name].is_null(), "{name}");
    }
    let line =
        format!("sweep --simulate {} --html {}/x.html", path.display(), folder.path().display());
    let (text, stderr, code) = told_text(&line);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(text.contains("no data arrived"), "{text}");
}

#[test]
fn csv_has_a_row_for_each_point_under_the_names_of_the_json() {
    let line = "--simulate white-space --windows 16k,32k,64k --streams 1,2";
    let record = swept(line);
    let (csv, stderr, code) = told_text(&format!("sweep {line} --csv"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), points(&record).len());
    for (row, point) in rows.iter().zip(points(&record)) {
        assert_eq!(names.len(), point.as_object().unwrap().len());
        for (name, cell) in names.iter().zip(row) {
            let expected = match &point[name] {
                Value::Null => String::new(),
                Value::String(word) => word.clone(),
                number => number.to_string(),
            };
            assert_eq!(*cell, expected, "{name}");
        }
    }
}

/// The elements that a page opens, each closed in its turn.
fn elements(page: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let (mut open, mut all): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "…{part}");
        } else {
            all.push(name.to_owned());
            if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

#[test]
fn the_page_needs_nothing_and_nobody_can_write_markup_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil.toml");
    let evil = "title = \"<script>alert(1)</script>\"\nshows = '''\"><img src=x onerror=\"y\">'''\n\
                source = \"a & b </desc>\"\n[[hop]]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n";
    std::fs::write(&path, evil).unwrap();
    let file = folder.path().join("page.html");
    let line = format!("sweep --simulate {} --html {}", path.display(), file.display());
    let (text, stderr, code) = told_text(&line);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(text.contains("Recommendation"), "the text is there as well: {text}");
    let page = std::fs::read_to_string(&file).unwrap();
    let (out, ..) = told_text(&format!("sweep --simulate {} --html", path.display()));
    assert_eq!(out, page, "to standard output the same, and nothing else");
    let elements = elements(&page);
    for never in ["script", "img", "link", "iframe", "object"] {
        assert!(!elements.iter().any(|name| name == never), "{never}");
    }
    // The path and four figures, each broad and narrow.
    assert_eq!(elements.iter().filter(|name| *name == "svg").count(), 10);
    // A plot that is not seen still says what it shows.
    assert_eq!(page.matches("role=\"img\"").count(), page.matches("<desc ").count());
    for never in ["http://", "https://", "url(", "@import", "src=\"", "href="] {
        assert!(!page.contains(never), "{never}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn a_sweep_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.jsonl");
    let line =
        format!("--simulate gigabit --windows 4k..1m --time 100ms --state {}", state.display());
    let whole = swept(&line);
    let kept = std::fs::read_to_string(&state).unwrap();
    assert_eq!(kept.lines().count(), 1 + points(&whole).len());
    // Cut off in the middle of a line, as by a full disk.
    let lines: Vec<&str> = kept.lines().collect();
    let cut = format!("{}\n{}", lines[..6].join("\n"), &lines[6][..40]);
    std::fs::write(&state, cut).unwrap();
    assert_eq!(swept(&line), whole);
    assert_eq!(std::fs::read_to_string(&state).unwrap(), kept);
    // With everything there it measures nothing more.
    assert_eq!(swept(&line), whole);
    assert_eq!(std::fs::read_to_string(&state).unwrap(), kept);
}

#[test]
fn a_state_that_does_not_fit_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.jsonl");
    let name = state.display();
    let line = format!("--windows 64k,128k --streams 1 --state {name}");
    swept(&format!("--simulate gigabit {line}"));
    let kept = std::fs::read(&state).unwrap();
    let refused = |line: &str, why: &str| {
        let (stdout, stderr, code) = told_text(&format!("sweep {line}"));
        assert_eq!((stdout.as_str(), code), ("", 1), "{line}");
        assert!(stderr.contains(why), "{line}: {stderr}");
        assert!(stderr.contains("tip: "), "{stderr}");
    };
    refused(&format!("--simulate white-space {line}"), "another sweep");
    refused(&format!("--simulate gigabit {line} --time 1s"), "plan.longest was 2.0, and is 1.0");
    refused(&format!("--simulate gigabit {line} --full"), "plan.full was false, and is true now");
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    let lines: Vec<&str> = std::str::from_utf8(&kept).unwrap().lines().collect();
    let hostile: [(&[u8], &str); 6] = [
        (b"not json\n", "not the state of a sweep"),
        (b"{\"schema\":\"windlass.lab/2\"}\n", "not the state of a sweep"),
        (b"\xff\xfe\n", "not the state of a sweep"),
        (b"no end of a line", "not the state of a sweep"),
        (b"{\"schema\":\"windlass.sweep-state/9\"}\n", "windlass.sweep-state/9"),
        (&[b'\n'; 1 << 16], "not the state of a sweep"),
    ];
    for (bytes, why) in hostile {
        std::fs::write(&state, bytes).unwrap();
        refused(&format!("--simulate gigabit {line}"), why);
        assert_eq!(std::fs::read(&state).unwrap(), bytes, "it is not ours to change");
    }
    for (third, why) in [
        (lines[1], "line 3: this was not asked for"),
        ("{}", "line 3: missing field"),
        ("", "line 3: "),
    ] {
        std::fs::write(&state, format!("{}\n{}\n{third}\n", lines[0], lines[1])).unwrap();
        refused(&format!("--simulate gigabit {line}"), why);
    }
    refused(
        &format!("--simulate gigabit --state {}", folder.path().display()),
        "cannot continue with",
    );
    refused("--simulate gigabit --state /nowhere/at/all", "cannot continue with /nowhere/at/all");
}

#[test]
fn two_sweeps_do_not_share_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.jsonl");
    let held = std::fs::File::create(&state).unwrap();
    held.lock().unwrap();
    let line = format!("sweep --simulate gigabit --state {}", state.display());
    let (stdout, stderr, code) = told_text(&line);
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("another sweep uses this file"), "{stderr}");
}

#[test]
fn what_cannot_be_written_is_an_error_and_what_was_measured_is_printed() {
    if !Path::new("/dev/full").exists() {
        windlass_testkit::skipped("what_cannot_be_written_is_an_error", "there is no /dev/full");
        return;
    }
    let quick = "sweep --simulate gigabit --windows 64k --streams 1";
    for file in ["--html /dev/full", "--csv /dev/full"] {
        let (stdout, stderr, code) = told_text(&format!("{quick} {file}"));
        assert_eq!(code, 1, "{file}");
        assert!(stdout.contains("Recommendation"), "{file}: {stdout}");
        assert!(stderr.contains("/dev/full: No space left on device"), "{file}: {stderr}");
    }
    for file in ["--html /nowhere/x.html", "--csv /nowhere/x.csv", "--html ."] {
        let (stdout, stderr, code) = told_text(&format!("{quick} {file}"));
        assert_eq!((stdout.as_str(), code), ("", 1), "{file}: before anything is measured");
        assert!(stderr.starts_with("error: cannot write the "), "{file}: {stderr}");
        assert!(!stderr.contains(".windlass-"), "{file}: {stderr}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let output =
        windlass().args(quick.split(' ')).arg("--html").arg(&page).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.ends_with("</html>\n"), "the page does not suffer");
}

#[test]
fn a_page_that_cannot_be_written_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, "old").unwrap();
    let line = format!("sweep --simulate nothing --html {}", page.display());
    let (_, stderr, code) = told_text(&line);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "old");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn ctrl_c_keeps_and_prints_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.jsonl");
    // A measurement of ten minutes at a rate that takes seconds of real time each.
    let mut command = windlass();
    command.args([
        "sweep",
        "--simulate",
        "gigabit",
        "--time",
        "10min",
        "--full",
        "--json",
        "--state",
    ]);
    command.arg(&state).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let lines = || std::fs::read_to_string(&state).map_or(0, |text| text.lines().count());
    let began = std::time::Instant::now();
    while lines() < 3 {
        assert!(began.elapsed().as_secs() < 120, "nothing is kept");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let status =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains(": interrupted after"), "{stderr}");
    assert!(stderr.contains("Run the same command to continue with"), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["complete"], false);
    assert!(points(&record).len() >= 2 && points(&record).len() < 10, "{record}");
    assert_eq!(points(&record).len() + 1, lines(), "what is printed is kept");
}

#[test]
fn each_measurement_is_a_line_as_it_comes() {
    let line = "sweep --simulate long-fat --windows 64k,256k --streams 1 --json-stream";
    let (stdout, stderr, code) = told_text(line);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let mut lines: Vec<&str> = stdout.lines().collect();
    let record = checked("sweep", lines.pop().unwrap());
    let events: Vec<Value> = lines.iter().map(|line| checked("sweep-stream", line)).collect();
    let (first, measured) = events.split_first().unwrap();
    assert_eq!((&first["event"], &first["name"]), (&json!("begins"), &json!("long-fat")));
    assert!(measured.iter().all(|one| one["event"] == "measurement"), "{measured:#?}");
    assert_eq!(record["measurements"], measured.len());
    assert_eq!(measured.last().unwrap()["spent_seconds"], record["spent_seconds"]);
    // Nothing is left to chance, so that a point is its one measurement.
    for point in record["points"].as_array().unwrap() {
        let keys = ["direction", "window_bytes", "streams", "asked_congestion"];
        let of_it = |one: &&Value| keys.iter().all(|key| one[*key] == point[*key]);
        let one = measured.iter().find(of_it).unwrap();
        for key in ["bits_per_second", "rtt_seconds", "retransmissions", "verdict", "because"] {
            assert_eq!(one[key], point[key], "{key} of {point:#}");
        }
    }
}

#[test]
fn what_cannot_be_asked_for_is_a_usage_error() {
    let lines = [
        ("--windows 4m..4k", "ends before it begins"),
        ("--windows 0", "the minimum size is 1 byte"),
        ("--windows 2g", "1,073,725,440"),
        ("--windows ..", "a range has two ends"),
        ("--windows 1..2..3", "write a size"),
        ("--streams 0", "0 is not allowed"),
        ("--streams 1..100000", "the maximum is 256"),
        ("--streams two", "1..32 or 1,2,10"),
        ("--repeat 0", "1..=100"),
        ("--time 0s", "the minimum time is 1ns"),
        ("--time 1h", "the maximum is 10 min 0 s"),
        ("--stream-window 2g", "1,073,725,440"),
        ("--direction sideways", "[possible values: up, down, both]"),
        ("--csv --html", "cannot all go to standard output"),
        ("--json --csv", "cannot all go to standard output"),
        ("--json-stream --html", "cannot all go to standard output"),
        ("--json-stream --live", "cannot be used with"),
    ];
    for (line, why) in lines {
        let (stdout, stderr, code) = told_text(&format!("sweep --simulate gigabit {line}"));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(why), "{line}: {stderr}");
    }
    let (_, stderr, code) = told_text("sweep --simulate nothing");
    assert!(
        code == 2 && stderr.contains("gigabit, white-space, white-space-radio, fading"),
        "{stderr}"
    );
    let (_, stderr, code) = told_text("sweep --simulate ./nothing.toml");
    assert!(code == 1 && stderr.contains("docs/sweep.md"), "{stderr}");
}

#[test]
fn a_sweep_reads_well() {
    for scenario in ["gigabit", "white-space", "white-space-radio", "fading-radio", "long-fat"] {
        let (text, stderr, code) = told_text(&format!("sweep --simulate {scenario} --time 1s"));
        assert_eq!((stderr.as_str(), code), ("", 0));
        insta::assert_snapshot!(format!("sweep {scenario}").replace(' ', "_"), text);
    }
}

#[test]
fn one_thing_is_recommended_with_its_steps() {
    let record = swept("--simulate long-fat");
    let chosen = &record["directions"][0]["recommendation"];
    let window = chosen["window_bytes"].as_u64().unwrap();
    let step = &chosen["steps"][0];
    assert_eq!((&step["side"], &step["host"]), (&json!("receiver"), &json!("the receiver")));
    let by = step["set_by"].as_str().unwrap();
    assert!(by.contains(&format!("SO_RCVBUF={window}, ")), "{by}");
    assert!(
        by.contains(&format!("{} as the third value of net.ipv4.tcp_rmem", 2 * window)),
        "{by}"
    );
    // It rests on the lower end of the interval.
    let low = number(&chosen["low_bits_per_second"]);
    assert!(low <= rate(chosen) && rate(chosen) <= number(&chosen["high_bits_per_second"]));
    let best = points(&record)
        .iter()
        .map(|point| rate(point) * (1.0 - point["half_width"].as_f64().unwrap_or(0.5)));
    assert!(low >= 0.975 * best.fold(0.0, f64::max), "{low}");
    // The text has one recommendation.
    let (stdout, stderr, code) = told(&run("sweep --simulate long-fat"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let heads = ["set  ", "on  ", "by  ", "brings  ", "costs  "];
    for head in heads {
        let lines = stdout.lines().filter(|line| line.trim_start().starts_with(head));
        assert_eq!(lines.count(), 1, "{head}: {stdout}");
    }
    assert!(!stdout.contains("low delay") && !stdout.contains("is sure to do as well"), "{stdout}");
}

#[test]
fn a_sweep_is_bounded_by_its_data() {
    for most in [50_000_000, 200_000_000] {
        let record = swept(&format!("--simulate long-fat --bytes {most}"));
        let sent = record["sent_bytes"].as_u64().unwrap();
        assert!(sent <= most && sent > most / 2, "{sent} of {most}");
        assert_eq!(record["plan"]["bytes"], most);
        assert!(record["directions"][0]["recommendation"].is_object());
    }
    let (_, stderr, code) = told(&run("sweep --simulate long-fat --bytes none"));
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn a_congestion_control_that_is_not_granted_is_said() {
    let record = swept("--simulate gigabit --congestion bbr,reno");
    let said = record["directions"][0]["not_granted"].as_str().unwrap();
    assert!(said.starts_with("bbr: the sender does not offer it. "), "{said}");
    let (stdout, _, _) = told(&run("sweep --simulate gigabit --congestion bbr"));
    assert!(stdout.contains("not granted  bbr: the sender does not offer it."), "{stdout}");
}
