//! The record of `windlass device run`: the received data, and the limiting cause of each transfer.

use std::net::Ipv4Addr;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_sim::{LprTotals, ipp};
use windlass_trace::report::{self, Verdict};
use windlass_wire::{Endpoint, Host};

use super::facts::DeviceFacts;
use crate::ends::{Ending, Scheduling};

/// Report on a device while a command ran.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceRunReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// End of the command.
    pub ending: Ending,
    /// True if windlass was stopped before the end.
    pub interrupted: bool,
    /// Address of the command's end.
    pub local_address: Ipv4Addr,
    /// The system's congestion control for new connections; null if the system does not tell. Some
    /// send at a rate of their own (BBR).
    pub congestion_control: Option<String>,
    /// The device.
    pub device: DeviceFacts,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The largest packet.
    pub mtu_bytes: u16,
    /// Time for which the device existed.
    pub seconds: Span,
    /// Part of this time after the end of the command, in which the kernel still sent the command's
    /// data.
    pub sending_on_seconds: Span,
    /// Bytes that the kernel still had to send at the end.
    pub unsent_bytes: Bytes,
    /// Scheduling of the emulator.
    pub scheduling: Scheduling,
    /// The link.
    pub link: LinkReport,
    /// Connections with the most data, the largest first.
    pub connections: Vec<Connection>,
    /// Number of other connections with data.
    pub left_out: u64,
    /// Number of connections without data.
    pub without_data: u64,
    /// SYNs that found no free connection slot.
    pub syns_dropped: u64,
    /// Segments that the device lost, as its profile says.
    pub lost_by_device: u64,
    /// Bytes that the device's programs have read, protocol overhead included.
    pub read_bytes: Bytes,
    /// Totals by LPR.
    pub lpr: LprTotals,
    /// Totals by IPP.
    pub ipp: ipp::IppTotals,
    /// Answered pings.
    pub pings: u64,
    /// The capture.
    pub capture: Option<CaptureSummary>,
}

/// Summary of a written capture.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureSummary {
    /// Path of the file.
    pub file: String,
    /// Number of packets.
    pub packets: u64,
}

/// The link between the sender and the device.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// The rate of the line.
    pub bytes_per_second: Rate,
    /// Delay of each direction.
    pub delay_seconds: Span,
    /// Maximum bytes that wait for the line.
    pub queue_bytes: Bytes,
    /// Share of packets to the device that the line destroys.
    pub loss: f64,
    /// Direction to the device.
    pub up: LinkDirection,
    /// Direction from the device.
    pub down: LinkDirection,
    /// Packets that never entered the link, since the emulator did not fetch them in time; null if
    /// the system did not tell.
    pub missed: Option<u64>,
    /// Packets of the device that the sender's kernel rejected.
    pub not_taken: u64,
}

/// Counts of one direction. Bytes are those on the line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LinkDirection {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of these packets on the line.
    pub line_bytes: Bytes,
    /// Packets that found the queue full.
    pub dropped_by_queue: u64,
    /// Packets that the line destroyed.
    pub lost: u64,
}

/// A connection to the device.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Number from 1 in the order of appearance: Wireshark's `tcp.stream` plus one, unless there
    /// were segments without a connection.
    pub number: u64,
    /// The sender, as `host:port`.
    pub sender: String,
    /// The device's port.
    pub port: u16,
    /// Name of the port: `raw 9100`.
    pub service: String,
    /// Payload that the device acknowledged, protocol overhead included; each byte counted once.
    pub received_bytes: Bytes,
    /// Payload that the device sent.
    pub returned_bytes: Bytes,
    /// Time of the larger direction, from its first data to its last ACK.
    pub seconds: Span,
    /// Rate of the larger direction.
    pub bytes_per_second: Rate,
    /// Median time from data to the ACK that covers it; null without samples.
    pub ack_latency_seconds: Option<Span>,
    /// Limiting cause, as in explain; null if the device sent more than it received.
    pub verdict: Option<Verdict>,
}

impl DeviceRunReport {
    /// Schema of the JSON, described by `schemas/device-run.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.device-run", version: 2 };
}

impl Connection {
    /// Makes a connection of the device from the analyser's report on its larger transfer, whose
    /// receiver was `receiver`.
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
