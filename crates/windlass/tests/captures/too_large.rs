//! Segments that are too large for a link on their way, or for what should split them.

use windlass_testkit::captures::{Findings, explained, verdict};
use windlass_testkit::repository;

/// Each with how sure it may be, and what its sentence or its remedies say.
const TOLD: [(&str, &str, &str); 7] = [
    ("mtu-icmp-ignored.pcap.gz", "high", "takes packets of 1,420 B at most"),
    ("mtu-icmp-ignored-tso.pcap.gz", "medium", "find the filter on the host that drops it"),
    ("mtu-hole.pcap.gz", "medium", "while those with 1,000 B do"),
    ("mtu-hole-hb.pcap.gz", "medium", "while those with 1,000 B do"),
    ("mtu-hole-download-snd.pcapng.gz", "medium", "while those with 700 B do"),
    ("lso-dropped.pcap.gz", "medium", "tso off gso off"),
    ("lso-dropped-2.pcap.gz", "medium", "tso off gso off"),
];

#[test]
fn what_is_too_large_for_a_link_is_told() {
    let mut findings = Findings::default();
    for (file, most, said) in TOLD {
        let record = explained(&repository(&format!("tests/too-large/{file}")));
        let connection = &record["connections"][0];
        let got = verdict(connection);
        findings.check(got == "loss/black-hole", file, "cause", "loss/black-hole", got);
        let told = &connection["verdict"];
        let confidence = told["confidence"].as_str().unwrap_or_default();
        findings.check(confidence == most, file, "confidence", most, confidence.to_owned());
        let text = format!("{} {}", told["sentence"], told["remedies"]);
        findings.check(text.contains(said), file, "text", said, text.clone());
        for remedy in told["remedies"].as_array().into_iter().flatten() {
            let rate = &remedy["expected_bytes_per_second"];
            findings.check(rate.is_null(), file, "promise", "none", rate.to_string());
        }
    }
    findings.assert_none();
}
