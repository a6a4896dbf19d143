//! Captures without TCP: what they hold is told, as text and as JSON.

use std::path::Path;

use serde_json::Value;
use windlass_base::Timestamp;
use windlass_wire::LinkType;

use super::sample::{HeldPacket, pcap, transfer};
use windlass_testkit::schema::validator;
use windlass_testkit::{told, windlass};

/// A packet of raw IP: this protocol, and these bytes behind the header.
fn packet(protocol: u8, payload: &[u8]) -> HeldPacket {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let mut data = vec![0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, protocol, 0, 0];
    data.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    data.extend(payload);
    let original_length = u32::try_from(data.len()).unwrap();
    HeldPacket { time: Timestamp::from_nanos(1_000_000_000), original_length, data }
}

fn udp(port: u16) -> HeldPacket {
    let port = port.to_be_bytes();
    packet(17, &[0xc3, 0x50, port[0], port[1], 0, 12, 0, 0, 0x40, 1, 2, 3])
}

/// An encrypted frame of a wireless network.
fn encrypted() -> HeldPacket {
    let mut data = vec![0x88, 0x41];
    data.resize(60, 0x5a);
    data[22..26].fill(0);
    HeldPacket { time: Timestamp::from_nanos(1_000_000_000), original_length: 60, data }
}

/// Writes a capture, and gives what `explain` says of it: the message, with its tip,
/// and the record.
fn explained(folder: &Path, link: LinkType, packets: &[HeldPacket]) -> (String, Value) {
    let file = folder.join("capture.pcap");
    std::fs::write(&file, pcap(link, packets)).unwrap();
    let output = windlass().args(["explain", "--json"]).arg(&file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!(code, 1, "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    let errors: Vec<String> =
        validator("explain").iter_errors(&record).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let begins = format!("error: cannot explain {}: ", file.display());
    (stderr.strip_prefix(&begins).unwrap_or_else(|| panic!("{stderr}")).to_owned(), record)
}

#[test]
fn a_capture_of_quic_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let packets = vec![udp(443); 1_300];
    let (message, record) = explained(folder.path(), LinkType::RAW, &packets);
    assert_eq!(
        message,
        "no packet is TCP: all 1,300 are UDP port 443 (QUIC), which windlass does not explain\n\n  \
         tip: Programs that use QUIC can use TCP: turn it off (in Chrome: --disable-quic) and \
         capture again.\n"
    );
    assert_eq!(record["capture"]["passed_over"]["not_tcp"], 1_300);
    let kinds = &record["capture"]["not_tcp_kinds"];
    let expected = serde_json::json!([
        { "name": "UDP port 443 (QUIC)", "kind": "udp-port", "number": 443, "packets": 1300 }
    ]);
    assert_eq!(*kinds, expected);
    // The same by the other commands, and whatever is filtered for.
    let file = folder.path().join("capture.pcap");
    for line in [&["show"][..], &["device", "learn"], &["explain", "--port", "443"]] {
        let (_, stderr, code) = told(&windlass().args(line).arg(&file).output().unwrap());
        assert_eq!(code, 1);
        assert!(stderr.contains("no packet is TCP: all 1,300 are UDP port 443 (QUIC)"), "{stderr}");
    }
}

#[test]
fn a_capture_of_much_else_names_what_there_is_most_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = vec![udp(443); 5];
    packets.extend(vec![udp(53); 4]);
    packets.extend(vec![packet(50, &[0; 40]); 3]);
    packets.extend([packet(1, &[8; 30]), packet(132, &[0; 30]), packet(58, &[0; 30])]);
    let mut short = packet(6, &[0; 20]);
    short.data.truncate(30);
    packets.push(short);
    let (message, record) = explained(folder.path(), LinkType::RAW, &packets);
    assert!(
        message.starts_with(
            "no packet is TCP: of 16, 5 are UDP port 443 (QUIC), 4 are UDP port 53 (DNS), 3 are ESP \
             (IPsec, encrypted), 3 are of other kinds and 1 are cut short or damaged; windlass \
             explains TCP alone\n"
        ),
        "{message}"
    );
    assert_eq!(record["capture"]["not_tcp_kinds"].as_array().unwrap().len(), 6);
}

#[test]
fn encrypted_frames_are_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (message, record) = explained(folder.path(), LinkType::IEEE802_11, &vec![encrypted(); 40]);
    assert!(message.starts_with("no packet is TCP: all 40 are encrypted 802.11, "), "{message}");
    assert!(message.contains("airdecap-ng"), "{message}");
    assert_eq!(record["capture"]["not_tcp_kinds"][0]["kind"], "wlan-encrypted");

    // Beside TCP that can be read, too.
    let plain = [&[8, 1][..], &[0; 22], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat();
    let mut packets = super::sample::behind(&transfer(), |_| plain.clone());
    packets.extend(vec![encrypted(); 7]);
    let file = folder.path().join("mixed.pcap");
    std::fs::write(&file, pcap(LinkType::IEEE802_11, &packets)).unwrap();
    let (stdout, stderr, code) = told(&windlass().arg("explain").arg(&file).output().unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("7 frames could not be read: encrypted 802.11."), "{stdout}");
}

#[test]
fn a_link_type_that_is_not_read_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (message, record) = explained(folder.path(), LinkType(178), &vec![udp(9); 3]);
    assert!(
        message.starts_with("its packets are of link type 178 (Juniper), which windlass cannot"),
        "{message}"
    );
    let kind = &record["capture"]["not_tcp_kinds"][0];
    assert_eq!((&kind["kind"], &kind["number"]), (&"link-type".into(), &178.into()));
}
