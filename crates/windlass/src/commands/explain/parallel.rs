//! Transfers between two hosts at the same time, for people and for programs.

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_base::{Because, Limit, Rate};
use windlass_trace::report::{Gain, Stream, Together, together};
use windlass_wire::Host;

use crate::print::{Page, Text, figures, verdict};

/// The pairs of hosts that are named.
const MAX_SHOWN: usize = 5;

/// Transfers from one host to another, some of them at the same time.
#[derive(Debug, Serialize)]
pub(super) struct Parallel {
    /// The hosts.
    sender: String,
    receiver: String,
    /// How many.
    transfers: u64,
    /// How many ran at once, on average, while there were two at least.
    at_once: f64,
    /// What they carried together in that time, and what each had of it.
    bytes_per_second: Rate,
    each_bytes_per_second: Rate,
    /// What one had that ran alone; null where none did for long enough.
    alone_bytes_per_second: Option<Rate>,
    /// The verdict that cost them most time.
    limit: Limit,
    because: Option<Because>,
    /// What one more at the same time brings.
    one_more_brings: Gain,
}

impl Parallel {
    /// Those that carried most.
    pub(super) fn of(streams: &[Stream], name: impl Fn(Host) -> String) -> Vec<Self> {
        let all = together(streams).into_iter().take(MAX_SHOWN);
        all.map(|together| {
            let Together { hosts, transfers, at_once, rate, each, alone, limit, because, gain } =
                together;
            Self {
                sender: name(hosts[0]),
                receiver: name(hosts[1]),
                transfers,
                at_once,
                bytes_per_second: rate,
                each_bytes_per_second: each,
                alone_bytes_per_second: alone,
                limit,
                because,
                one_more_brings: gain,
            }
        })
        .collect()
    }

    pub(super) fn text(&self, page: &mut Page) {
        let mut text = Text::from(self.sender.as_str()).and(" → ").and(self.receiver.as_str());
        text = text.and(": ").and(figures::counted(self.transfers, "transfer")).and(", ");
        text = text.and(format!("{} at once: ", fixed(self.at_once, 1))).and(self.bytes_per_second);
        text = text.and(" together, ").and(self.each_bytes_per_second).and(" each");
        if let Some(alone) = self.alone_bytes_per_second {
            text = text.and(", ").and(alone).and(" one alone");
        }
        text = text.and("; mostly ").and(verdict::limit_and_cause(self.limit, self.because));
        page.paragraph(text.and(". ").and(match self.one_more_brings {
            Gain::AsMuchAgain => {
                "What holds them is each one's own: one more brings as much again, while the path \
                 has room."
            }
            Gain::Nothing => "They share a full line: one more brings nothing.",
            Gain::Unknown => "What one more would bring does not show.",
        }));
    }
}
