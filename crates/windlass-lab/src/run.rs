//! Transfers in virtual time.

use crate::what_if;
use windlass_base::{Bytes, Named, Rate, Span};
use windlass_sim::{
    CapturePoint, Direction, Ending, Hop, PacketEvent, RunLimits, Segment, Sender, SenderSettings,
    Setting, Stream, World,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};

use super::keep::{Keeper, SenderCapture};
use super::scenario::Row;

/// End of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum TransferEnd {
    /// All data was acknowledged.
    Finished,
    /// The device reset the connection before the end of the data.
    Reset,
    /// The peer did not answer for too long.
    GaveUp,
    /// The transfer took longer than a day of virtual time, or would never have ended.
    Unfinished,
}

/// Result of a transfer.
#[derive(Debug)]
pub struct Outcome {
    /// End of the transfer.
    pub ended: TransferEnd,
    /// Acknowledged data. An unfinished LPR job includes LPR's own lines.
    pub bytes: Bytes,
    /// Time from the SYN to the last acknowledgment and answer.
    pub time: Span,
    /// Rate: the data over the time.
    pub rate: Rate,
    /// Number of segments of both hosts.
    pub segments: u64,
    /// Report of `windlass explain`; `None` if no data was sent.
    pub report: Option<ConnectionReport>,
}

/// Observer of the packets at the sender.
struct SenderObserver<'a> {
    analyzer: Analyzer,
    capture: SenderCapture,
    /// Port of the device, and its port in the simulation.
    ports: (u16, u16),
    keeper: Option<&'a mut Keeper>,
}

impl SenderObserver<'_> {
    /// Returns the segment with the port of the profile.
    fn with_port(&self, segment: &Segment, direction: Direction) -> Segment {
        let mut segment = segment.clone();
        match direction {
            Direction::Forward => segment.destination = self.ports.0,
            Direction::Backward => segment.source = self.ports.0,
        }
        segment
    }

    fn sees(&mut self, event: PacketEvent<'_>) {
        // The network card drops damaged packets before a capture sees them.
        if event.damaged {
            return;
        }
        let direction = event.direction;
        let other;
        let segment = if self.ports.0 == self.ports.1 {
            event.segment
        } else {
            other = self.with_port(event.segment, direction);
            &other
        };
        let (captured, identification) = self.capture.next(event.time, direction, segment);
        if let Some(keeper) = &mut self.keeper {
            keeper.segment(event.time, direction, identification, segment);
        }
        self.analyzer.segment(&captured, &mut ());
    }
}

/// Runs a transfer, observed at the sender. The same seed gives the same result.
pub fn run(row: &Row, seed: u64, keeper: Option<&mut Keeper>) -> Outcome {
    run_with(row, row.sender_settings(row.bytes), seed, keeper)
}

/// Runs the transfer of a row with another sender.
pub fn run_with(
    row: &Row,
    sender: SenderSettings,
    seed: u64,
    keeper: Option<&mut Keeper>,
) -> Outcome {
    let setting = Setting {
        path: vec![Hop::alike(row.link)],
        streams: vec![Stream { sender, device: row.profile.habits }],
        seed,
    };
    let mut world = World::new(&setting, CapturePoint(0));
    let simulated = match row.method {
        super::Method::Raw => 9_100,
        super::Method::Lpr => 515,
    };
    let mut watch = SenderObserver {
        analyzer: Analyzer::new(Keep::Largest(1)),
        capture: SenderCapture::new(),
        ports: (row.port, simulated),
        keeper,
    };
    world.run(RunLimits::OVER, &mut |event: PacketEvent<'_>| watch.sees(event));
    let (connections, _) = watch.analyzer.finish();
    let report = connections
        .first()
        .map(|connection| what_if::report(connection, |end| end.to_string(), None));
    let sender = world.sender(0);
    let delivered = sender.and_then(Sender::delivered);
    let ended = match (sender.and_then(Sender::ending), delivered) {
        (_, Some(_)) => TransferEnd::Finished,
        (Some((_, Ending::Reset)), _) => TransferEnd::Reset,
        (Some((_, Ending::GaveUp)), _) => TransferEnd::GaveUp,
        (Some((_, Ending::Finished)) | None, None) => TransferEnd::Unfinished,
    };
    let (bytes, time) = match (sender, delivered) {
        (Some(sender), Some(delivered)) => {
            (sender.settings().bytes, delivered.since(sender.settings().start))
        }
        (Some(sender), None) => (sender.acknowledged(), world.lasted(0)),
        (None, _) => (Bytes::ZERO, Span::ZERO),
    };
    Outcome { ended, bytes, time, rate: bytes.per(time), segments: world.segments(), report }
}
