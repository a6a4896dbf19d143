//! Farewells: a few bytes that end a connection, long after the transfer ("221 Goodbye", `GOAWAY`,
//! an alert of TLS that closes it).

use windlass_base::Timestamp;
use windlass_base::thresholds::{FAREWELL, LONGER_THAN_PATHS, ONE_IN_HUNDRED, SEVERAL_ROUNDS};
use windlass_macros::Packed;

use super::{Data, Flow};
use crate::follow::ledger::WaitKind;

/// Rest of the sender, after all data was acknowledged.
#[derive(Clone, Copy, Debug, Packed)]
pub(super) struct LongRest {
    /// The ACK of the last data before it.
    since: Timestamp,
    number: u64,
    /// Last data before it, and the kind of the wait for that ACK.
    sent: Timestamp,
    wait: WaitKind,
    /// The first data behind it.
    until: Timestamp,
    /// The bytes before it.
    bytes: u64,
}

impl Flow {
    /// Takes data that is sent with nothing in flight.
    pub(super) fn note_rest(&mut self, data: &Data) {
        let Some((since, number)) = self.drained else { return };
        let until = data.time;
        if until.since(since) >= self.silence() {
            let several = self.sent_several().then_some(WaitKind::Open);
            self.rest = Some(LongRest {
                since,
                number,
                sent: self.last_data.unwrap_or(since),
                wait: self.last_wait().or(several).unwrap_or(WaitKind::Idle),
                until,
                bytes: self.counts.bytes,
            });
        }
    }

    /// Leaves the last rest out of the transfer, and the farewell behind it, if the connection
    /// ended with that.
    pub(super) fn leave_out_farewell(&mut self, ended: Timestamp) {
        let Some(rest) = self.rest else { return };
        let bytes = self.counts.bytes.saturating_sub(rest.bytes);
        let is_little =
            bytes <= FAREWELL.get() && bytes * ONE_IN_HUNDRED.get() <= self.counts.bytes;
        let soon =
            LONGER_THAN_PATHS.get() + self.path.rtt.unwrap_or_default() * SEVERAL_ROUNDS.get();
        if is_little && ended.since(rest.until) <= soon {
            self.ledger.end_at(rest.since, rest.number);
            // With the burst before it the wait is not much longer.
            self.ledger.rename_pause(rest.since.since(rest.sent) * 2, rest.wait);
        }
    }
}
