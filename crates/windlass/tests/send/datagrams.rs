//! Tests over UDP: on the loopback, and over links that lose, delay and reorder.

use serde_json::Value;

use crate::serving::WindlassServer;
use crate::{checked, number};
use windlass_testkit::clock::{at_once, in_real_time};
use windlass_testkit::linked::sent;
use windlass_testkit::{told, windlass};

/// The report of a test on the loopback that went well.
fn report(serving: &WindlassServer, options: &str) -> Value {
    let mut command = windlass();
    command.args(["send", "127.0.0.1", "--port", &serving.port, "--udp", "--json"]);
    let (stdout, stderr, code) = told(&command.args(options.split_whitespace()).output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""), "{options}: {stdout}");
    checked("send", &stdout)
}

fn whole(record: &Value, pointer: &str) -> u64 {
    let found = record.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no count at {pointer} of {record:#}"))
}

/// Each that was sent came, or is told as lost.
fn accounted(report: &Value, way: usize) {
    let at = |name: &str| whole(report, &format!("/directions/{way}/{name}"));
    let sent = at("sender/datagrams/count");
    assert_eq!(at("receiver/datagrams/sent"), sent);
    assert_eq!(at("receiver/datagrams/count") + at("receiver/datagrams/lost"), sent);
    assert_eq!(at("receiver/datagrams/duplicates"), 0);
    assert_eq!(at("receiver/datagrams/out_of_order"), 0);
    // The loopback loses nothing: what is missing, the socket had no room for.
    assert_eq!(at("receiver/datagrams/lost"), at("receiver/datagrams/overflowed"));
    assert_eq!(report["directions"][way]["verdict"], Value::Null);
}

#[test]
fn datagrams_are_counted_each_way() {
    let serving = WindlassServer::start(&["--json"]);
    for options in ["", "--streams 3", "--reverse", "--bidirectional --streams 2"] {
        let report = report(&serving, &format!("{options} --bytes 4000x500 --rate 40mbit"));
        let ways = report["directions"].as_array().unwrap().len();
        assert_eq!(ways, if options.starts_with("--bi") { 2 } else { 1 });
        for way in 0..ways {
            accounted(&report, way);
            let at = format!("/directions/{way}/sender");
            assert_eq!(whole(&report, &format!("{at}/datagrams/count")), 4_000);
            assert_eq!(whole(&report, &format!("{at}/bytes")), 2_000_000);
            // They cannot have gone faster than was asked for.
            assert!(number(&report, &format!("{at}/bytes_per_second")) <= 5_001_000.0);
        }
        assert_eq!(report["transfer"]["udp"], true);
        let told = report["intervals"].as_array().unwrap();
        assert!(told.iter().any(|one| one["datagrams"]["lost"].is_number()), "{report:#}");
    }
}

#[test]
fn what_a_socket_has_no_room_for_is_none_of_the_paths_loss() {
    let serving = WindlassServer::start(&["--json"]);
    // As fast as it goes, in datagrams of many fragments, into a socket that is read by one
    // thread.
    let report = report(&serving, "--time 1s --rate 100gbit --length 60000 --no-latency");
    accounted(&report, 0);
    for _ in 0..2 {
        checked("serve", &serving.says());
    }
}

#[test]
fn a_pace_is_kept_evenly() {
    let test = "a_pace_is_kept_evenly";
    in_real_time(test, || {
        let serving = WindlassServer::start(&[]);
        let report = report(&serving, "--time 2s --rate 8mbit --length 1000 --no-latency");
        // 1,000 datagrams a second.
        let sent = whole(&report, "/directions/0/sender/datagrams/count");
        assert!((1_980..=2_001).contains(&sent), "{sent}");
        let jitter = number(&report, "/directions/0/receiver/datagrams/mean_jitter_seconds");
        assert!(jitter < 200e-6, "{jitter}");
        let rate = number(&report, "/directions/0/receiver/bytes_per_second");
        assert!((0.98e6..1.01e6).contains(&rate), "{rate}");
    });
}

/// Returns the report of a test over a link, and of the link; `None` if no link can be made.
fn over(test: &str, link: &str, send: &str) -> Option<(Value, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("link.json");
    let peer = format!("'{}' serve", env!("CARGO_BIN_EXE_windlass"));
    let link = format!("{link} --json --report {}", file.display());
    let report = sent(test, &link, &peer, &format!("--udp --no-latency {send}"))?;
    Some((report, checked("link", &std::fs::read_to_string(file).unwrap())))
}

#[test]
fn loss_is_what_the_link_lost() {
    let test = "loss_is_what_the_link_lost";
    in_real_time(test, || {
        for (way, direction) in [("up", ""), ("down", "--reverse")] {
            let link = format!("--rate 100mbit --rtt 10ms --{way}-loss 5%");
            let send = format!("--time 4s --rate 40mbit --length 1000 {direction}");
            let Some((report, link)) = over(test, &link, &send) else { return };
            let found = &report["directions"][0]["receiver"]["datagrams"];
            let (sent, lost) = (whole(found, "/sent"), whole(found, "/lost"));
            let here = lost - whole(found, "/overflowed");
            let gave = whole(&link[way], "/lost");
            // Beside the datagrams only the words about the test could be lost.
            assert!(here <= gave, "{here} {gave}");
            let share = here as f64 / sent as f64;
            // `packets` are those that passed.
            let given = gave as f64 / (gave + whole(&link[way], "/packets")) as f64;
            assert!((share / given - 1.0).abs() < 0.01, "{here} of {sent}: {share} {given}");
            assert_eq!(whole(found, "/out_of_order"), 0);
        }
    });
}

#[test]
fn jitter_is_what_the_link_gave() {
    let test = "jitter_is_what_the_link_gave";
    in_real_time(test, || {
        let link = "--rate 100mbit --rtt 20ms --up-jitter 3ms";
        // Further apart than chance moves them: each has a delay of its own.
        let send = "--time 5s --rate 2.5mbit --length 1000";
        let Some((report, _)) = over(test, link, send) else { return };
        let found = &report["directions"][0]["receiver"]["datagrams"];
        // Two draws from 0 to 3 ms differ by a third of it in the mean.
        let jitter = number(found, "/mean_jitter_seconds");
        assert!((jitter / 1e-3 - 1.0).abs() < 0.1, "{jitter}");
        let middle = number(found, "/delay_variation_seconds/p50");
        assert!((middle / 1.5e-3 - 1.0).abs() < 0.1, "{middle}");
        assert_eq!(whole(found, "/lost"), 0);
    });
}

#[test]
fn those_that_fall_behind_are_late_and_not_lost() {
    let test = "those_that_fall_behind_are_late_and_not_lost";
    in_real_time(test, || {
        let link = "--rate 100mbit --rtt 10ms --up-reorder 2% --reorder-by 5ms";
        let Some((report, link)) = over(test, link, "--time 3s --rate 16mbit --length 1000") else {
            return;
        };
        let found = &report["directions"][0]["receiver"]["datagrams"];
        let late = whole(found, "/out_of_order");
        let gave = whole(&link["up"], "/reordered");
        // The last one has none that overtakes it, and some were words about the test.
        let least = gave - gave / 50 - 4;
        assert!((least..=gave).contains(&late), "{late} of {gave}");
        assert_eq!(whole(found, "/lost"), whole(found, "/overflowed"));
        assert_eq!(whole(found, "/duplicates"), 0);
    });
}

/// The most that was carried is what the link carries, headers of IP and UDP included; whatever
/// the link loses at any rate.
#[test]
fn the_rate_of_the_link_is_found() {
    let test = "the_rate_of_the_link_is_found";
    in_real_time(test, || {
        let links = [
            ("--rate 20mbit --rtt 10ms", ""),
            ("--rate 20mbit --rtt 10ms --queue 100kB --loss 2%", "--reverse"),
        ];
        at_once(&links, |(link, way)| {
            let send = format!("--find-rate --rate 4mbit --length 1000 {way}");
            let Some((report, _)) = over(test, link, &send) else { return };
            let search = &report["search"];
            let carried = number(search, "/carried_bytes_per_second") * 8.0 * 1.028;
            assert!((carried / 20e6 - 1.0).abs() < 0.05, "{link}: {carried} {search:#}");
            let refused = number(search, "/refused_bytes_per_second") * 8.0 * 1.028;
            assert!((carried..carried * 1.05).contains(&refused), "{link}: {refused} {search:#}");
            assert!(["loss", "queue"].iter().any(|why| search["limit"] == *why), "{search:#}");
            let trials = search["trials"].as_array().unwrap();
            assert!((6..=30).contains(&trials.len()), "{search:#}");
            // The report in full is of one that was carried.
            let pace = number(&report, "/transfer/pace") * 8.0 * 1.028;
            assert!(pace <= refused, "{pace} {refused}");
        });
    });
}

#[test]
fn a_sender_that_cannot_keep_the_rate_is_told_and_not_the_path() {
    let serving = WindlassServer::start(&["--json"]);
    // A datagram of 60,000 bytes is as long as the loopback takes. What does not fit the buffer
    // of its receiver is none of the path's.
    let report = report(&serving, "--find-rate --rate 1gbit --time 300ms --length 60000");
    let limit = report["search"]["limit"].as_str().unwrap();
    assert!(["sender", "receiver", "queue"].contains(&limit), "{:#}", report["search"]);
    let trials = report["search"]["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| whole(trial, "/lost") == 0), "{trials:#?}");
}
