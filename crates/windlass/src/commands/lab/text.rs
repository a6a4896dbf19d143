//! The report of a scenario as text.

use windlass_base::Rate;
use windlass_base::verdict::{Remedy, Verdict, is_telling};
use windlass_lab::TransferEnd;
use windlass_output::verdict::{self, cause};
use windlass_output::{Column, Page, Record, Style, Table, Text, figures};

use super::outcome::{Outcomes, RowOutcome};

impl Record for Outcomes {
    fn text(&self, page: &mut Page) {
        page.paragraph(Text::default().strong(self.title.as_str()));
        page.paragraph(self.shows.as_str());
        if let Some(source) = &self.source {
            page.paragraph(Text::default().dim(format!("From: {source}")));
        }
        page.gap();
        page.table(&measured(&self.rows));
        if self.real {
            page.heading("Compared with the simulation");
            page.table(&simulated(&self.rows));
            for row in &self.rows {
                buffer(page, row);
            }
        }
        if self.rows.iter().any(is_documented) {
            page.heading("Compared with the document");
            page.table(&documented(&self.rows));
            for row in &self.rows {
                if let Some(note) = &row.note {
                    page.item("-", name(row).and(": ").and(note.as_str()));
                }
                if row.stall_not_reached && is_documented(row) {
                    let what = " is too little for this device to stall, and the document's rate \
                                includes stalls: send more with --bytes";
                    page.item("-", name(row).and(": ").and(row.bytes).and(what));
                }
            }
        }
        page.heading("What held each back");
        for row in &self.rows {
            held_back(page, row, self.real);
        }
        if self.rows.iter().any(|row| row.remedy_trial.is_some()) {
            page.heading("Promise and outcome");
            page.table(&tried(&self.rows));
            page.gap();
            page.paragraph(
                "Each change was made in the same scenario. \"At most\" is the lowest bound of \
                 the packets, the scenario's link and its device.",
            );
        }
        let captures: Vec<&str> =
            self.rows.iter().filter_map(|row| row.capture.as_deref()).collect();
        if !captures.is_empty() {
            page.heading("Captures");
            for capture in captures {
                page.line(capture);
            }
        }
        page.gap();
        let how = if self.real {
            "In real time: sent by this system's TCP with cubic. The simulation sends the same \
             bytes in virtual time"
        } else {
            "In virtual time"
        };
        page.paragraph(Text::default().dim(format!(
            "{how}, seed {}. Rates count only data, from the SYN to the last ACK and reply.",
            self.seed
        )));
    }
}

/// Returns the device and method of a row.
fn device(row: &RowOutcome) -> Text {
    Text::from(row.device.as_str()).and(" ").and(row.method.id())
}

/// Returns the setting, device and method of a row. The difference between rows of one device comes
/// first, so that a narrow page does not cut it.
fn name(row: &RowOutcome) -> Text {
    match &row.setting {
        Some(setting) => Text::from(setting.as_str()).and(", ").and(device(row)),
        None => device(row),
    }
}

/// Returns the table of the document.
fn measured(rows: &[RowOutcome]) -> Table {
    let settings = rows.iter().any(|row| row.setting.is_some());
    let interfaces = rows.iter().any(|row| row.interface.is_some());
    let mut columns = vec![Column::left("device, method").flexible()];
    if settings {
        columns.push(Column::left("setting"));
    }
    if interfaces {
        columns.push(Column::left("interface"));
    }
    columns.extend([
        Column::right("window/frames"),
        Column::right("ACK after"),
        Column::right("time"),
        Column::right("rate"),
    ]);
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = vec![device(row)];
        if settings {
            cells.push(row.setting.as_deref().unwrap_or("").into());
        }
        if interfaces {
            cells.push(row.interface.as_deref().unwrap_or("").into());
        }
        cells.extend([
            window(row),
            row.ack_latency_seconds.map_or_else(|| "?".into(), Text::from),
            row.seconds.into(),
            row.bytes_per_second.into(),
        ]);
        table.push(cells);
    }
    table
}

/// Returns the window in bytes and frames; `<1` for less than a full segment, as in the document.
fn window(row: &RowOutcome) -> Text {
    let Some(bytes) = row.receive_window_bytes else { return "?".into() };
    let text = Text::from(bytes);
    match row.receive_window_frames {
        Some(0) => text.and(" / <1"),
        Some(frames) => text.and(" / ").and(frames),
        None => text,
    }
}

fn is_documented(row: &RowOutcome) -> bool {
    row.documented_bytes_per_second.is_some() || row.documented_seconds.is_some()
}

/// Compares the transfers in real time with those in virtual time.
fn simulated(rows: &[RowOutcome]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("device, method").flexible(), name),
            (Column::right("sent"), |row| row.bytes.into()),
            (Column::right("real"), |row| row.bytes_per_second.into()),
            (Column::right("simulated"), |row| some(row.simulated_bytes_per_second)),
            (Column::right("difference"), |row| off(row.simulated_rate_difference)),
            (Column::left("verdict"), |row| match same_cause(row) {
                true => "same".into(),
                false => Text::styled(Style::Bad, "differs"),
            }),
        ],
    )
}

