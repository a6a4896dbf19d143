//! `windlass lab --real`: this system's own TCP against the emulated devices.
//!
//! All traffic stays in namespaces that the runs make. The devices' latency
//! decides the rates, so they hold on a busy machine.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use windlass_testkit::clock::{alone, in_real_time};
use windlass_testkit::figures::{Figure, figures, leaves};
use windlass_testkit::schema::fits;
use windlass_testkit::{run, skipped, told, windlass};

/// Returns whether transfers can run in real time here. If not, the test says that it is skipped.
fn possible(test: &str) -> bool {
    let (_, stderr, code) = told(&run("lab imagen --real --device imagen-v3.3 --bytes 20kB"));
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no namespace can be made"));
    }
    code == 0
}

fn real(line: &str) -> Vec<Value> {
    let (stdout, stderr, code) = told(&run(&format!("lab --json --real {line}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    fits("lab", &record);
    assert_eq!(record["real"], true);
    record["rows"].as_array().unwrap().clone()
}

fn cause(verdict: &Value) -> String {
    let word = |name: &str| verdict[name].as_str().unwrap_or("-").to_owned();
    format!("{} / {}", word("limit"), word("because"))
}

/// The real transfer is as fast as the simulated one.
fn near(row: &Value) {
    assert_eq!(row["ended"], "finished", "{row}");
    let difference = row["simulated_rate_difference"].as_f64().unwrap();
    assert!(difference.abs() < 0.10, "{difference}: {row}");
}

/// Checks that both verdicts have this cause.
fn alike(row: &Value, expected: &str) {
    near(row);
    assert_eq!(cause(&row["verdict"]), expected, "{row}");
    assert_eq!(cause(&row["simulated_verdict"]), expected, "{row}");
}

#[test]
fn linux_is_as_slow_against_an_h_ps1u_as_the_simulation() {
    if !possible("linux_is_as_slow_against_an_h_ps1u_as_the_simulation") {
        return;
    }
    in_real_time("linux_is_as_slow_against_an_h_ps1u_as_the_simulation", || {
        let rows = real("print-servers --device H-PS1U");
        alike(&rows[0], "receiver-window / ack-latency");
        // Some 6 s, and what the document has.
        assert!((4.0..9.0).contains(&rows[0]["seconds"].as_f64().unwrap()), "{}", rows[0]);
        assert!(rows[0]["rate_difference"].as_f64().unwrap().abs() < 0.10, "{}", rows[0]);
        // LPR was answered: its job has 150,000 bytes and not less.
        assert_eq!(rows[0]["method"], "lpr");
        assert!(rows[0]["bytes"].as_u64().unwrap() > 100_000);
    });
}

#[test]
fn windows_below_a_segment_hold_linux_back_as_they_do_the_simulation() {
    if !possible("windows_below_a_segment_hold_linux_back_as_they_do_the_simulation") {
        return;
    }
    in_real_time("windows_below_a_segment_hold_linux_back_as_they_do_the_simulation", || {
        for device in ["netgear-ps101", "linksys-ppsx1"] {
            let rows = real(&format!("print-servers --device {device} --bytes 200kB"));
            alike(&rows[0], "receiver-window / window-below-mss");
        }
    });
}

#[test]
fn an_imagen_is_slow_to_linux_with_a_send_buffer_below_its_window() {
    if !possible("an_imagen_is_slow_to_linux_with_a_send_buffer_below_its_window") {
        return;
    }
    in_real_time("an_imagen_is_slow_to_linux_with_a_send_buffer_below_its_window", || {
        let rows = real("imagen --device imagen-v2 --bytes 62kB");
        let (slow, cured) = (&rows[0], &rows[1]);
        alike(slow, "send-buffer / delayed-ack");
        assert_eq!(slow["send_buffer_bytes"], 2_048);
        assert_eq!(slow["held_send_buffer_bytes"], 2_048);
        // The document: "close to 4 Kbytes".
        assert!(slow["rate_difference"].as_f64().unwrap().abs() < 0.10, "{slow}");
        // The cure: N >= M. Of 62 kB at the line's rate the handshake is a part.
        assert_eq!(cured["granted_send_buffer_bytes"], 12_288, "Linux doubles it");
        assert!(cured["bytes_per_second"].as_f64().unwrap() > 100e3, "{cured}");
    });
}

#[test]
fn a_line_that_both_ways_share_is_as_slow_as_the_simulated_one() {
    let test = "a_line_that_both_ways_share_is_as_slow_as_the_simulated_one";
    if !possible(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("radio.toml");
    let text = "title = \"Radio\"\nshows = \"Both ways take turns\"\nbytes = \"800kB\"\n\
                link = { rate = \"10 Mb/s\", delay = \"1 ms\", half-duplex = { access = \"1 ms\" } }\n\
                [[row]]\ndevice = \"healthy\"\nmethod = \"raw\"\n";
    fs::write(&file, text).unwrap();
    in_real_time(test, || {
        let rows = real(&format!("{} --bytes 800kB", file.display()));
        alike(&rows[0], "path-capacity / queue");
        // Two segments of 1.23 ms, an ACK, and a millisecond before each of the three; a line of
        // its own for each way gives 1.19 MB/s.
        let rate = rows[0]["bytes_per_second"].as_f64().unwrap();
        assert!((480e3..570e3).contains(&rate), "{}", rows[0]);
    });
}

#[test]
fn a_capture_in_real_time_gives_the_same_verdict() {
    if !possible("a_capture_in_real_time_gives_the_same_verdict") {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().display();
    let rows =
        real(&format!("small-stacks --device zephyr-delayed-ack --bytes 60kB --keep {keep}"));
    let capture = rows[0]["capture"].as_str().unwrap();
    let (stdout, ..) = told(&run(&format!("explain --json {capture}")));
    let explained: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(explained["connections"][0]["verdict"], rows[0]["verdict"]);
    assert_eq!(explained["totals"]["segments"], rows[0]["segments"]);
}

#[test]
fn the_text_says_both_rates() {
    if !possible("the_text_says_both_rates") {
        return;
    }
    let _alone = alone();
    // Two runs are not alike: the words are looked at, and that no figure of
    // another kind is there.
    let (stdout, stderr, code) = told(&run("lab imagen --real --bytes 9kB --device imagen-v2"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Compared with the simulation",
        "a send buffer of 2,048 B was asked for. The kernel granted 2,048 B",
        "a send buffer of 6,144 B was asked for. The kernel granted 12,288 B",
        "In real time: sent by this system's TCP with cubic.",
    ] {
        assert!(words.contains(part), "{part}: {stdout}");
    }
    // The figures that do not depend on the clock are in the JSON.
    let (mut numbers, mut strings) = (Vec::new(), String::new());
    let record = serde_json::to_value(real("imagen --bytes 9kB --device imagen-v2")).unwrap();
    leaves(&record, &mut numbers, &mut strings);
    for part in ["9,000 B", "2,048 B", "12,288 B", "6,144 B"] {
        let Figure { value, scale, .. } = figures(part).remove(0);
        assert!(stdout.contains(part), "{part}: {stdout}");
        assert!(numbers.contains(&(value * scale)), "{part}: {record}");
    }
}

#[test]
fn ctrl_c_keeps_the_rows_that_are_done() {
    if !possible("ctrl_c_keeps_the_rows_that_are_done") {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    // The second row takes 6 s.
    fs::write(
        &file,
        "title = \"Two\"\nshows = \"Two transfers\"\nbytes = \"3 MB\"\n\
         [[row]]\ndevice = \"zephyr-delayed-ack\"\nmethod = \"raw\"\nbytes = \"9kB\"\n\
         [[row]]\ndevice = \"hawking-h-ps1u\"\nmethod = \"lpr\"\n",
    )
    .unwrap();
    let keep = folder.path().join("captures");
    let mut child = windlass()
        .args(["lab", "--json", "--real", "--bytes", "150kB", "--keep"])
        .args([&keep, &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first capture has its name when the first row is done: 5 s.
    let first = keep.join("zephyr-delayed-ack-raw.pcap");
    let began = Instant::now();
    while !first.exists() && began.elapsed() < Duration::from_secs(60) {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("interrupted after 1 of 2 transfers"), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    fits("lab", &record);
    assert_eq!(record["rows"].as_array().unwrap().len(), 1);
    // Nothing is left of the capture that was under way.
    assert_eq!(fs::read_dir(&keep).unwrap().count(), 1);
}
