//! The record of `windlass device run`: what came to the device, and what held
//! each transfer back.

use std::net::Ipv4Addr;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_sim::{Received, ipp};
use windlass_trace::report::{self, Verdict};
use windlass_wire::{Endpoint, Host};

use super::facts::DeviceFacts;
use crate::ends::{Ending, Scheduling};

/// What came to a device while a command ran.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceRunReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// How the command ended.
    pub ending: Ending,
    /// Whether windlass was told to end before all was over.
    pub interrupted: bool,
    /// Where the command was.
    pub local_address: Ipv4Addr,
    /// The congestion control that the system gives its connections; nothing
    /// where it does not tell. Some send at a pace of their own (BBR).
    pub congestion_control: Option<String>,
    /// The device.
    pub device: DeviceFacts,
    /// What chance began with.
    pub seed: u64,
    /// The largest packet.
    pub mtu_bytes: u16,
    /// The time for which the device was there.
    pub seconds: Span,
    /// Of it, the time after the command had ended, in which the kernel still
    /// sent what the command had written.
    pub sending_on_seconds: Span,
    /// What the kernel still had to send at the end.
    pub unsent_bytes: Bytes,
    /// How the emulator ran.
    pub scheduling: Scheduling,
    /// The link.
    pub link: LinkReport,
    /// The connections that carried most data, the largest first.
    pub connections: Vec<Connection>,
    /// Connections that carried data and are not among them.
    pub left_out: u64,
    /// Connections that carried none.
    pub without_data: u64,
    /// SYNs that found no free connection.
    pub syns_dropped: u64,
    /// Segments that the device lost, as its profile has it.
    pub lost_by_device: u64,
    /// What the device's programs have read, with the protocols' own words.
    pub read_bytes: Bytes,
    /// What came by LPR.
    pub lpr: Received,
    /// What came by IPP.
    pub ipp: ipp::Received,
    /// Pings that were answered.
    pub pings: u64,
    /// The capture.
    pub capture: Option<Written>,
}

/// A capture that was written.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// Its path.
    pub file: String,
    /// Its packets.
    pub packets: u64,
}

/// The link between the sender and the device.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// The rate of the line.
    pub bytes_per_second: Rate,
    /// The delay of each way.
    pub delay_seconds: Span,
    /// The most bytes that wait for the line.
    pub queue_bytes: Bytes,
    /// The share of packets to the device that the line is to destroy.
    pub loss: f64,
    /// To the device.
    pub up: LinkDirection,
    /// From the device.
    pub down: LinkDirection,
    /// Packets that never got to the link, as the emulator did not fetch them in
    /// time; nothing where the system did not tell.
    pub missed: Option<u64>,
    /// Packets of the device that the sender's kernel did not take.
    pub not_taken: u64,
}

/// What passed one way. Bytes are those of the line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LinkDirection {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes on the line.
    pub line_bytes: Bytes,
    /// Packets that found the queue full.
    pub dropped_by_queue: u64,
    /// Packets that the line destroyed.
    pub lost: u64,
}

/// A connection to the device.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// From 1 in order of appearance: Wireshark's `tcp.stream` plus one, unless
    /// segments of no connection came as well.
    pub number: u64,
    /// The sender, as `host:port`.
    pub sender: String,
    /// The device's port.
    pub port: u16,
    /// What the port is called: `raw 9100`.
    pub service: String,
    /// Payload that the device acknowledged, with the protocol's own words; each
    /// byte counted once.
    pub received_bytes: Bytes,
    /// Payload that the device sent.
    pub returned_bytes: Bytes,
    /// Of the larger of the two: from its first data to its last ACK.
    pub seconds: Span,
    /// The one over the other.
    pub bytes_per_second: Rate,
    /// From data to the ACK that answers it: the median; null without samples.
    pub ack_latency_seconds: Option<Span>,
    /// What held it back, as in explain; null where the device sent more than it
    /// received.
    pub verdict: Option<Verdict>,
}

impl DeviceRunReport {
    /// The shape of the JSON, described by `schemas/device-run.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.device-run", version: 2 };
}

impl Connection {
    /// A connection of the device from the analyser's report of its larger
    /// transfer, whose receiver was `receiver`.
    pub fn new(
        device: &DeviceFacts,
        receiver: Endpoint,
        sender: Endpoint,
        report: report::ConnectionReport,
    ) -> Self {
        let to_device = receiver.host == Host::V4(device.address);
        let (peer, own) = if to_device { (sender, receiver) } else { (receiver, sender) };
        let (bytes, back) = (report.bytes, report.bytes_returned);
        let (received_bytes, returned_bytes) =
            if to_device { (bytes, back) } else { (back, bytes) };
        Self {
            number: report.number,
            sender: peer.to_string(),
            port: own.port,
            service: device.services.called(own.port),
            received_bytes,
            returned_bytes,
            seconds: report.seconds,
            bytes_per_second: report.bytes_per_second,
            ack_latency_seconds: report.ack_latency_seconds.map(|latency| latency.p50),
            verdict: to_device.then_some(report.verdict),
        }
    }
}
