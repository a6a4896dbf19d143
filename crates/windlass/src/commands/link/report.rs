//! The report of `windlass link`: what the link did, and how the command ended.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};

use crate::ends::{Ending, Scheduling};
use crate::print::{Column, Page, Record, Rows, Style, Table, Text, figures};

/// What a link did while a command ran.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// How the command ended.
    pub ending: Ending,
    /// Whether windlass was told to end before the command had.
    pub interrupted: bool,
    /// What ran at the far end.
    pub peer: Option<PeerReport>,
    /// The addresses of the near end.
    pub local_addresses: Addresses,
    /// The addresses of the far end.
    pub peer_addresses: Addresses,
    /// The time for which the link was there.
    pub seconds: Span,
    /// The largest packet.
    pub mtu_bytes: u16,
    /// What chance began with.
    pub seed: u64,
    /// How the emulator ran.
    pub scheduling: Scheduling,
    /// From the command to the peer.
    pub up: WayReport,
    /// From the peer to the command.
    pub down: WayReport,
}

/// What ran at the far end.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReport {
    /// The command, as the shell got it.
    pub command: String,
    /// How it ended by itself.
    pub ending: Ending,
}

/// The addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// For IPv4.
    pub ipv4: Ipv4Addr,
    /// For IPv6.
    pub ipv6: Ipv6Addr,
}

/// One way of the link.
#[derive(Clone, Debug, Serialize)]
pub struct WayReport {
    /// What it was to do.
    pub settings: Settings,
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes, with IP headers.
    pub bytes: Bytes,
    /// Packets that found the queue full.
    pub dropped_by_queue: u64,
    /// Packets that the line destroyed.
    pub lost: u64,
    /// Packets that were held back for others to overtake.
    pub reordered: u64,
    /// Packets that never got to the link, as the emulator did not fetch them
    /// in time; nothing where the system did not tell.
    pub missed: Option<u64>,
    /// Packets that the far end did not take.
    pub refused: u64,
    /// The most bytes that ever waited for the line.
    pub queue_high_water_bytes: Bytes,
    /// The share of the time for which the line was busy.
    pub busy: f64,
    /// From where a packet was taken to where it arrived; nothing where none
    /// did.
    pub delay_seconds: Option<Delay>,
    /// How much later packets arrived than they were due: the emulator's own
    /// part of the delay.
    pub late_seconds: Option<Late>,
}

/// What one way was to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Settings {
    /// The rate of the line.
    pub bytes_per_second: Option<Rate>,
    /// The delay.
    pub delay_seconds: Span,
    /// The most bytes that wait for the line.
    pub queue_bytes: Option<Bytes>,
    /// The share of packets that the line destroys.
    pub loss: f64,
    /// The most that chance adds to the delay.
    pub jitter_seconds: Span,
    /// The share of packets that fall behind.
    pub reorder: f64,
    /// How far they fall behind.
    pub reorder_by_seconds: Span,
}

/// The delays of all packets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Delay {
    /// The least.
    pub least: Span,
    /// The mean.
    pub mean: Span,
    /// The most.
    pub most: Span,
}

/// How late packets were.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Late {
    /// Half of them were no later.
    pub p50: Span,
    /// 99 % of them were no later.
    pub p99: Span,
    /// The latest.
    pub most: Span,
}

impl Report {
    /// The shape of the JSON, described by `schemas/link.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.link", version: 1 };
}

impl Record for Report {
    fn text(&self, page: &mut Page) {
        page.heading(Text::from("The link after ").and(self.seconds));
        page.indented(|page| {
            page.table(&self.ways());
            page.gap();
            page.rows(&self.rest());
        });
    }
}

impl Report {
    fn ways(&self) -> Table {
        let (up, down) = (&self.up, &self.down);
        let mut table = Table::new([
            Column::left(""),
            Column::right("to the peer"),
            Column::right("from the peer"),
        ]);
        let mut row = |name: &str, of: &dyn Fn(&WayReport) -> Text| {
            table.push([Text::styled(Style::Dim, name), of(up), of(down)]);
        };
        let none = || Text::styled(Style::Dim, "-");
        let bad = |count: u64| match count {
            0 => Text::from(0),
            count => Text::styled(Style::Warn, count),
        };
        row("rate", &|way| {
            way.settings.bytes_per_second.map_or_else(none, |rate| rate.in_bits().into())
        });
        row("delay", &|way| figures::exact(way.settings.delay_seconds));
        row("queue", &|way| way.settings.queue_bytes.map_or_else(none, Text::from));
        let chance = |way: &WayReport| {
            let set = &way.settings;
            set.loss > 0.0 || set.jitter_seconds > Span::ZERO || set.reorder > 0.0
        };
        if chance(up) || chance(down) {
            row("loss", &|way| figures::fine_percent(way.settings.loss));
            row("jitter", &|way| figures::exact(way.settings.jitter_seconds));
            row("reordering", &|way| figures::fine_percent(way.settings.reorder));
            row("  by", &|way| figures::exact(way.settings.reorder_by_seconds));
        }
        row("passed packets", &|way| way.packets.into());
        row("passed bytes", &|way| way.bytes.into());
        row("dropped by the queue", &|way| bad(way.dropped_by_queue));
        row("lost on the line", &|way| bad(way.lost));
        row("reordered", &|way| bad(way.reordered));
        if up.missed != Some(0) || down.missed != Some(0) {
            row("missed by the emulator", &|way| way.missed.map_or_else(none, bad));
        }
        if up.refused + down.refused > 0 {
            row("not taken at the end", &|way| bad(way.refused));
        }
        row("most in the queue", &|way| way.queue_high_water_bytes.into());
        row("line busy", &|way| figures::percent(way.busy));
        let delay = |of: fn(&Delay) -> Span| {
            move |way: &WayReport| way.delay_seconds.map_or_else(none, |all| of(&all).into())
        };
        row("delay given, least", &delay(|all| all.least));
        row("             mean", &delay(|all| all.mean));
        row("             most", &delay(|all| all.most));
        let late = |of: fn(&Late) -> Span| {
            move |way: &WayReport| way.late_seconds.map_or_else(none, |all| of(&all).into())
        };
        row("emulator late, median", &late(|all| all.p50));
        row("               99 of 100", &late(|all| all.p99));
        row("               most", &late(|all| all.most));
        table
    }

    fn rest(&self) -> Rows {
        let ends = |of: &Addresses| format!("{}, {}", of.ipv4, of.ipv6);
        let mut rows = Rows::new();
        let mut command = Text::from(self.command.join(" ")).and(": ").and(self.ending.text());
        if self.interrupted {
            command = command.and(", interrupted");
        }
        rows.push("command", command);
        if let Some(peer) = &self.peer {
            rows.push("peer", Text::from(&peer.command).and(": ").and(peer.ending.text()));
        }
        rows.push(
            "addresses",
            Text::from(ends(&self.local_addresses)).dim(" to ").and(ends(&self.peer_addresses)),
        );
        rows.push("MTU", Bytes::new(u64::from(self.mtu_bytes)));
        rows.push("seed", self.seed.to_string());
        rows.push("scheduling", self.scheduling.words());
        rows
    }
}
