//! The search for the rate at which a path begins to lose datagrams, for people.

use windlass_base::Rate;
use windlass_drive::udp::search::{Judged, Limit, SearchResult};

use crate::{Column, Page, Rows, Style, Table, Text, figures};

/// The columns of tests.
pub fn table() -> Table {
    Table::new([
        Column::right("rate").least(12),
        Column::right("sent").least(12),
        Column::right("datagrams").least(10),
        Column::right("lost").least(16),
        Column::left("").least(8),
    ])
}

/// A test, as the row of that table.
pub fn cells(judged: &Judged) -> [Text; 5] {
    let Judged { asked, sent, datagrams, lost, limit } = judged;
    let share = *lost as f64 / (*datagrams).max(1) as f64;
    let lost = match lost {
        0 => Text::styled(Style::Dim, "0"),
        lost => {
            let share = figures::fine_percent(share).plain();
            Text::from(format!("{} ({share})", figures::count(*lost)))
        }
    };
    let word = match limit {
        None => Text::styled(Style::Dim, "carried"),
        Some(limit) => Text::styled(Style::Warn, in_a_word(*limit)),
    };
    [asked.in_bits().into(), sent.in_bits().into(), figures::count(*datagrams).into(), lost, word]
}

const fn in_a_word(limit: Limit) -> &'static str {
    match limit {
        Limit::Loss => "loses more",
        Limit::Queue => "queues",
        Limit::Sender => "the sender cannot",
        Limit::Receiver => "the receiver cannot",
    }
}

/// What was found, for people.
pub(super) fn text(page: &mut Page, found: &SearchResult) {
    page.heading(Text::from("The rate of the path"));
    let mut rows = Rows::new();
    let rate = |rate: Rate| Text::default().strong(figures::both(rate));
    match found.carried {
        Some(carried) => rows.push("carried", rate(carried)),
        None => {
            rows.push("carried", Text::styled(Style::Warn, "none of the rates that were tried"));
        }
    }
    if let Some((refused, limit)) = found.refused.zip(found.limit) {
        let at = match limit {
            Limit::Loss => rate(refused).and(": more was lost than at slower ones"),
            Limit::Queue => {
                rate(refused).and(": a queue grew, and loses what comes once it is full")
            }
            Limit::Sender => {
                Text::from("not found: the sender could not keep ").and(refused.in_bits())
            }
            Limit::Receiver => Text::from("not found: the receiver's socket had no room at ")
                .and(refused.in_bits()),
        };
        rows.push("begins to lose", at);
    }
    let tests = found.trials.len() as u64;
    let which =
        if found.carried.is_some() { "the last one that was carried" } else { "the last one" };
    let tests = figures::counted(tests, "test").and(format!("; what follows is of {which}"));
    rows.push("tests", tests);
    page.indented(|page| page.rows(&rows));
    page.gap();
}
