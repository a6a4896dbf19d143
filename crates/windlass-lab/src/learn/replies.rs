//! ACKs of new data, each with the data that it covers.

use std::collections::VecDeque;

use windlass_base::Timestamp;

use super::conversation::{Conversation, Event};

/// A segment that an ACK covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredSegment {
    pub(super) sent: Timestamp,
    /// Time at which the segment left the bottleneck, without the rest of the path. Without an
    /// estimate, the time at which it was sent.
    pub(super) arrived: Timestamp,
    pub(super) payload: u32,
}

/// An ACK of new data whose time can be measured: none of the data was sent twice, and the ACK
/// carries nothing else.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) time: Timestamp,
    /// Covered segments in the order of sending; at least one.
    pub(super) covered: Vec<CoveredSegment>,
    pub(super) bytes: u64,
    /// Window of the ACK before.
    pub(super) offered: u64,
    /// True if all of the data was sent before the previous ACK arrived.
    pub(super) in_flight: bool,
    /// Time of the previous ACK, if it was such a reply as well.
    pub(super) before: Option<Timestamp>,
}

impl Reply {
    /// Returns the largest covered payload.
    pub(super) fn largest(&self) -> u32 {
        self.covered.iter().map(|covered| covered.payload).max().unwrap_or(0)
    }
}

/// Returns the replies of a conversation.
pub(super) fn of(conversation: &Conversation) -> Vec<Reply> {
    let mut replies = Vec::new();
    let mut waiting: VecDeque<(CoveredSegment, u64, bool)> = VecDeque::new();
    let mut acked = 0;
    let mut offered = conversation.answered.map_or(conversation.window, |syn| syn.window.into());
    let mut last: Option<Timestamp> = None;
    let mut disturbed = false;
    for event in &conversation.events {
        match event {
            Event::Sent(sent) if sent.payload > 0 || sent.fin => {
                // Retransmissions and FINs are answered differently.
                let odd = sent.again || sent.fin;
                if sent.again {
                    disturbed = true;
                }
                let covered =
                    CoveredSegment { sent: sent.time, arrived: sent.time, payload: sent.payload };
                waiting.push_back((covered, sent.to(), odd));
            }
            Event::Sent(_) => {}
            Event::Answer(answer) if answer.ack > acked && !answer.reset => {
                acked = answer.ack;
                let mut covered = Vec::new();
                let mut odd = disturbed || answer.payload > 0 || answer.fin;
                while let Some((segment, to, unusual)) = waiting.front()
                    && *to <= acked
                {
                    odd |= *unusual;
                    covered.push(*segment);
                    waiting.pop_front();
                }
                disturbed &= !waiting.is_empty();
                if odd || covered.is_empty() {
                    last = None;
                } else {
                    let bytes = covered.iter().map(|covered| u64::from(covered.payload)).sum();
                    let in_flight =
                        last.is_some_and(|last| covered.iter().all(|one| one.sent < last));
                    let time = answer.time;
                    replies.push(Reply { time, covered, bytes, offered, in_flight, before: last });
                    last = Some(answer.time);
                }
                offered = answer.window;
            }
            Event::Answer(answer) => {
                if !answer.reset {
                    offered = answer.window;
                }
            }
        }
    }
    replies
}
