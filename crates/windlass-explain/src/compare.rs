//! Comparison of two captures: one connection at two places, or two transfers of a service.

use windlass_base::{Failure, Timestamp};
use windlass_capture::{CaptureFacts, ReadCapture, ReadSettings};
use windlass_lab::what_if::try_remedies;
use windlass_trace::compare::{
    Coverage, Fingerprints, Match, Recorder, Recording, TwoPlaces, TwoRuns, choose, common,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep, Totals, Transfer};
use windlass_wire::{EthernetHead, Observer, Packet, PacketRange, PacketTooBig, Segment};

use crate::report::report_of;

/// Number of the largest transfers of each capture in which a service is searched.
const LARGEST: usize = 64;

/// Number of connections to try among those that both captures seem to contain, the largest first.
/// Simulated connections may begin alike and still differ.
const TRIED: usize = 3;

/// Observer of a capture for a comparison.
#[derive(Debug)]
pub struct Observation {
    analyzer: Analyzer,
    fingerprints: Fingerprints,
    recorder: Option<Recorder>,
    /// Times of the first segment and the last.
    span: Option<(Timestamp, Timestamp)>,
}

impl Observation {
    fn new(keep: Keep, recorder: Option<Recorder>) -> Self {
        let analyzer = Analyzer::new(keep);
        Self { analyzer, fingerprints: Fingerprints::default(), recorder, span: None }
    }
}

impl Observer for Observation {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.analyzer.behind(EthernetHead::of(packet));
    }

    fn segment(&mut self, segment: &Segment) {
        let number = self.analyzer.segment(segment, &mut ());
        let (first, last) = self.span.unwrap_or((segment.time, segment.time));
        self.span = Some((first.min(segment.time), last.max(segment.time)));
        match &mut self.recorder {
            Some(recorder) => recorder.take(segment, number),
            None => self.fingerprints.take(segment, number),
        }
    }

    fn too_big(&mut self, message: &PacketTooBig) {
        self.analyzer.too_big(message);
    }

    fn wants_checksum(&self) -> bool {
        self.analyzer.wants_checksum()
    }
}

