//! Some connections of a capture, followed for their graphs.

use windlass_wire::Segment;

use super::{Marks, Point, TimeSequence};
use crate::note::Note;
use crate::{Analyzer, Keep};

/// Second pass over a capture, after an [`Analyzer`], which returns the points of some connections.
/// An analyser inside assigns each segment to its connection, and marks repeated ones: numbers and
/// marks are those of reports.
#[derive(Debug)]
pub struct ConnectionFollower {
    analyzer: Analyzer,
    marks: Marks,
    wanted: Vec<FollowedConnection>,
}

/// A connection that is followed.
#[derive(Debug)]
struct FollowedConnection {
    number: u64,
    graph: TimeSequence,
    /// True if another connection took its ports: late packets are no longer its own.
    replaced: bool,
}

impl FollowedConnection {
    fn has_ends_of(&self, segment: &Segment) -> bool {
        let ends = [segment.source, segment.destination];
        self.graph.ends().is_some_and(|known| known == ends || known == [ends[1], ends[0]])
    }
}

impl ConnectionFollower {
    /// Returns a follower of the connections with these numbers.
    pub fn new(wanted: impl IntoIterator<Item = (u64, TimeSequence)>) -> Self {
        let wanted = wanted.into_iter();
        let wanted =
            wanted.map(|(number, graph)| FollowedConnection { number, graph, replaced: false });
        let (analyzer, marks) = (Analyzer::new(Keep::Largest(0)), Marks::default());
        Self { analyzer, marks, wanted: wanted.collect() }
    }

    /// Takes the next segment of the capture. Returns its point, and the index of its connection
    /// among the wanted ones; `None` for a segment of another connection. A segment behind a
    /// connection's end is still its own.
    pub fn segment(&mut self, segment: &Segment) -> Option<(usize, Point)> {
        let number = self.analyzer.segment(segment, &mut self.marks);
        let place = self.place(number, segment)?;
        let graph = &mut self.wanted[place].graph;
        Some((place, graph.segment(segment, self.marks.of(segment.number))))
    }

    fn place(&mut self, number: u64, segment: &Segment) -> Option<usize> {
        if let Some(place) = self.wanted.iter().position(|one| one.number == number) {
            return Some(place);
        }
        if number == 0 {
            let is_late = |one: &FollowedConnection| !one.replaced && one.has_ends_of(segment);
            return self.wanted.iter().position(is_late);
        }
        for one in self.wanted.iter_mut().filter(|one| one.number < number) {
            one.replaced |= one.has_ends_of(segment);
        }
        None
    }

    /// Returns the notes on the packet of the segment that was taken last.
    pub fn notes(&self, number: u64) -> &[Note] {
        self.marks.notes(number)
    }

    /// Returns the graph of this index among the wanted ones, with its ends and starts.
    pub fn graph(&self, place: usize) -> Option<&TimeSequence> {
        self.wanted.get(place).map(|one| &one.graph)
    }
}
