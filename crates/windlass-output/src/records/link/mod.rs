//! Report of `windlass link` for people.

pub mod view;

use windlass_base::{Bytes, Quantiles, Span};
use windlass_netlab::link::{Addresses, Delay, LinkDirectionReport, LinkRunReport, Policer};

use crate::records::ended::{ended, ending};
use crate::{Page, Record, Rows, Style, Table, Text, figures};

impl Record for LinkRunReport {
    fn text(&self, page: &mut Page) {
        page.heading(Text::from("The link after ").and(self.seconds));
        page.indented(|page| {
            page.table(&ways(self));
            page.gap();
            page.rows(&rest(self));
        });
        if self.is_doubtful() {
            page.gap();
            page.paragraph(
                "The emulator was late, so the path may have been slower than asked for. Use a \
                 less busy machine, a lower rate, or fewer programs at its ends.",
            );
        }
    }
}

/// Returns the table of both directions.
fn ways(report: &LinkRunReport) -> Table {
    let mut table = Table::headed(" | to the peer: | from the peer:");
    let both = (&report.up, &report.down);
    for row in asked(both).into_iter().chain(done(both)) {
        table.push(row);
    }
    table
}

/// Row for both directions: its name, to the peer, from the peer.
pub type Row = [Text; 3];

/// Builder of rows for both directions.
struct DirectionRows<'a> {
    up: &'a LinkDirectionReport,
    down: &'a LinkDirectionReport,
    rows: Vec<Row>,
}

impl DirectionRows<'_> {
    fn row(&mut self, name: &str, of: &dyn Fn(&LinkDirectionReport) -> Text) {
        self.rows.push([Text::styled(Style::Dim, name), of(self.up), of(self.down)]);
    }
}

/// Writes the settings of each direction.
pub fn asked((up, down): (&LinkDirectionReport, &LinkDirectionReport)) -> Vec<Row> {
    let mut both = DirectionRows { up, down, rows: Vec::new() };
    both.row("rate", &|way| Text::known(way.settings.rate.map(windlass_base::Rate::in_bits)));
    both.row("delay", &|way| figures::exact(way.settings.delay));
    both.row("queue", &|way| Text::known(way.settings.queue));
    let chance = |way: &LinkDirectionReport| {
        let set = &way.settings;
        set.loss > 0.0 || set.jitter > Span::ZERO || set.reorder > 0.0
    };
    if chance(up) || chance(down) {
        both.row("loss", &|way| figures::fine_percent(way.settings.loss));
        both.row("jitter", &|way| figures::exact(way.settings.jitter));
        both.row("reordering", &|way| figures::fine_percent(way.settings.reorder));
        both.row("  by", &|way| figures::exact(way.settings.reorder_by));
    }
    if up.settings.mark.or(down.settings.mark).is_some() {
        both.row("marks above a wait of", &|way| {
            Text::known(way.settings.mark.map(figures::exact))
        });
    }
    if up.settings.policer.or(down.settings.policer).is_some() {
        let policer = |of: fn(Policer) -> Text| {
            move |way: &LinkDirectionReport| Text::known(way.settings.policer.map(of))
        };
        both.row("policer", &policer(|policer| policer.rate.in_bits().into()));
        both.row("  burst", &policer(|policer| policer.burst.into()));
    }
    if up.settings.half_duplex.or(down.settings.half_duplex).is_some() {
        both.row("half duplex, access", &|way| {
            Text::known(way.settings.half_duplex.map(|shared| figures::exact(shared.access)))
        });
    }
    if up.settings.fading.or(down.settings.fading).is_some() {
        both.row("rate, min", &|way| {
            Text::known(way.settings.fading.map(|fading| fading.least.in_bits()))
        });
        both.row("  new every", &|way| {
            Text::known(way.settings.fading.map(|fading| figures::exact(fading.every)))
        });
    }
    both.rows
}

/// Writes the counters of each direction.
pub fn done((up, down): (&LinkDirectionReport, &LinkDirectionReport)) -> Vec<Row> {
    let mut both = DirectionRows { up, down, rows: Vec::new() };
    let bad = |count: u64| Text::rare(count, Style::Warn);
    both.row("passed packets", &|way| way.packets.into());
    both.row("passed bytes", &|way| way.bytes.into());
    both.row("dropped by the queue", &|way| bad(way.dropped_by_queue));
    if up.settings.mark.or(down.settings.mark).is_some() {
        both.row("marked by the queue", &|way| way.marked.into());
    }
    if up.policed + down.policed > 0 {
        both.row("dropped by the policer", &|way| bad(way.policed));
    }
    both.row("lost on the line", &|way| bad(way.lost));
    both.row("reordered", &|way| bad(way.reordered));
    if up.missed != Some(0) || down.missed != Some(0) {
        both.row("missed by the emulator", &|way| Text::known(way.missed.map(bad)));
    }
    if up.refused + down.refused > 0 {
        both.row("not taken at the end", &|way| bad(way.refused));
    }
    both.row("most in the queue", &|way| way.queue_high_water_bytes.into());
    both.row("line busy", &|way| figures::percent(way.busy));
    let delay = |of: fn(&Delay) -> Span| {
        move |way: &LinkDirectionReport| Text::known(way.delay_seconds.map(|all| of(&all)))
    };
    both.row("delay given, min", &delay(|all| all.min));
    both.row("             mean", &delay(|all| all.mean));
    both.row("             max", &delay(|all| all.max));
    let late = |of: fn(&Quantiles) -> Option<Span>| {
        move |way: &LinkDirectionReport| Text::known(way.late_seconds.as_ref().and_then(of))
    };
    both.row("emulator late, median", &late(|all| Some(all.p50)));
    both.row("               99 of 100", &late(|all| all.p99));
    both.row("               max", &late(|all| Some(all.max)));
    both.rows
}

/// Returns the rows below the table.
fn rest(report: &LinkRunReport) -> Rows {
    let ends = |of: &Addresses| format!("{}, {}", of.ipv4, of.ipv6);
    let mut rows = Rows::new();
    rows.push("command", ended(&report.command, report.ending, report.interrupted));
    if let Some(peer) = &report.peer {
        rows.push("peer", Text::from(&peer.command).and(": ").and(ending(peer.ending)));
    }
    rows.push(
        "addresses",
        Text::from(ends(&report.local_addresses)).dim(" to ").and(ends(&report.peer_addresses)),
    );
    rows.push("MTU", Bytes::new(u64::from(report.mtu_bytes)));
    rows.push("seed", report.seed.to_string());
    rows.push("scheduling", report.scheduling.words());
    if let Some(share) = report.lengthened {
        let of = figures::percent(share);
        rows.push("round trip", of.and(" longer by the emulator's lateness"));
    }
    rows
}
