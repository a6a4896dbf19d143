//! A transfer of the corpus as packets, and files made of them.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_base::Timestamp;
use windlass_wire::write::PcapWriter;
use windlass_wire::{Capture, LinkType, Observer, Packet, Segment};

use windlass_testkit::captures::corpus;
use windlass_testkit::{told, windlass};

/// A packet as a file holds it.
#[derive(Clone, Debug)]
pub struct HeldPacket {
    pub time: Timestamp,
    pub original_length: u32,
    pub data: Vec<u8>,
}

#[derive(Default)]
struct Keep(Vec<HeldPacket>);

impl Observer for Keep {
    fn packet(&mut self, packet: &Packet<'_>) {
        assert_eq!(packet.link, LinkType::RAW);
        self.0.push(HeldPacket {
            time: packet.time,
            original_length: packet.original_length,
            data: packet.data.to_vec(),
        });
    }

    fn segment(&mut self, _: &Segment) {}
}

/// The packets of a transfer to a slow print server: raw IPv4, 96 bytes of each.
pub fn transfer() -> Vec<HeldPacket> {
    let entry =
        corpus().into_iter().find(|entry| entry.file == "receiver-window-ack-latency.snd.pcap.gz");
    let packed = std::fs::File::open(entry.unwrap().path).unwrap();
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let (mut capture, mut keep) = (Capture::new(), Keep::default());
    assert!(capture.read(&bytes, true, &mut keep).finished);
    keep.0
}

/// These packets behind an Ethernet header.
pub fn ethernet(packets: &[HeldPacket]) -> Vec<HeldPacket> {
    let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    behind(packets, |_| head.to_vec())
}

/// These packets behind what is made of each.
pub fn behind(packets: &[HeldPacket], head: impl Fn(&HeldPacket) -> Vec<u8>) -> Vec<HeldPacket> {
    packets
        .iter()
        .map(|packet| {
            let head = head(packet);
            HeldPacket {
                time: packet.time,
                original_length: packet.original_length + u32::try_from(head.len()).unwrap(),
                data: [head, packet.data.clone()].concat(),
            }
        })
        .collect()
}

/// A pcap of microseconds.
pub fn pcap(link: LinkType, packets: &[HeldPacket]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let writer = PcapWriter { nanoseconds: false, link, ..PcapWriter::default() };
    writer.header(&mut bytes);
    for packet in packets {
        writer.record(&mut bytes, packet.time, packet.original_length, &packet.data);
    }
    bytes
}

/// Returns the record of `windlass explain --json` for a file.
pub fn explained(file: &Path) -> Value {
    let output = windlass().args(["explain", "--json"]).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", file.display());
    serde_json::from_str(&stdout).unwrap()
}

/// The frames in which tshark sees TCP, but for what ICMP quotes.
pub fn tcp_frames(file: &Path, options: &[&str]) -> Vec<u64> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE", "-Tfields", "-e", "frame.number"]);
    tshark.args(["-Y", "tcp and not icmp"]).args(options).arg("-r").arg(file);
    let (stdout, stderr, code) = told(&tshark.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    stdout.lines().map(|line| line.trim().parse().unwrap()).collect()
}
