//! Transfers between two hosts at the same time, for people and for programs.

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_trace::report::{Gain, Stream, TransferGroup, together};
use windlass_wire::Host;

use crate::{Page, Text, figures, verdict};

/// Maximum number of host pairs that are named.
const MAX_SHOWN: usize = 5;

/// Transfers from one host to another, some of them simultaneous.
#[derive(Debug, Serialize)]
pub(super) struct HostPairTransfers {
    /// Names of the hosts.
    sender: String,
    receiver: String,
    #[serde(flatten)]
    together: TransferGroup,
}

impl HostPairTransfers {
    /// Returns the host pairs with the most data.
    pub(super) fn of(streams: &[Stream], name: impl Fn(Host) -> String) -> Vec<Self> {
        let all = together(streams).into_iter().take(MAX_SHOWN);
        all.map(|together| {
            let [sender, receiver] = together.hosts.map(&name);
            Self { sender, receiver, together }
        })
        .collect()
    }

    /// Writes the transfers as a paragraph.
    pub(super) fn text(&self, page: &mut Page) {
        let TransferGroup { transfers, at_once, rate, each, alone, cause, gain, .. } =
            self.together;
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
                "Each transfer has its own limit: one more adds the same rate, while the path has \
                 room."
            }
            Gain::Nothing => "They share a full bottleneck: one more adds nothing.",
            Gain::Unknown => "The effect of one more transfer is unknown.",
        }));
    }
}
