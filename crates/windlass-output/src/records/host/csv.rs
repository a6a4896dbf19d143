//! Intervals as CSV (RFC 4180): a row for the machine, and one for each disk and process. All rows
//! have the same columns; missing values are empty.

use windlass_base::Span;
use windlass_base::figures::fixed;
use windlass_host::Interval;
use windlass_host::columns::{Column, DISK, HOST, PROCESS, TOTAL};

use crate::csv::quoted;

/// Columns that identify a row.
const KEYS: [&str; 6] = ["from_seconds", "to_seconds", "kind", "name", "pid", "state"];

/// End of a line.
const END: &str = "\r\n";

/// Returns the names of the columns, whose order never changes.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = HOST.iter().map(|column| column.name).collect();
    names.push("busiest_core");
    let others = DISK.iter().map(|column| column.name);
    let others = others.chain(PROCESS.iter().map(|column| column.name));
    for name in others.chain(TOTAL.iter().map(|column| column.name)) {
        // Disks and processes have some columns in common.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the line of names.
pub fn head() -> String {
    let names: Vec<&str> = KEYS.into_iter().chain(names()).collect();
    format!("{}{END}", names.join(","))
}

/// Returns the rows of an interval.
pub fn rows(interval: &Interval) -> String {
    let names = names();
    let mut rows = String::new();
    let mut row = |kind: &str, name: &str, pid: Option<u32>, state: Option<char>, of: Figures| {
        let pid = pid.map_or_else(String::new, |pid| pid.to_string());
        let state = state.map_or_else(String::new, String::from);
        let mut fields = vec![
            seconds(interval.from_seconds),
            seconds(interval.to_seconds),
            kind.to_owned(),
            quoted(name),
            pid,
            quoted(&state),
        ];
        fields.extend(names.iter().map(|name| {
            let figure = of.iter().find(|(known, _)| known == name);
            figure.map_or_else(String::new, |(_, figure)| number(*figure))
        }));
        rows.push_str(&fields.join(","));
        rows.push_str(END);
    };
    let mut host = figures(&HOST, &interval.host);
    host.extend(interval.host.busiest_core.map(|core| ("busiest_core", f64::from(core))));
    row("host", "", None, None, host);
    for disk in &interval.disks {
        row("disk", &disk.name, None, None, figures(&DISK, disk));
    }
    for process in &interval.processes {
        let (pid, state) = (Some(process.pid), Some(process.state));
        row("process", &process.name, pid, state, figures(&PROCESS, process));
    }
    for total in &interval.totals {
        row("total", &total.wanted, None, None, figures(&TOTAL, total));
    }
    for event in &interval.events {
        row(event.what.id(), &event.name, Some(event.pid), None, Vec::new());
    }
    rows
}

type Figures = Vec<(&'static str, f64)>;

fn figures<T>(columns: &[Column<T>], of: &T) -> Figures {
    columns.iter().filter_map(|column| Some((column.name, (column.of)(of)?))).collect()
}

fn seconds(span: Span) -> String {
    number(span.as_seconds())
}

/// Returns a number as in the JSON, except that whole numbers have no fraction.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        fixed(value, 0)
    } else {
        serde_json::to_string(&value).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use windlass_host::rates::{DiskRates, Event, ProcessEventKind, ProcessRates, Total};

    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let process = ProcessRates {
            pid: 7,
            name: "a,\"b\"\n".to_owned(),
            state: 'R',
            cpu_share: Some(0.5),
            ..ProcessRates::default()
        };
        let event = Event { pid: 7, name: "x".to_owned(), what: ProcessEventKind::Ended };
        let interval = Interval {
            from_seconds: Span::ZERO,
            to_seconds: Span::from_millis(1_500),
            disks: vec![DiskRates { name: "sda".to_owned(), ..DiskRates::default() }],
            processes: vec![process],
            totals: vec![Total::default()],
            events: vec![event],
            ..Interval::default()
        };
        let table = head() + &rows(&interval);
        // The quoted name contains a line end.
        let table = table.replace("\"a,\"\"b\"\"\n\"", "QUOTED");
        let lines: Vec<&str> = table.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 6);
        let columns = lines[0].split(',').count();
        for line in &lines {
            assert_eq!(line.split(',').count(), columns, "{line}");
        }
        assert!(lines[0].starts_with("from_seconds,to_seconds,kind,name,pid,state,run_queue,"));
        assert!(lines[1].starts_with("0,1.5,host,,,,0,0,"), "{}", lines[1]);
        assert!(lines[3].starts_with("0,1.5,process,QUOTED,7,R,"), "{}", lines[3]);
        assert!(lines[5].starts_with("0,1.5,ended,x,7,,,"), "{}", lines[5]);
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len() + KEYS.len(), columns);
    }
}
