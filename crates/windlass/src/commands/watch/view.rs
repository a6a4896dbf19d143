//! A machine as a live view.

use windlass_base::Rate;
use windlass_host::{Interval, Watcher};

use super::args::WatchArgs;
use super::live;
use crate::live::{Series, Stretch, View};
use crate::print::{Text, figures};

/// The view, with nothing in it yet: processors, memory that is available, and what goes to and
/// from disks; a table of processes, where some are asked for, or else of disks.
pub(super) fn view(args: &WatchArgs, watcher: &Watcher) -> View {
    let bytes = |value| Text::from(super::figures::bytes(value));
    let series = [
        Series::new("busy", figures::percent),
        Series::new("busiest core", figures::percent),
        Series::new("waiting", figures::percent),
        Series::new("available", bytes),
        Series::new("from disks/s", bytes),
        Series::new("to disks/s", bytes),
    ];
    let table = match args.processes.is_empty() {
        true => live::disks(&[]),
        false => live::process_table(),
    };
    let (columns, _) = table.into_parts();
    let title = Text::from("windlass watch: ").and(live::machine(&watcher.machine));
    View::new(title, Some(args.interval), series)
        .with_table(columns.into_iter().map(|column| (column, 0)))
}

/// An interval.
pub(super) fn stretch(args: &WatchArgs, interval: &Interval) -> Stretch {
    let host = &interval.host;
    let rate = |rate: Option<Rate>| rate.map(Rate::bytes_per_second);
    let table = match args.processes.is_empty() {
        true => live::disks(&interval.disks),
        false => live::processes(interval),
    };
    let state = Text::from(host.run_queue)
        .and(" threads run or could, ")
        .and(host.blocked)
        .and(" wait for a disk");
    Stretch {
        from: interval.from_seconds,
        to: interval.to_seconds,
        values: vec![
            Some(host.cpu.busy()),
            host.busiest_core_share,
            Some(host.cpu.iowait_share),
            host.available_bytes.map(|bytes| bytes.get() as f64),
            rate(host.block_in_bytes_per_second),
            rate(host.block_out_bytes_per_second),
        ],
        rows: table.into_parts().1,
        state,
        ..Stretch::default()
    }
}
