//! Bursts that follow messages of the receiver's program.
//!
//! A program that lets so much come at a time (an answer for each piece, the window of an HTTP/2
//! stream or an SSH channel, credits of SMB) sends a few bytes for each piece that it took. Then
//! data of the receiver comes between two bursts, though most of its packets carry none.

use windlass_base::thresholds::{
    BUSY_HOST, ENOUGH, HALF_AGAIN, HALF_OF_IT, MOST_OF_IT, RELEASED_BY_MESSAGES,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use super::Arrival;

use crate::follow::ack::Ack;

/// The messages of one side, and the bursts that they came with.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(super) struct Messages {
    packets: u32,
    messages: u32,
    /// Last message since the last segment; an earlier message released no later segment.
    came: Option<Timestamp>,
    waits: u32,
    with_message: u32,
    /// Waits whose last ACK, as it reached the sender, was a message.
    by_message: u32,
}

impl Messages {
    /// Records a packet of the receiver.
    pub(super) fn heard(&mut self, ack: &Ack) {
        self.packets = self.packets.saturating_add(1);
        self.messages = self.messages.saturating_add(u32::from(ack.carries_data));
        if ack.carries_data {
            self.came = Some(ack.time);
        }
    }

    /// Records the segment that ends a wait. A message lets it go if it comes within a round trip
    /// and what a busy host takes; a later one is sent for another reason.
    pub(super) fn waited(&mut self, arrival: &Arrival) {
        let is_soon = |since: Span, trips: f64| {
            arrival.rtt.is_none_or(|rtt| since <= rtt.scaled(trips) + BUSY_HOST.get())
        };
        let came = self.came.map(|came| arrival.time.since(came));
        let with_message = came.is_some_and(|since| is_soon(since, HALF_AGAIN.get()));
        let by_message = arrival.by_message && is_soon(arrival.since_release, HALF_OF_IT.get());
        self.waits = self.waits.saturating_add(1);
        self.with_message = self.with_message.saturating_add(u32::from(with_message));
        self.by_message = self.by_message.saturating_add(u32::from(by_message));
    }

    /// Records a segment, after the wait that it may have ended.
    pub(super) fn arrived(&mut self) {
        self.came = None;
    }

    /// Returns the number of waits in which a message came, or which it ended, whichever is more.
    pub(super) fn awaited(&self) -> u32 {
        self.with_message.max(self.by_message)
    }

    /// Returns the share of waits that may have been for a message.
    pub(super) fn share(&self) -> f64 {
        f64::from(self.with_message) / f64::from(self.waits.max(1))
    }

    /// Returns the share of waits whose last ACK at the sender was a message.
    pub(super) fn released(&self) -> f64 {
        f64::from(self.by_message) / f64::from(self.waits.max(1))
    }

    /// Returns the share of packets that are messages.
    pub(super) fn of_packets(&self) -> f64 {
        f64::from(self.messages) / f64::from(self.packets.max(1))
    }

    /// Returns whether bursts follow messages. Either a message comes in each wait, or a message is
    /// the last ACK before the burst, as the sender has it, more often than by chance. The latter
    /// shows a program that has some of its window open meanwhile.
    pub(super) fn hold(&self) -> bool {
        let chance = self.of_packets();
        let beyond_chance = (self.released() - chance) / (1.0 - chance).max(f64::MIN_POSITIVE);
        self.waits >= ENOUGH.to::<u32>()
            && (self.share() >= MOST_OF_IT.get() && chance <= HALF_OF_IT.get()
                || beyond_chance >= RELEASED_BY_MESSAGES.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 100 waits, so many of them ended by a message, of 1,000 packets that carry none but
    /// these.
    fn ended(by_message: u32, messages: u32) -> Messages {
        Messages { packets: 1_000, messages, waits: 100, by_message, ..Messages::default() }
    }

    #[test]
    fn messages_end_waits_more_often_than_by_chance() {
        assert!(ended(19, 10).hold() && !ended(18, 10).hold());
        // Chance alone has half of the waits end with one.
        assert!(ended(60, 500).hold() && !ended(58, 500).hold());
    }

    #[test]
    fn a_message_in_most_waits_is_enough_of_few_messages() {
        let came = |with_message, messages| Messages { with_message, ..ended(0, messages) };
        assert!(came(80, 500).hold() && !came(79, 500).hold() && !came(80, 501).hold());
        assert_eq!(came(80, 10).awaited(), 80);
        assert_eq!(Messages { with_message: 2, ..ended(73, 10) }.awaited(), 73);
    }

    #[test]
    fn a_few_waits_show_no_habit() {
        let few = Messages { waits: ENOUGH.to::<u32>() - 1, ..ended(ENOUGH.to::<u32>() - 1, 10) };
        assert!(!few.hold());
        assert!(
            Messages { waits: ENOUGH.to::<u32>(), by_message: ENOUGH.to::<u32>(), ..few }.hold()
        );
    }
}
