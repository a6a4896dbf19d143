//! Links in scenarios: one direction of a stretch of the path.

use serde::Deserialize;
use windlass_base::laws::Framing;
use windlass_base::{Bytes, Span};
use windlass_sim::{LinkSettings, Policer};

use super::values::{Share, Size, Speed, Time};

/// A link as a scenario has it.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkText {
    rate: Option<Speed>,
    delay: Option<Time>,
    queue: Option<Size>,
    loss: Option<Share>,
    corruption: Option<Share>,
    jitter: Option<Time>,
    #[serde(default)]
    jitter_reorders: bool,
    reorder: Option<Share>,
    reorder_by: Option<Time>,
    policer: Option<PolicerText>,
    /// The largest packet; larger ones vanish.
    mtu: Option<u16>,
}

/// A token bucket that drops what goes beyond a rate.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicerText {
    rate: Speed,
    burst: Size,
}

impl LinkText {
    /// What the link does; what is left out it does not.
    pub(super) fn settings(self) -> LinkSettings {
        LinkSettings {
            rate: self.rate.map(|rate| rate.0),
            delay: self.delay.map_or(Span::ZERO, |time| time.0),
            queue: self.queue.map(|size| size.0),
            loss: self.loss.map_or(0.0, |share| share.0),
            jitter: self.jitter.map_or(Span::ZERO, |time| time.0),
            jitter_reorders: self.jitter_reorders,
            reorder: self.reorder.map_or(0.0, |share| share.0),
            reorder_by: self.reorder_by.map_or(Span::ZERO, |time| time.0),
            corrupt: self.corruption.map_or(0.0, |share| share.0),
            policer: self
                .policer
                .map(|policer| Policer { rate: policer.rate.0, burst: policer.burst.0 }),
            // A link counts what a packet takes on the line.
            largest: self
                .mtu
                .map(|mtu| Bytes::new(u64::from(u32::from(mtu) + Framing::ETHERNET.per_packet))),
        }
    }
}
