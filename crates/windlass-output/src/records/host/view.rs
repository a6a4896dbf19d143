//! Machine as a live view.

use windlass_base::{Rate, Span};
use windlass_host::{Interval, Watcher};

use super::lines;
use crate::live::{Series, View, ViewInterval};
use crate::{Text, figures};

/// Returns the empty view: processors, available memory, and disk traffic. Its table shows
/// processes if wanted, and otherwise disks.
pub fn view(interval: Span, of_processes: bool, watcher: &Watcher) -> View {
    let bytes = |value| Text::from(super::figures::bytes(value));
    let series = [
        Series::new("busy", figures::percent),
        Series::new("busiest core", figures::percent),
        Series::new("waiting", figures::percent),
        Series::new("available", bytes),
        Series::new("from disks/s", bytes),
        Series::new("to disks/s", bytes),
    ];
    let table = match of_processes {
        true => lines::process_table(),
        false => lines::disks(&[]),
    };
    let (columns, _) = table.into_parts();
    let title = Text::from("windlass watch: ").and(lines::machine(&watcher.machine));
    View::new(title, Some(interval), series)
        .with_table(columns.into_iter().map(|column| (column, 0)))
}

/// Returns an interval of the view.
pub fn stretch(of_processes: bool, interval: &Interval) -> ViewInterval {
    let host = &interval.host;
    let rate = |rate: Option<Rate>| rate.map(Rate::bytes_per_second);
    let table = match of_processes {
        true => lines::processes(interval),
        false => lines::disks(&interval.disks),
    };
    let state = Text::from(host.run_queue)
        .and(" runnable threads, ")
        .and(host.blocked)
        .and(" waiting for a disk");
    ViewInterval {
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
        ..ViewInterval::default()
    }
}
