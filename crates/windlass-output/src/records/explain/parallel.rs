//! Transfers between two hosts at the same time, for people and for programs.

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_trace::report::{Gain, Stream, Together, together};
use windlass_wire::Host;

use crate::{Page, Text, figures, verdict};

/// The pairs of hosts that are named.
const MAX_SHOWN: usize = 5;

/// Transfers from one host to another, some of them at the same time.
#[derive(Debug, Serialize)]
pub(super) struct Parallel {
    /// The hosts.
    sender: String,
    receiver: String,
    #[serde(flatten)]
    together: Together,
}

impl Parallel {
    /// Those that carried most.
    pub(super) fn of(streams: &[Stream], name: impl Fn(Host) -> String) -> Vec<Self> {
        let all = together(streams).into_iter().take(MAX_SHOWN);
        all.map(|together| {
            let [sender, receiver] = together.hosts.map(&name);
            Self { sender, receiver, together }
        })
        .collect()
    }

    /// Writes it.
    pub(super) fn text(&self, page: &mut Page) {
        let Together { transfers, at_once, rate, each, alone, cause, gain, .. } = self.together;
        let mut text = Text::from(self.sender.as_str()).and(" → ").and(self.receiver.as_str());
        text = text.and(": ").and(figures::counted(transfers, "transfer")).and(", ");
        text = text.and(format!("{} at once: ", fixed(at_once, 1))).and(rate);
        text = text.and(" together, ").and(each).and(" each");
        if let Some(alone) = alone {
            text = text.and(", ").and(alone).and(" one alone");
        }
        text = text.and("; mostly ").and(verdict::cause(cause));
        page.paragraph(text.and(". ").and(match gain {
            Gain::AsMuchAgain => {
                "What holds them is each one's own: one more brings as much again, while the path \
                 has room."
            }
            Gain::Nothing => "They share a full line: one more brings nothing.",
            Gain::Unknown => "What one more would bring does not show.",
        }));
    }
}
