//! `windlass law`: its answers, its JSON against the schema, its errors.

use serde_json::Value;

use windlass_testkit::schema::{fits, validator};
use windlass_testkit::{run, told};

/// Every law, each way.
const WAYS: [&str; 20] = [
    "window --window 2920 --time 117695us",
    "window --rate 10MB/s --time 36ms",
    "window --rate 1MB/s --window 64KiB",
    "window --rate 100gbit --rtt 200ms",
    "send-buffer --buffer 2048 --ack-delay 500ms",
    "send-buffer --rate 100kB/s --ack-delay 200ms",
    "send-buffer --buffer 8192 --rate 40kB/s",
    "bdp --rate 1gbit --rtt 2.55ms",
    "bdp --window 64KiB --rtt 20ms",
    "bdp --window 64KiB --rate 100mbit",
    "streams --rate 1gbit --rtt 2.55ms --window 56kB",
    "streams --rate 1gbit --rtt 2.55ms --window 56kB --streams 4",
    "streams --rate 1gbit --rtt 2.55ms --streams 4",
    "line --rate 1gbit --timestamps",
    "line --rate 10mbit --half-duplex",
    "line --goodput 110MB/s --mtu 9000 --ipv6",
    "line --goodput 1MB/s --half-duplex --segments-per-ack 1",
    "loss --mss 1460 --rtt 370ms --loss 3.7%",
    "loss --rtt 100ms --loss 0.01 --window 2920 --timeout 300ms",
    "loss --mss 1460 --rtt 20ms --rate 100mbit",
];

fn json(way: &str) -> Value {
    let (stdout, stderr, code) = told(&run(&format!("law {way} --json")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{way}");
    serde_json::from_str(&stdout).unwrap()
}

fn result(way: &str) -> f64 {
    json(way)["results"][0]["value"].as_f64().unwrap()
}

#[test]
fn the_answers_read_well() {
    let mut page = String::new();
    for way in WAYS {
        let (stdout, stderr, code) = told(&run(&format!("law {way}")));
        assert_eq!((stderr.as_str(), code), ("", 0), "{way}");
        page.push_str(&format!("$ windlass law {way}\n{stdout}\n"));
    }
    insta::assert_snapshot!("law_answers", page.trim_end());
}

#[test]
fn the_json_fits_its_schema() {
    for way in WAYS {
        fits("law", &json(way));
    }
    let mut wrong = json(WAYS[0]);
    wrong["results"][0]["unit"] = "furlongs".into();
    assert!(!validator("law").is_valid(&wrong), "the schema must refuse what is wrong");
}

#[test]
fn the_documents_figures_come_out() {
    for (way, documented, tolerance) in [
        (WAYS[0], 24_801.0, 0.001),
        (WAYS[4], 4_096.0, 0.0),
        (WAYS[7], 319_000.0, 0.001),
        (WAYS[10], 6.0, 0.0),
        (WAYS[13], 117_685_000.0, 0.000_1),
        (WAYS[14], 1_155_063.0, 0.000_1),
    ] {
        let off: f64 = (result(way) - documented) / documented;
        assert!(off.abs() <= tolerance, "{way}: {off}");
    }
}

#[test]
fn a_law_holds_both_ways() {
    // What comes out, put in again, gives what was put in.
    let window = result("window --rate 10MB/s --time 36ms");
    let rate = result(&format!("window --window {window} --time 36ms"));
    assert!((rate - 1e7).abs() < 1.0, "{rate}");
    let goodput = result("line --rate 1gbit --timestamps");
    let link = result(&format!("line --goodput {goodput:.3}B/s --timestamps"));
    assert!((link - 1.25e8).abs() < 1.0, "{link}");
    let loss = result("loss --rtt 20ms --rate 100mbit");
    let rate = result(&format!("loss --rtt 20ms --loss {loss:.12}"));
    assert!((rate / 1.25e7 - 1.0).abs() < 1e-6, "{rate}");
}

#[test]
fn wrong_values_say_what_is_allowed() {
    for (line, said) in [
        ("window --window 12x --time 1ms", "write a size as 2920, 2920B, 56kB"),
        ("window --window 2920 --time 5sec", "write a time with its unit, as 117695us"),
        ("window --rate 10MB --time 5ms", "write a rate with its unit, as 10MB/s"),
        ("loss --rtt 5ms --loss 3.7", "write 3.7% for a percentage"),
        ("loss --rtt 5ms", "--loss <SHARE>"),
        ("window --window 2920", "it takes two of --window, --time and --rate"),
        ("window -w 1k -t 1ms -r 1MB/s", "it takes two of --window, --time and --rate"),
        ("streams --rate 1gbit --rtt 1ms", "with --window, --streams or both"),
        ("bdp --window 1000000GB --rate 1bit", "the round trip would be out of range"),
        ("line --rate 1gbit --mtu 20", "20 is not in 128..=65535"),
        ("tide --rate 1gbit", "unrecognized subcommand 'tide'"),
    ] {
        let (stdout, stderr, code) = told(&run(&format!("law {line}")));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
}
