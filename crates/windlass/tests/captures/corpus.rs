//! The corpus of captures whose cause is known: verdicts, figures, caveats and
//! what must hold of every report.

use serde_json::Value;
use windlass_testkit::captures::{
    Entry, Fact, Findings, adds_up, caveats, corpus, explained, figure, verdict,
};

/// The corpus' words for caveats, and the report's.
const CAVEATS: [(&str, &str); 10] = [
    ("receiver-side", "taken-at-receiver"),
    ("duplicated", "captured-twice"),
    ("no-handshake", "no-handshake"),
    ("scale-unknown", "scale-unknown"),
    ("one-sided", "one-sided"),
    ("capture-loss", "packets-missing"),
    ("super-packets", "super-packets"),
    ("ack-loss", "ack-loss"),
    ("reordering", "reordering"),
    ("slow-timer", "slow-timer"),
];

/// Caveats that mislead where the corpus does not ask for them.
const ONLY_WHERE_TRUE: [&str; 6] = [
    "taken-at-receiver",
    "captured-twice",
    "one-sided",
    "packets-missing",
    "ack-loss",
    "slow-timer",
];

/// Above this share of the time, one law should tell the rate.
const DOMINANT: f64 = 0.8;

/// Runs `check` over the connection of every capture.
fn over_the_corpus(check: impl Fn(&Entry, &Value, &mut Findings)) {
    let mut findings = Findings::default();
    let corpus = corpus();
    assert!(corpus.len() >= 100, "{} entries", corpus.len());
    for entry in &corpus {
        let record = explained(&entry.path);
        let connections = record["connections"].as_array().unwrap();
        findings.check(connections.len() == 1, &entry.file, "connections", 1, connections.len());
        let packets = record["capture"]["packets"].as_u64().unwrap();
        findings.check(packets == entry.packets, &entry.file, "packets", entry.packets, packets);
        if let Some(connection) = connections.first() {
            check(entry, connection, &mut findings);
        }
    }
    findings.assert_none();
}

#[test]
fn every_capture_gets_its_verdict() {
    over_the_corpus(|entry, connection, findings| {
        let got = verdict(connection);
        let share = 100.0 * figure(connection, "/verdict/share").unwrap();
        let expected = entry.accepted.iter().rev().map(String::as_str).collect::<Vec<_>>();
        findings.check(
            entry.accepted.contains(&got),
            &entry.file,
            "verdict",
            expected.join(" or "),
            format!("{got} ({share:.0} %)"),
        );
    });
}

/// The report's figure for a fact of the corpus.
fn reported(fact: &str, connection: &Value) -> Option<f64> {
    let pointer = match fact {
        "bytes" | "seconds" | "bytes_per_second" => return figure(connection, &format!("/{fact}")),
        "rtt_seconds" => "/rtt_seconds/min",
        "window_bytes" => "/receive_window/max_bytes",
        "ack_latency_seconds" => "/ack_latency_seconds/receiver_own",
        "retransmissions" => "/losses/retransmissions",
        "persist_probes" => "/receive_window/probes",
        "longest_stall_seconds" => "/receive_window/longest_closure_seconds",
        "bottleneck_bytes_per_second" => "/verdict/predicted_bytes_per_second",
        // What was sent again and was needed.
        "packets_lost" => {
            let again = figure(connection, "/losses/retransmissions")?;
            return Some(again - figure(connection, "/losses/needless")?);
        }
        _ => return None,
    };
    figure(connection, pointer)
}

/// The corpus ends a transfer with the ACK of its FIN. Where the FIN was sent
/// only when the data was acknowledged, a report ends one round trip earlier.
fn without_the_fin(name: &str, fact: Fact, entry: &Entry) -> Option<Fact> {
    let (seconds, rtt) = (entry.facts.get("seconds")?.value, entry.facts.get("rtt_seconds")?.value);
    match name {
        "seconds" => Some(Fact { value: seconds - rtt, ..fact }),
        "bytes_per_second" => Some(Fact { value: fact.value * seconds / (seconds - rtt), ..fact }),
        _ => None,
    }
}

#[test]
fn every_figure_is_within_its_tolerance() {
    over_the_corpus(|entry, connection, findings| {
        for (name, fact) in &entry.facts {
            // A report does not count lost ACKs: their bytes are acknowledged
            // by the next. Of lost data a capture at the receiver sees only
            // the repairs that arrived.
            let unseen = name == "acks_lost"
                || (name == "packets_lost" && entry.capture_point != "sender" && fact.value > 0.0);
            if unseen {
                continue;
            }
            let got = reported(name, connection);
            let without_fin = without_the_fin(name, *fact, entry);
            findings.check(
                got.is_some_and(|got| fact.fits(got) || without_fin.is_some_and(|f| f.fits(got))),
                &entry.file,
                name,
                format!("{} ± {} %", fact.value, fact.tolerance * 100.0),
                got.map_or("nothing".to_owned(), |got| got.to_string()),
            );
        }
        let of = |key: &str| figure(connection, &format!("/receive_window/{key}_bytes"));
        if let (Some(least), Some(most)) = (of("least"), of("most")) {
            let usual = figure(connection, "/receive_window/bytes").unwrap();
            let range = format!("{least} to {most}");
            let within = (least..=most).contains(&usual);
            findings.check(within, &entry.file, "the usual window", range, usual);
        }
    });
}

#[test]
fn caveats_are_there_where_they_are_due_and_only_there() {
    over_the_corpus(|entry, connection, findings| {
        let got = caveats(connection);
        let mut due = Vec::new();
        for caveat in &entry.caveats {
            // Where the path takes no time, both of its ends see the same.
            if caveat == "receiver-side" && !entry.facts.contains_key("rtt_seconds") {
                continue;
            }
            let (_, id) = CAVEATS.iter().find(|(word, _)| word == caveat).unwrap();
            due.push(*id);
            findings.check(got.contains(id), &entry.file, "caveat", id, got.join(", "));
        }
        for id in ONLY_WHERE_TRUE {
            // Every capture from there is taken at the receiver, and of what
            // only one side sent, the rest is missing.
            let true_anyway = match id {
                "taken-at-receiver" => ["receiver", "both"].contains(&entry.capture_point.as_str()),
                "packets-missing" => due.contains(&"one-sided"),
                _ => false,
            };
            let out_of_place = got.contains(&id) && !due.contains(&id) && !true_anyway;
            findings.check(!out_of_place, &entry.file, "caveat", format!("no {id}"), id);
        }
    });
}

#[test]
fn shares_and_timelines_add_up() {
    over_the_corpus(|entry, connection, findings| adds_up(&entry.file, connection, findings));
}

#[test]
fn a_dominant_limits_law_predicts_the_rate() {
    let laws = std::cell::Cell::new(0);
    over_the_corpus(|entry, connection, findings| {
        let share = figure(connection, "/verdict/share").unwrap();
        let Some(predicted) = figure(connection, "/verdict/predicted_bytes_per_second") else {
            return;
        };
        if share <= DOMINANT {
            return;
        }
        laws.set(laws.get() + 1);
        let measured = figure(connection, "/bytes_per_second").unwrap();
        let off = predicted / measured;
        let law = connection["verdict"]["law"]["name"].as_str().unwrap_or("no law");
        findings.check(
            (0.5..=2.0).contains(&off),
            &entry.file,
            format!("rate by {law}"),
            format!("{measured:.0} B/s"),
            format!("{predicted:.0} B/s"),
        );
    });
    assert!(laws.get() >= 30, "only {} captures had a dominant limit with a law", laws.get());
}
