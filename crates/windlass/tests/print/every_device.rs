//! Each device of the lab by each protocol: the rate that it has, and what
//! `--explain` finds in the packets.
//!
//! All traffic is in networks that the runs make. The devices wait far more than
//! they work, so a slow one runs three times at once.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::devices::cause;
use super::judged;
use windlass_testkit::{clock, devices, run, schema, told, windlass};

/// Source of a device's rate.
enum Rate {
    /// A figure of a document, in bytes a second.
    Documented(f64),
    /// That of as many bytes to the same device in this scenario of the lab, in
    /// virtual time.
    Lab(&'static str),
    /// By LPR and IPP another one than by raw printing; the row says why.
    Each { raw: f64, lpr: f64, ipp: f64 },
}

/// A device, and what is to come of a job.
struct Row {
    profile: &'static str,
    /// Its raw port.
    raw: u16,
    /// Options of `device run`.
    device: &'static str,
    /// Send buffers of the system, if they are not Linux's own.
    send_buffer: Option<u32>,
    bytes: u64,
    rate: Rate,
    /// Maximum error of the rate, as a share.
    tolerance: f64,
    /// Cause by the packets.
    cause: &'static str,
}

/// The link of the scenario `small-stacks`. That of `print-servers` is the default.
const SMALL_STACKS: &str = "--rate 20mbit --rtt 4ms";

const fn row(profile: &'static str, bytes: u64, rate: Rate, cause: &'static str) -> Row {
    let (raw, device, send_buffer, tolerance) = (9_100, "", None, 0.1);
    Row { profile, raw, device, send_buffer, bytes, rate, tolerance, cause }
}

/// Devices whose times are long beside what this machine takes for a packet: a
/// device runs three times at once.
const SLOW: [Row; 5] = [
    // The document has 24,801 B/s by the trace, which the table rounds.
    row("hawking-h-ps1u", 60_000, Rate::Documented(24_801.0), "receiver-window / ack-latency"),
    Row {
        device: SMALL_STACKS,
        ..row(
            "zephyr-delayed-ack",
            60_000,
            Rate::Lab("small-stacks"),
            "receiver-window / ack-latency",
        )
    },
    Row {
        device: SMALL_STACKS,
        tolerance: 0.15,
        ..row(
            "kallistios-update-at-zero",
            150_000,
            Rate::Lab("small-stacks"),
            "zero-window / no-window-update",
        )
    },
    // "Close to 4 Kbytes or 32 Kbits/second": 2 N, with N = 2,048. Linux does not wait
    // for the first few ACKs: its timer of 200 ms fires, and what it sends again brings
    // them early, until it has learned how late they come.
    Row {
        raw: 35,
        send_buffer: Some(2_048),
        tolerance: 0.15,
        ..row("imagen-v2", 28_000, Rate::Documented(4_096.0), "send-buffer / delayed-ack")
    },
    // The report's sender probes after 100 ms, Linux after 200: 1,280 bytes for each
    // but the first, and the path's round trip twice. The lines of LPR and the head of
    // IPP leave a part of the window that is no whole segment, for good. Linux fills
    // that after 300 ms, and each ACK takes the timer's 100: 1,920 bytes for four of
    // these and two waits, or a little more where the parts fall otherwise.
    Row {
        device: SMALL_STACKS,
        tolerance: 0.2,
        ..row(
            "zephyr-no-window-update",
            12_800,
            Rate::Each { raw: 6_500.0, lpr: 1_900.0, ipp: 1_950.0 },
            "zero-window / no-window-update",
        )
    },
];

/// Devices that take a segment each 12 ms and more often: they run alone.
const FAST: [Row; 9] = [
    // The document has 58 kB/s of a transfer with stalls, of which this is the time
    // between two: 84 kB/s by the trace's window and times.
    Row {
        tolerance: 0.12,
        ..row(
            "netgear-ps101",
            150_000,
            Rate::Documented(84_000.0),
            "receiver-window / window-below-mss",
        )
    },
    // As well without its stalls: 22,226,432 bytes in the table's 156 s less seven of
    // 2.024 s.
    Row {
        tolerance: 0.12,
        ..row(
            "linksys-ppsx1",
            250_000,
            Rate::Documented(156_700.0),
            "receiver-window / window-below-mss",
        )
    },
    // Its buffer of 64 kB is full before it has read, which is a part of a short job.
    row(
        "troy-pocketpro-100s",
        1_200_000,
        Rate::Documented(798e3),
        "application / receiver-limited",
    ),
    row(
        "hp-laserjet-4100n-lpr",
        1_500_000,
        Rate::Documented(966e3),
        "application / receiver-limited",
    ),
    row(
        "hp-laserjet-4100n-raw",
        3_000_000,
        Rate::Documented(1_986e3),
        "application / receiver-limited",
    ),
    // "The bug is fixed": the line is full.
    Row {
        raw: 35,
        device: "--rate 10mbit",
        ..row("imagen-v3.3", 1_000_000, Rate::Lab("imagen"), "path-capacity / queue")
    },
    // A window for each round trip of 6 ms, to which a busy machine adds its own.
    Row {
        device: SMALL_STACKS,
        tolerance: 0.25,
        ..row("esp8266-2-mss", 500_000, Rate::Lab("small-stacks"), "receiver-window / path-rtt")
    },
    Row {
        device: SMALL_STACKS,
        tolerance: 0.25,
        ..row("lwip-default", 1_000_000, Rate::Lab("small-stacks"), "receiver-window / path-rtt")
    },
    Row {
        device: SMALL_STACKS,
        ..row("healthy", 3_000_000, Rate::Lab("small-stacks"), "path-capacity / queue")
    },
];

/// Script that sets the send buffer: each network namespace has its own.
const BUFFER: &str = r#"echo "$0 $0 $0" > /proc/sys/net/ipv4/tcp_wmem && exec "$@""#;

/// The protocols, and where each is to be found.
fn targets(row: &Row) -> [(&'static str, String); 3] {
    [
        ("raw", format!("socket://192.0.2.2:{}", row.raw)),
        ("lpr", "lpd://192.0.2.2/lp".to_owned()),
        ("ipp", "ipp://192.0.2.2".to_owned()),
    ]
}

/// The rate that a device has by a protocol.
fn expected(row: &Row, protocol: &str) -> f64 {
    match row.rate {
        Rate::Documented(rate) => rate,
        Rate::Each { raw, lpr, ipp } => match protocol {
            "raw" => raw,
            "lpr" => lpr,
            _ => ipp,
        },
        Rate::Lab(scenario) => {
            let line =
                format!("lab --json {scenario} --device {} --bytes {}", row.profile, row.bytes);
            let (stdout, stderr, code) = told(&run(&line));
            assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
            let record: Value = serde_json::from_str(&stdout).unwrap();
            record["rows"][0]["bytes_per_second"].as_f64().unwrap()
        }
    }
}

/// Prints to a device by a protocol.
fn print_by(row: &Row, protocol: &str, target: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("device.json");
    let mut command = windlass();
    command.args(["device", "run", row.profile, "--json", "--report"]).arg(&file);
    command.args(row.device.split_whitespace()).arg("--");
    if let Some(bytes) = row.send_buffer {
        command.args(["sh", "-c", BUFFER, &bytes.to_string()]);
    }
    // The rates are those of cubic, as in the lab: BBR has a pace of its own.
    let output = command
        .arg(env!("CARGO_BIN_EXE_windlass"))
        .args(["print", "--json", target, "--explain", "--congestion", "cubic"])
        .args(["--payload", "zeros", "--bytes", &row.bytes.to_string()])
        .output()
        .unwrap();
    let printed = judged(&output, Duration::ZERO);
    let what = format!("{} by {protocol}", row.profile);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{what}");
    let (report, transfer) = (&printed.report, &printed.report["transfer"]);

    // The device has all of it, and counts the job where the protocol knows one.
    let device: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    schema::fits("device-run", &device);
    let bytes = Value::from(row.bytes);
    assert_eq!(transfer["acknowledged_bytes"], bytes, "{what}");
    let counted =
        |name: &str, count: &str| (device[name][count].clone(), device[name]["data_bytes"].clone());
    let (one, none) = ((1.into(), bytes), (0.into(), 0.into()));
    let is = |name: &str| if name == protocol { &one } else { &none };
    assert_eq!(counted("lpr", "data_files"), *is("lpr"), "{what}");
    assert_eq!(counted("ipp", "documents"), *is("ipp"), "{what}");

    let verdict = &report["packets"]["connection"]["verdict"];
    assert_eq!(cause(verdict), row.cause, "{what}: {verdict:#}");
    // One verdict, of both measures: what the kernel leaves open it says, and where it is
    // sure it is right.
    assert_eq!(
        (cause(&report["verdict"]), &report["verdict_by"]),
        (row.cause.to_owned(), &"packets".into()),
        "{what}"
    );
    let kernel = &report["kernel_verdict"];
    let open = kernel["between"].as_array().unwrap();
    let is_right = open.iter().chain([kernel]).any(|one| cause(one) == row.cause);
    assert!(is_right || kernel["confidence"] == "low" && open.is_empty(), "{what}: {kernel:#}");
    let (rate, expected) =
        (transfer["bytes_per_second"].as_f64().unwrap(), expected(row, protocol));
    let difference = rate / expected - 1.0;
    assert!(
        difference.abs() < row.tolerance,
        "{what}: {rate:.0} B/s, {expected:.0} expected, {:+.0} %",
        difference * 100.0
    );
}

#[test]
fn the_table_has_every_device() {
    let (stdout, ..) = told(&run("lab --json"));
    let list: Value = serde_json::from_str(&stdout).unwrap();
    let built_in: BTreeSet<&str> = list["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let table: BTreeSet<&str> = SLOW.iter().chain(&FAST).map(|row| row.profile).collect();
    assert_eq!(table, built_in);
}

#[test]
fn each_protocol_finds_the_rate_and_the_limit_of_a_slow_device() {
    let test = "each_protocol_finds_the_rate_and_the_limit_of_a_slow_device";
    if !devices(test) {
        return;
    }
    for row in &SLOW {
        clock::in_real_time(test, || {
            thread::scope(|scope| {
                let all = targets(row).map(|(protocol, target)| {
                    scope.spawn(move || print_by(row, protocol, &target))
                });
                // The first that failed tells why.
                for one in all {
                    if let Err(failure) = one.join() {
                        std::panic::resume_unwind(failure);
                    }
                }
            });
        });
    }
}

#[test]
fn each_protocol_finds_the_rate_and_the_limit_of_a_fast_device() {
    let test = "each_protocol_finds_the_rate_and_the_limit_of_a_fast_device";
    if !devices(test) {
        return;
    }
    for row in &FAST {
        for (protocol, target) in targets(row) {
            clock::in_real_time(test, || print_by(row, protocol, &target));
        }
    }
}
