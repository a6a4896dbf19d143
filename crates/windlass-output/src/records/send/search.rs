//! Search for the rate at which a path begins to lose datagrams, for people.

use windlass_base::Rate;
use windlass_drive::udp::search::{JudgedTrial, Limit, SearchResult};

use crate::{Column, Page, Rows, Style, Table, Text, figures};

/// Returns the table of tests, with its columns.
pub fn table() -> Table {
    Table::new([
        Column::right("rate").least(12),
        Column::right("sent").least(12),
        Column::right("datagrams").least(10),
        Column::right("lost").least(16),
        Column::left("").least(8),
    ])
}

/// Returns a test as a row of that table.
pub fn cells(judged: &JudgedTrial) -> [Text; 5] {
    let JudgedTrial { asked, sent, datagrams, lost, limit } = judged;
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

/// Writes the result of the search.
pub(super) fn text(page: &mut Page, found: &SearchResult) {
    page.heading(Text::from("The rate of the path"));
    let mut rows = Rows::new();
    let rate = |rate: Rate| Text::default().strong(figures::both(rate));
    match found.carried {
        Some(carried) => rows.push("carried", rate(carried)),
        None => {
            rows.push("carried", Text::styled(Style::Warn, "no rate that was tried"));
        }
    }
    if let Some((refused, limit)) = found.refused.zip(found.limit) {
        let at = match limit {
            Limit::Loss => rate(refused).and(": more loss than at lower rates"),
            Limit::Queue => rate(refused).and(": a queue grew, and drops packets once it is full"),
            Limit::Sender => {
                Text::from("not found: the sender could not send ").and(refused.in_bits())
            }
            Limit::Receiver => {
                Text::from("not found: the receiver's socket was full at ").and(refused.in_bits())
            }
        };
        rows.push("begins to lose", at);
    }
    let tests = found.trials.len() as u64;
    let which =
        if found.carried.is_some() { "the last test that was carried" } else { "the last test" };
    let tests = figures::counted(tests, "test").and(format!("; the figures below are of {which}"));
    rows.push("tests", tests);
    page.indented(|page| page.rows(&rows));
    page.gap();
}
