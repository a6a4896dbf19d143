//! Counts of one direction.

use windlass_base::Span;
use windlass_base::thresholds::MORE_THAN_ONE;
use windlass_macros::PackedSparsely;

use crate::packed::{Packed, Packer, Unpacker};

/// Maximum number of packet numbers kept as examples.
const EXAMPLES: usize = 8;

/// First few packets of a kind, as examples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Examples(Vec<u64>);

impl Packed for Examples {
    fn pack(&self, to: &mut Packer) {
        self.0.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        Self(Packed::unpack(from))
    }
}

impl Examples {
    pub(crate) fn add(&mut self, number: u64) {
        if self.0.len() < EXAMPLES {
            self.0.push(number);
        }
    }

    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.0
    }
}

/// Counts of one direction's data and of the ACKs that answer it.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct Counts {
    /// Payload bytes in the capture, each counted once.
    pub(crate) bytes: u64,
    pub(crate) segments: u64,
    pub(crate) acks: u64,
    pub(crate) acked: u64,
    pub(crate) flight_most: u64,
    /// The flight before the last ACK.
    pub(crate) last_flight: u64,
    pub(crate) super_packets: u64,
    pub(crate) retransmissions: u64,
    /// Retransmissions of the first loss, which ends slow start: it overshoots the path's capacity.
    pub(crate) first_retransmissions: u64,
    pub(crate) fast: u64,
    pub(crate) timer: u64,
    pub(crate) spurious: u64,
    /// Fast retransmissions after ACKs of copies.
    pub(crate) of_copies: u64,
    /// Retransmissions that came sooner than the path's round trip after the first copy.
    pub(crate) early: u64,
    pub(crate) timeouts: u64,
    /// Timeouts without proof that data was lost.
    pub(crate) blind_timeouts: u64,
    /// Timeouts after which a small segment went out at once.
    pub(crate) held_small: u64,
    /// Timeouts that the receiver's withheld ACK caused.
    pub(crate) withheld: u64,
    pub(crate) loss_events: u64,
    /// Silences in which the sender sent data that did not come to the capture.
    pub(crate) skips: u64,
    pub(crate) out_of_order: u64,
    pub(crate) duplicate_acks: u64,
    pub(crate) d_sacks: u64,
    /// SACK blocks, and those outside of all data that may have been sent.
    pub(crate) sack_blocks: u64,
    pub(crate) sacks_outside: u64,
    /// ACKs whose options are not whole in the capture.
    pub(crate) cut_acks: u64,
    pub(crate) zero_windows: u64,
    pub(crate) closures: u64,
    /// Closures that ended as soon after a probe as an ACK of data comes, and later than the path's
    /// round trip.
    pub(crate) late_openings: u64,
    pub(crate) closed_at_end: bool,
    /// Time for which the window was closed and the sender did not probe, though it should have.
    pub(crate) unasked: Span,
    /// The time for which the sender waited in vain for an ACK when the capture ended.
    pub(crate) silent_at_end: Span,
    pub(crate) probes: u64,
    pub(crate) keep_alives: u64,
    pub(crate) nagle: u64,
    /// Pauses, far from the sender, of which a wait for an ACK was two fifths or more.
    pub(crate) idle_soon: Span,
    /// Pauses behind a full segment without PSH.
    pub(crate) idle_unpushed: Span,
    /// Segments of new data with PSH.
    pub(crate) pushes: u64,
    /// Time that the sender's timestamp clock lost against the capture's over silences.
    pub(crate) clock_stood: Span,
    /// Waits for an ACK with room in the window, near the sender, and those of them after which the
    /// sender was slow to send.
    pub(crate) reactions: u64,
    pub(crate) slow_reactions: u64,
    /// Waits for the last of several ACKs, so that hardly anything was in flight.
    pub(crate) drained: u64,
    /// Retransmissions some time behind the sender's last data, though no ACK had come since.
    pub(crate) unprompted: u64,
    /// Time for which the sender sent nothing though ACKs made room for a third of the flight, and
    /// number of these times.
    pub(crate) unused_room: Span,
    pub(crate) unused_rooms: u64,
    /// Time for which ACKs stood in queues on their way to the capture, and their delay beyond the
    /// path's round trip.
    pub(crate) acks_queued: Span,
    pub(crate) acks_late: Span,
    /// Bytes that were acknowledged by ACKs of more than a few segments each.
    pub(crate) stretched: u64,
    /// Bursts in turn that had twice the segments of the one before, with nothing in flight
    /// between.
    pub(crate) doublings: u64,
    /// Pauses of the program as long as it was held back otherwise.
    pub(crate) nagle_in_step: u64,
    /// Waits for a message of the other side, with nothing in flight.
    pub(crate) awaits: u64,
    /// Pieces of its data, each apart, that came during those waits.
    pub(crate) awaited_pieces: u64,
    pub(crate) missing_bytes: u64,
    /// Segments that no ACK in the capture had made room for.
    pub(crate) unseen_acks: u64,
    /// Places where a part of the conversation is left out.
    pub(crate) cuts: u64,
    pub(crate) window_least: Option<u64>,
    /// ACKs whose window falls by exactly the acknowledged bytes.
    pub(crate) window_held: u64,
    /// ACKs for which a sender with a full window waited. The next two count those with the window
    /// filled to the last byte, and those without room for a full segment in a large window.
    pub(crate) window_waits: u64,
    pub(crate) window_exact: u64,
    pub(crate) window_near: u64,
    pub(crate) retransmitted: Examples,
    pub(crate) probed: Examples,
    /// ACKs with blocks outside.
    pub(crate) sacked_outside: Examples,
}

impl Counts {
    /// Counts a segment that is sent again.
    pub(crate) fn retransmit(&mut self) {
        self.retransmissions += 1;
        if self.loss_events <= 1 {
            self.first_retransmissions = self.retransmissions;
        }
    }

    /// Returns the share of lost segments: retransmitted, and not needlessly.
    pub(crate) fn loss_ratio(&self, needless: u64) -> f64 {
        let lost = self.retransmissions.saturating_sub(needless);
        lost as f64 / self.sent().max(1) as f64
    }

    /// Returns whether windows show the scale that is guessed: by a larger one, each that falls by
    /// what its ACK acknowledges would take back what was offered, which none should (RFC 9293
    /// section 3.8.6).
    pub(crate) fn is_scale_shown(&self) -> bool {
        self.window_held >= MORE_THAN_ONE.get()
    }

    /// Returns the number of loss events for each segment.
    pub(crate) fn event_ratio(&self) -> f64 {
        self.loss_events as f64 / self.segments.max(1) as f64
    }

    /// Returns the number of sent segments: new data, data that others overtook, and
    /// retransmissions. Each loss ratio has this denominator.
    pub(crate) fn sent(&self) -> u64 {
        self.segments + self.out_of_order + self.retransmissions
    }
}
