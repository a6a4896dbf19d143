//! Path of the traffic: a veth pair between two namespaces.

use std::net::SocketAddrV4;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use windlass_drive::bulk::{self, Bulk};
use windlass_sys::generator::{Frame, Generator, Load, LoadEnd, LoadTotals, run};
use windlass_wire::build::{self, Addresses, Carrier, Data, datagram};

use crate::veth::{FROM, SENDER, Shape, TO, Veth};

/// The headers of a UDP datagram in IPv4 in Ethernet.
const HEADERS: u32 = 42;

/// The frames of the load.
const FRAME: u32 = 1_514;

/// The wire, captured at the receiver.
pub(crate) struct Path(pub(crate) Veth);

impl Path {
    /// Two ends with addresses, for TCP; or without, so that nothing passes but
    /// what the generator sends.
    pub(crate) fn new(has_addresses: bool) -> Result<Self> {
        Ok(Self(Veth::new(Shape { has_addresses, has_offloads: false })?))
    }

    /// Sends frames at a rate.
    pub(crate) fn frames(&self, rate: NonZeroU64, time: Duration) -> Result<LoadTotals> {
        let mut generator = Generator::open(SENDER, Some(&self.0.sender))?;
        let mut bytes = Vec::new();
        let ends = build::Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };
        let addresses = Addresses::V4 { source: FROM, destination: TO };
        let carrier = Carrier { frame: Some(ends), addresses, identification: 1, hop_limit: 64 };
        datagram(&mut bytes, &carrier, (9, 9), Data::Zeros(FRAME - HEADERS))
            .map_err(|_| anyhow!("the frame is too long"))?;
        let frame = Frame { bytes: &bytes, number_at: Some(HEADERS as usize) };
        let load = Load { frame, rate: Some(rate), until: LoadEnd::Time(time) };
        let mut sent = run(&mut generator, &load, &AtomicBool::new(false));
        match sent.failure.take() {
            Some(error) => Err(error).context("cannot send"),
            None => Ok(sent),
        }
    }

    /// TCP's goodput in bytes per second: 16,384 writes of 8,192 bytes.
    pub(crate) fn tcp(&self) -> Result<f64> {
        let to = (&self.0.receiver, SocketAddrV4::new(TO, 0));
        let carried = bulk::transfer(&Bulk::default(), &self.0.sender, to)?;
        Ok(carried.rate().bytes_per_second())
    }

    /// Returns whether a program captures at the receiver.
    pub(crate) fn is_captured(&self) -> Result<bool> {
        let sockets = self.0.receiver.read(c"/proc/net/packet")?;
        // sk RefCnt Type Proto Iface R …: bound for all protocols, and running.
        Ok(sockets.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            matches!(fields.get(3..6), Some(["0003", _, "1"]))
        }))
    }
}