fn some(value: Option<impl Into<Text>>) -> Text {
    value.map_or_else(Text::default, Into::into)
}

fn off(difference: Option<f64>) -> Text {
    some(difference.map(figures::difference))
}

/// Prints the requested and the granted send buffer.
fn buffer(page: &mut Page, row: &RowOutcome) {
    let (Some(asked), Some(granted), Some(held)) =
        (row.send_buffer_bytes, row.granted_send_buffer_bytes, row.held_send_buffer_bytes)
    else {
        return;
    };
    let text = name(row)
        .and(": a send buffer of ")
        .and(asked)
        .and(" was asked for. The kernel granted ")
        .and(granted)
        .and(", which also holds its own records. The most data in it was ")
        .and(held)
        .and("; the simulated sender has the same.");
    page.item("-", text);
}

/// Returns true if the simulation has the same limit for the same reason.
fn same_cause(row: &RowOutcome) -> bool {
    let of = |verdict: &Option<Verdict>| verdict.as_ref().map(|verdict| verdict.cause);
    of(&row.verdict) == of(&row.simulated_verdict)
}

fn documented(rows: &[RowOutcome]) -> Table {
    Table::of(
        rows.iter().filter(|row| is_documented(row)),
        &[
            (Column::left("device, method").flexible(), name),
            (Column::right("documented rate"), |row| some(row.documented_bytes_per_second)),
            (Column::right("difference"), |row| off(row.rate_difference)),
            (Column::right("documented time"), |row| some(row.documented_seconds)),
            (Column::right("difference"), |row| off(row.time_difference)),
            (Column::right("price"), |row| some(row.documented_price.as_deref())),
        ],
    )
}

/// Returns the remedy of each row, with its outcome.
fn tried(rows: &[RowOutcome]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("device, method").flexible(), name),
            (Column::left("change"), |row| {
                Text::known(row.remedy_trial.as_ref().map(|trial| trial.change.as_str()))
            }),
            (Column::right("promised"), |row| {
                Text::known(row.remedy_trial.as_ref().map(|trial| match trial.bound {
                    Some(bound) => Text::from("at most ").and(bound),
                    None => some(trial.expected_bytes_per_second),
                }))
            }),
            (Column::right("outcome"), |row| {
                Text::known(row.remedy_trial.as_ref().map(|trial| match trial.ended {
                    TransferEnd::Finished => trial.bytes_per_second.into(),
                    other => Text::styled(Style::Bad, other.id()),
                }))
            }),
        ],
    )
}

fn held_back(page: &mut Page, row: &RowOutcome, real: bool) {
    let mut head = Text::default().strong(name(row));
    if row.ended != TransferEnd::Finished {
        let ended = match row.ended {
            TransferEnd::Reset => "the device reset the connection",
            TransferEnd::GaveUp => "the sender gave up",
            TransferEnd::Unfinished if real => "the transfer did not end in time",
            TransferEnd::Finished | TransferEnd::Unfinished => "the transfer would not have ended",
        };
        head = head.with(Style::Bad, format!("; {ended}, after ")).and(row.bytes);
    }
    page.paragraph(head);
    page.indented(|page| {
        let Some(verdict) = &row.verdict else {
            return page.line("no data was sent");
        };
        verdict::in_short(page, verdict);
        if real && !same_cause(row) {
            let simulated = row.simulated_verdict.as_ref().map(|verdict| verdict.cause);
            page.paragraph(
                Text::from("in the simulation: ")
                    .and(simulated.map_or_else(|| "no data was sent".to_owned(), cause)),
            );
        }
        if let Some(remedy) = verdict.remedies.first() {
            page.paragraph(promise(row, remedy, verdict.measured_bytes_per_second));
        }
    });
}

/// Describes a remedy with its promise, and the lower bound of the row's scenario, if any. The
/// scenario replaces facts that a capture lacks, so no test is named then.
fn promise(row: &RowOutcome, remedy: &Remedy, measured: Rate) -> Text {
    let at_most = remedy.at_most_bytes_per_second;
    let trial = row.remedy_trial.as_ref();
    let trial = trial.filter(|trial| trial.at_most_bytes_per_second == at_most);
    let lower = trial.and_then(|trial| trial.bound).filter(|bound| at_most > Some(*bound));
    let Some(lower) = lower else { return verdict::remedy_text(remedy, measured) };
    let told = at_most.filter(|most| is_telling(*most, measured));
    let remedy = Remedy { at_most_bytes_per_second: told, ..remedy.clone() };
    verdict::remedy_text(&remedy, measured)
        .and("; this scenario's link and device allow ")
        .strong(lower)
}
