//! ACKs of new data, each with the data that it answers.

use std::collections::VecDeque;

use windlass_base::Timestamp;

use super::conversation::{Conversation, Event};

/// A segment that an ACK covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered {
    pub(super) sent: Timestamp,
    /// The time when it came out of the slowest line, but for the path's own time; when
    /// it was sent, where nothing tells.
    pub(super) arrived: Timestamp,
    pub(super) payload: u32,
}

/// An ACK of new data, whose time tells something: nothing of it was sent
/// twice, and it carries nothing else.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) time: Timestamp,
    /// In the order of sending; one at least.
    pub(super) covered: Vec<Covered>,
    pub(super) bytes: u64,
    /// The window that the ACK before offered.
    pub(super) offered: u64,
    /// True if all of it was sent before the ACK before came.
    pub(super) in_flight: bool,
    /// The ACK before, where it was such a reply as well.
    pub(super) before: Option<Timestamp>,
}

impl Reply {
    /// The largest payload that it covers.
    pub(super) fn largest(&self) -> u32 {
        self.covered.iter().map(|covered| covered.payload).max().unwrap_or(0)
    }
}

/// The replies of a conversation.
pub(super) fn of(conversation: &Conversation) -> Vec<Reply> {
    let mut replies = Vec::new();
    let mut waiting: VecDeque<(Covered, u64, bool)> = VecDeque::new();
    let mut acked = 0;
    let mut offered = conversation.answered.map_or(conversation.window, |syn| syn.window.into());
    let mut last: Option<Timestamp> = None;
    let mut disturbed = false;
    for event in &conversation.events {
        match event {
            Event::Sent(sent) if sent.payload > 0 || sent.fin => {
                // What is sent again, and what is closed, is answered otherwise.
                let odd = sent.again || sent.fin;
                if sent.again {
                    disturbed = true;
                }
                let covered =
                    Covered { sent: sent.time, arrived: sent.time, payload: sent.payload };
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
