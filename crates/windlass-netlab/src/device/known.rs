//! The connections that a device has accepted.
//!
//! Anybody in the network can make up segments. Segments without a connection are ignored: a
//! made-up ACK could acknowledge gigabytes that never passed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use windlass_base::Timestamp;
use windlass_sim::Direction;
use windlass_wire::{Flags, Host, Segment};

/// Maximum number of connections that are remembered. It is far above a device's own maximum, so
/// that late segments of closed connections still belong to them.
const MAX: usize = 4_096;

/// Address and port of the peer, and the port of the device.
type ConnectionKey = (Ipv4Addr, u16, u16);

/// Accepted connections, with the time of their last segment.
#[derive(Debug, Default)]
pub(super) struct AcceptedConnections {
    last: BTreeMap<ConnectionKey, Timestamp>,
}

impl AcceptedConnections {
    /// Returns whether a segment belongs to a connection, requests one, or refuses one.
    pub(super) fn belongs(&mut self, direction: Direction, segment: &Segment) -> bool {
        let (peer, own) = match direction {
            Direction::Forward => (segment.source, segment.destination),
            Direction::Backward => (segment.destination, segment.source),
        };
        let Host::V4(host) = peer.host else { return false };
        let ends = (host, peer.port, own.port);
        let has = |flag| segment.flags.has(flag);
        let answers = direction == Direction::Backward && has(Flags::ACK);
        if answers && has(Flags::SYN) {
            self.take_up(ends, segment.time);
        }
        if let Some(last) = self.last.get_mut(&ends) {
            *last = segment.time;
            return true;
        }
        match direction {
            Direction::Forward => has(Flags::SYN) && !has(Flags::ACK) && !has(Flags::RST),
            // The refusal of a SYN (RFC 9293 section 3.10.7.1).
            Direction::Backward => answers && has(Flags::RST),
        }
    }

    fn take_up(&mut self, ends: ConnectionKey, now: Timestamp) {
        if self.last.len() >= MAX {
            // Forgets the half that was silent longest at once, since this scans all of them.
            let mut times: Vec<Timestamp> = self.last.values().copied().collect();
            let (_, middle, _) = times.select_nth_unstable(MAX / 2);
            let middle = *middle;
            self.last.retain(|_, last| *last > middle);
        }
        self.last.insert(ends, now);
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_lab::{DEVICE, SENDER};
    use windlass_sim::Payload;

    use super::*;

    fn segment(direction: Direction, peer: u16, flags: Flags, second: i64) -> Segment {
        let forward = direction == Direction::Forward;
        let segment = windlass_sim::Segment {
            source: if forward { peer } else { 9_100 },
            destination: if forward { 9_100 } else { peer },
            sequence: 1,
            acknowledgment: 1,
            flags,
            window: 1,
            options: windlass_wire::Options::default(),
            payload: Payload::EMPTY,
        };
        let ends = if forward { (SENDER, DEVICE) } else { (DEVICE, SENDER) };
        let time = Timestamp::ZERO + Span::from_millis(second * 1_000);
        segment.captured(1, time, Host::V4(ends.0), Host::V4(ends.1))
    }

    const UP: Direction = Direction::Forward;
    const DOWN: Direction = Direction::Backward;

    #[test]
    fn segments_belong_once_the_device_has_answered() {
        let mut known = AcceptedConnections::default();
        let mut belongs =
            |direction, flags| known.belongs(direction, &segment(direction, 5, flags, 0));
        assert!(!belongs(UP, Flags::ACK), "nobody knows it");
        assert!(!belongs(UP, Flags::SYN.with(Flags::ACK)), "no way to ask");
        assert!(!belongs(DOWN, Flags::RST), "the answer to that");
        assert!(belongs(UP, Flags::SYN));
        assert!(!belongs(UP, Flags::ACK), "not taken up yet");
        assert!(belongs(DOWN, Flags::SYN.with(Flags::ACK)));
        assert!(belongs(UP, Flags::ACK) && belongs(DOWN, Flags::RST));
        assert!(belongs(UP, Flags::FIN), "also after its end");
    }

    #[test]
    fn a_refusal_belongs_to_its_syn() {
        let mut known = AcceptedConnections::default();
        let refusal = Flags::RST.with(Flags::ACK);
        assert!(known.belongs(DOWN, &segment(DOWN, 5, refusal, 0)));
        assert!(!known.belongs(UP, &segment(UP, 5, refusal, 0)));
        assert!(known.last.is_empty());
    }

    #[test]
    fn a_flood_does_not_drive_out_who_is_active() {
        let mut known = AcceptedConnections::default();
        let taken = Flags::SYN.with(Flags::ACK);
        for port in 1..=20_000 {
            known.belongs(DOWN, &segment(DOWN, port, taken, i64::from(port)));
            // The first one goes on sending.
            assert!(known.belongs(UP, &segment(UP, 1, Flags::ACK, i64::from(port))), "{port}");
            assert!(known.last.len() <= MAX);
        }
        assert!(!known.belongs(UP, &segment(UP, 2, Flags::ACK, 20_001)));
    }
}
