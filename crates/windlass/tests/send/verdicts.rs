//! The verdicts of `windlass send` on paths on which the cause is made, by each congestion
//! control, and its promises, each of them tried.
//!
//! All traffic stays in namespaces that the runs make. The controls of a path run side by side:
//! together they take a part of what the machine carries.

use std::thread;

use serde_json::Value;

use windlass_testkit::clock::in_real_time;
use windlass_testkit::linked;
use windlass_testkit::{has, is_root, skipped};

/// The congestion controls that are tried, where the kernel has them.
const CONTROLS: [&str; 3] = ["bbr", "cubic", "reno"];

/// Duration of an interruption of the path.
const OUTAGE: &str = "1.5";

/// A path, a transfer over it, and what holds that by the way it is made.
struct Case {
    name: &'static str,
    link: &'static str,
    send: &'static str,
    /// After so many bytes have come, nothing does for [`OUTAGE`].
    interrupted_after: Option<u64>,
    /// The causes that were made, for each control that is not in `others`.
    causes: &'static [&'static str],
    /// Those for which the same path makes another cause.
    others: &'static [(&'static str, &'static [&'static str])],
}

const FULL: Case = Case {
    name: "a full path",
    link: "--rate 20mbit --rtt 20ms",
    send: "--time 3s",
    interrupted_after: None,
    causes: &["path-capacity/queue"],
    others: &[],
};

const SHALLOW: Case = Case {
    name: "a full path with a queue of ten packets",
    link: "--rate 20mbit --rtt 20ms --queue 15k",
    // A tenth of a product: what regains its rate after each loss is at the path's most times.
    causes: &["path-capacity/queue", "congestion-window/after-loss"],
    others: &[("bbr", &["path-capacity/queue"])],
    ..FULL
};

const BLOATED: Case = Case {
    name: "a full path with a queue of eight products",
    link: "--rate 20mbit --rtt 20ms --queue 400k",
    ..FULL
};

const TOGETHER: Case =
    Case { name: "a path that four streams fill", send: "--time 3s --streams 4", ..FULL };

const LOSSY: Case = Case {
    name: "a path that loses 3 %",
    link: "--rate 20mbit --rtt 20ms --up-loss 3%",
    causes: &["loss/fast-recovery", "loss/timeout"],
    // It does not heed that, and fills the path.
    others: &[("bbr", &["path-capacity/queue"])],
    ..FULL
};

const INTERRUPTED: Case = Case {
    name: "an interrupted path",
    send: "--time 5s",
    interrupted_after: Some(2_000_000),
    causes: &["loss/timeout"],
    ..FULL
};

const PACED: Case = Case {
    name: "a pace",
    send: "--time 2s --pace 5mbit",
    causes: &["application/sender-idle"],
    ..FULL
};

const SHORT: Case = Case {
    name: "a transfer of a few round trips",
    link: "--rate 20mbit --rtt 60ms",
    send: "--bytes 150k",
    causes: &["congestion-window/slow-start"],
    ..FULL
};

const SMALL_WINDOW: Case = Case {
    name: "a window of 6 KiB",
    link: "--rate 20mbit --rtt 20ms",
    send: "--time 3s --window 6k",
    causes: &["receiver-window/path-rtt"],
    ..FULL
};

const SMALL_WINDOWS: Case = Case {
    name: "32 streams of small windows",
    link: "--rate 50mbit --rtt 30ms",
    // 32 × 4 KiB in 30 ms are 35 Mbit/s.
    send: "--time 3s --window 4k --streams 32",
    causes: &["receiver-window/path-rtt"],
    ..FULL
};

const WINDOW: Case = Case {
    name: "a window of half a product",
    link: "--rate 30mbit --rtt 20ms",
    send: "--time 2s --window 40k",
    causes: &["receiver-window/path-rtt"],
    ..FULL
};

const BUFFER: Case = Case {
    name: "a small send buffer",
    link: "--rate 40mbit --rtt 30ms",
    send: "--time 2s --omit 1s --send-buffer 8k",
    causes: &["send-buffer/path-rtt"],
    ..FULL
};