/// Function that reads a capture for a comparison, which needs two readings of each.
type CaptureReader<'a> =
    dyn FnMut(&ReadSettings<'_>, &mut Observation) -> Result<ReadCapture, Failure> + 'a;

/// Results of a capture's first reading.
#[derive(Debug)]
pub struct Survey {
    read: ReadCapture,
    connections: Vec<Transfer>,
    fingerprints: Fingerprints,
    totals: Totals,
}

impl Survey {
    /// Reads a capture for the first time; `only` is the number of the wanted connection.
    ///
    /// # Errors
    /// A [`Failure`] if the capture cannot be read, or the reading was interrupted.
    pub fn of(
        reading: &ReadSettings<'_>,
        only: Option<u64>,
        read: &mut CaptureReader<'_>,
    ) -> Result<Self, Failure> {
        let keep = only.map_or(Keep::Largest(LARGEST), Keep::Only);
        let mut observation = Observation::new(keep, None);
        let read = whole(reading, read(reading, &mut observation)?)?;
        let (connections, totals) = observation.analyzer.finish();
        Ok(Self { read, connections, fingerprints: observation.fingerprints, totals })
    }

    /// Returns whether the capture has a connection that can be compared.
    pub fn has_data(&self) -> bool {
        !self.connections.is_empty()
    }

    /// Returns the totals of all connections.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the capture's description of itself.
    pub fn facts(&self, name: String) -> CaptureFacts {
        CaptureFacts::new(name, &self.read)
    }
}

fn whole(reading: &ReadSettings<'_>, read: ReadCapture) -> Result<ReadCapture, Failure> {
    if read.interrupted {
        let doing = format!("cannot {} {}", reading.doing, reading.name());
        return Err(Failure::new(doing, "it was interrupted"));
    }
    Ok(read)
}

/// Relation of two captures.
#[derive(Debug)]
pub enum Relation {
    /// One connection at two places.
    Places(Box<TwoPlaces>),
    /// Two transfers.
    Runs(Box<TwoRuns>),
}

/// Comparison of two captures.
#[derive(Debug)]
pub struct Comparison {
    /// Relation of the captures.
    pub relation: Relation,
    /// The two transfers that were compared.
    pub transfers: [ConnectionReport; 2],
}

/// Compares two captures. `only` is the number of the wanted connection in the first one.
///
/// # Errors
/// A [`Failure`] if a capture cannot be read again, or has no transfer.
pub fn compare(
    readings: [&ReadSettings<'_>; 2],
    surveys: &[Survey; 2],
    only: Option<u64>,
    read: &mut CaptureReader<'_>,
) -> Result<Comparison, Failure> {
    let [first, second] = surveys;
    let found = common(&first.fingerprints, &second.fingerprints, only);
    for one in found.iter().take(TRIED) {
        if let Some(compared) = at_two_places(readings, surveys, (*one, found.len()), read)? {
            return Ok(compared);
        }
    }
    let reports = surveys.each_ref().map(|survey| {
        survey.connections.iter().map(|one| report_of(one, &survey.read)).collect::<Vec<_>>()
    });
    let [before, after] = &reports;
    let Some((places, chosen, service)) = choose([before, after]) else {
        let doing = format!("cannot compare {}", readings[0].name());
        return Err(Failure::new(doing, "a capture has no transfer"));
    };
    let mut transfers = [before[places[0]].clone(), after[places[1]].clone()];
    for (side, report) in transfers.iter_mut().enumerate() {
        try_remedies(report, &surveys[side].connections[places[side]]);
    }
    let [before, after] = &transfers;
    let runs = TwoRuns::of([before, after], chosen, service, !found.is_empty());
    Ok(Comparison { relation: Relation::Runs(Box::new(runs)), transfers })
}

/// Compares a connection at two places; `count` is the number of common connections. Returns `None`
/// if they are two connections after all.
fn at_two_places(
    readings: [&ReadSettings<'_>; 2],
    surveys: &[Survey; 2],
    (found, count): (Match, usize),
    read: &mut CaptureReader<'_>,
) -> Result<Option<Comparison>, Failure> {
    let prints = [0, 1].map(|side| surveys[side].fingerprints.of(found.numbers[side]));
    let [Some(first), Some(second)] = prints else { return Ok(None) };
    let [first, second] = Recorder::pair(&found, [first, second]);
    let Some(first) = recorded(readings[0], first, read)? else { return Ok(None) };
    let Some(second) = recorded(readings[1], second, read)? else { return Ok(None) };
    let recordings = [&first.0, &second.0];
    let reports = [&first.1, &second.1];
    let Some(places) = TwoPlaces::of(found, count as u64, recordings, reports) else {
        return Ok(None);
    };
    let relation = Relation::Places(Box::new(places));
    Ok(Some(Comparison { relation, transfers: [first.1, second.1] }))
}

/// Reads a capture again, and records a connection.
fn recorded(
    reading: &ReadSettings<'_>,
    recorder: Recorder,
    read: &mut CaptureReader<'_>,
) -> Result<Option<(Recording, ConnectionReport)>, Failure> {
    let mut observation = Observation::new(Keep::Only(recorder.number()), Some(recorder));
    let read = whole(reading, read(reading, &mut observation)?)?;
    let Observation { analyzer, recorder, span, .. } = observation;
    let (connections, _) = analyzer.finish();
    let Some((connection, recorder)) = connections.first().zip(recorder) else { return Ok(None) };
    let mut report = report_of(connection, &read);
    try_remedies(&mut report, connection);
    // In part of a capture, packets outside that part do not count.
    let whole = read.info().earliest.zip(read.info().latest);
    let whole = whole.filter(|_| reading.range == PacketRange::default());
    let Some((from, to)) = whole.or(span) else { return Ok(None) };
    let step = report.clock_step_seconds.unwrap_or_default();
    Ok(Some((recorder.finish(Coverage { from, to }, step), report)))
}