/// The controls that may be chosen here. What may not is skipped by name.
fn controls(test: &str) -> Vec<&'static str> {
    let which = if is_root() { "available" } else { "allowed" };
    let file = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    let there = std::fs::read_to_string(file).unwrap_or_default();
    let (are, are_not): (Vec<&str>, Vec<&str>) =
        CONTROLS.iter().partition(|control| there.split_whitespace().any(|one| one == **control));
    for control in are_not {
        skipped(&format!("{test} by {control}"), "this kernel does not let it be chosen");
    }
    are
}

/// The peer of a link: a server, and a path that is interrupted once that much has come. Without
/// its address, nothing that comes is for this host.
fn peer(interrupted_after: Option<u64>) -> String {
    let serve = format!("'{}' serve --once", env!("CARGO_BIN_EXE_windlass"));
    let Some(bytes) = interrupted_after else { return serve };
    format!(
        "{serve} & serving=$!
        set -- $(ip -o -4 addr | awk '$4 ~ /^192.0.2.2/ {{ print $2, $4 }}')
        until [ \"$(awk -v at=\"$1:\" '$1 == at {{ print $2 }}' /proc/net/dev)\" -gt {bytes} ]
        do sleep 0.02; done
        ip addr del \"$2\" dev \"$1\"; sleep {OUTAGE}; ip addr add \"$2\" dev \"$1\"
        wait $serving"
    )
}

/// The record of a transfer; nothing where links cannot be made.
fn sent(test: &str, case: &Case, send: &str, control: &str) -> Option<Value> {
    let send = format!("--congestion {control} {send}");
    linked::sent(test, case.link, &peer(case.interrupted_after), &send)
}

fn verdict(record: &Value) -> &Value {
    &record["directions"][0]["verdict"]
}

fn named(record: &Value) -> String {
    let (limit, because) = (&verdict(record)["limit"], &verdict(record)["because"]);
    let because = because.as_str().map(|because| format!("/{because}")).unwrap_or_default();
    format!("{}{because}", limit.as_str().unwrap())
}

fn rate(record: &Value) -> f64 {
    record["directions"][0]["receiver"]["bytes_per_second"].as_f64().unwrap()
}

/// Returns whether the requirements of the test are met.
fn can(test: &str, case: &Case) -> bool {
    case.interrupted_after.is_none() || has("ip", test)
}

/// Makes each cause by each control, side by side, and holds the verdicts to them.
fn hold(test: &str, cases: &[&Case]) {
    if !cases.iter().all(|case| can(test, case)) {
        return;
    }
    let controls = controls(test);
    in_real_time(test, || {
        let all =
            cases.iter().flat_map(|case| controls.iter().map(move |control| (*case, *control)));
        let wrong: Vec<String> = thread::scope(|scope| {
            let run = |(case, control)| scope.spawn(move || wrong(test, case, control));
            let runs: Vec<_> = all.map(run).collect();
            runs.into_iter().filter_map(|run| run.join().unwrap()).collect()
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Returns the error of a verdict; `None` if the verdict is the injected cause.
fn wrong(test: &str, case: &Case, control: &str) -> Option<String> {
    let record = sent(test, case, case.send, control)?;
    let made = case.others.iter().find(|(other, _)| *other == control);
    let made = made.map_or(case.causes, |(_, causes)| causes);
    let (told, verdict) = (named(&record), verdict(&record));
    // None of these leaves it open, so neither may the verdict.
    let is_right = made.contains(&told.as_str());
    let promises = verdict["remedies"].as_array().unwrap().iter();
    let line = line(case);
    let beyond = promises
        .filter(|remedy| remedy["expected_bytes_per_second"].as_f64().is_some_and(|it| it > line));
    let beyond: Vec<_> = beyond.map(|remedy| remedy["action"].clone()).collect();
    (!is_right || !beyond.is_empty()).then(|| {
        format!(
            "{}, {control}: {told}, confidence {}, and not {}; promised beyond the line: {beyond:?}\n\
             {:#}\n{:#}",
            case.name,
            verdict["confidence"],
            made.join(" or "),
            record["directions"][0]["kernel"],
            record["latency"]
        )
    })
}

/// The rate of the line, in bytes a second.
fn line(case: &Case) -> f64 {
    let words: Vec<&str> = case.link.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "--rate").unwrap();
    let mbit: f64 = words[place + 1].trim_end_matches("mbit").parse().unwrap();
    mbit * 1e6 / 8.0
}

#[test]
fn a_full_path_and_one_with_a_short_queue_are_told() {
    hold("a_full_path_and_one_with_a_short_queue_are_told", &[&FULL, &SHALLOW]);
}

#[test]
fn a_path_with_a_long_queue_and_one_that_several_fill_are_told() {
    hold("a_path_with_a_long_queue_and_one_that_several_fill_are_told", &[&BLOATED, &TOGETHER]);
}

#[test]
fn loss_a_pace_and_a_start_are_told() {
    hold("loss_a_pace_and_a_start_are_told", &[&LOSSY, &PACED, &SHORT]);
}

#[test]
fn an_outage_and_a_window_of_four_segments_are_told() {
    hold("an_outage_and_a_window_of_four_segments_are_told", &[&INTERRUPTED, &SMALL_WINDOW]);
}

#[test]
fn many_small_windows_fill_no_path() {
    hold("many_small_windows_fill_no_path", &[&SMALL_WINDOWS]);
}

/// A promise is one within this share of what comes of the change.
const WITHIN: f64 = 0.15;

/// A rate at the bound may be above it by so much: a transfer has its own start and end.
const AT_BOUND: f64 = 1.05;

#[test]
fn promises_are_kept_and_bounds_hold() {
    let test = "promises_are_kept_and_bounds_hold";
    for case in [&WINDOW, &BUFFER, &INTERRUPTED] {
        if !can(test, case) {
            continue;
        }
        let controls = controls(test);
        in_real_time(test, || {
            thread::scope(|scope| {
                // Reno promises as CUBIC does.
                for control in controls.iter().filter(|control| **control != "reno") {
                    scope.spawn(|| all_tried(test, case, control));
                }
            });
        });
    }
}

/// Makes each change that a transfer's verdict asks for, side by side.
fn all_tried(test: &str, case: &Case, control: &str) {
    let Some(before) = sent(test, case, case.send, control) else { return };
    let told = named(&before);
    assert!(case.causes.contains(&told.as_str()), "{}: {told}", case.name);
    let remedies = verdict(&before)["remedies"].as_array().unwrap();
    assert!(!remedies.is_empty(), "{}", case.name);
    thread::scope(|scope| {
        for remedy in remedies {
            scope.spawn(|| tried(test, case, control, (remedy, rate(&before))));
        }
    });
}

/// Makes the change that a remedy asks for, and holds what it says to what comes of it.
fn tried(test: &str, case: &Case, control: &str, (remedy, before): (&Value, f64)) {
    let is_interrupted = case.interrupted_after.is_some();
    let value = || remedy["value"].as_f64().unwrap().to_string();
    let unit = remedy["unit"].as_str();
    let (change, case) = match (remedy["side"].as_str().unwrap(), unit) {
        ("receiver", Some("bytes")) => (format!("--peer-window {}", value()), case),
        ("sender", Some("bytes")) => (format!("--send-buffer {}", value()), case),
        ("sender", Some("count")) => (format!("--streams {}", value()), case),
        ("path", None) if is_interrupted => {
            (String::new(), &Case { interrupted_after: None, ..*case })
        }
        other => panic!("{}: no way to try {other:?}", case.name),
    };
    // A size that is given again takes the place of the one before.
    let taken = change.split(' ').next().unwrap().trim_start_matches("--peer");
    let taken = taken.trim_start_matches('-');
    let mut words = Vec::new();
    let mut all = case.send.split(' ');
    while let Some(word) = all.next() {
        if !taken.is_empty() && word.trim_start_matches('-') == taken {
            all.next();
        } else {
            words.push(word);
        }
    }
    let send = format!("{} {change}", words.join(" "));
    let Some(after) = sent(test, case, send.trim(), control) else { return };
    let said = format!("{}, {control}: {} brought {}", case.name, remedy["action"], rate(&after));
    assert!(rate(&after) > before, "{said}, before {before}");
    match remedy["expected_bytes_per_second"].as_f64() {
        Some(expected) => {
            let off = (rate(&after) / expected - 1.0).abs();
            assert!(off <= WITHIN, "{said}, expected {expected}");
        }
        // Of the others nothing that was measured shows what the line carries.
        None => assert!(!is_interrupted, "{said}, and nothing was promised: {remedy:#}"),
    }
    if let Some(most) = remedy["at_most_bytes_per_second"].as_f64() {
        assert!(rate(&after) <= most * AT_BOUND, "{said}, at most {most}");
    }
}
