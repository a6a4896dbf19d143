//! The first of two passes over a capture: which connections there are. The
//! second then looks at one of them.

use windlass_base::Failure;
use windlass_trace::{Finished, Keep, Notes, Totals};
use windlass_wire::Segment;

use crate::cli::CaptureArgs;
use crate::survey::{self, Analysis, Observer, Read, Reading};

/// The most segments that are kept of a capture that can be read only once.
const MOST_KEPT: usize = 2_000_000;

/// What the first pass found.
#[derive(Debug)]
pub(crate) struct FirstPass<N> {
    /// What the capture says of itself.
    pub(crate) read: Read,
    /// The connections that were to be kept, and all of them.
    pub(crate) connections: Vec<Finished>,
    pub(crate) totals: Totals,
    pub(crate) notes: N,
    /// What the second pass begins with.
    pub(crate) again: Again,
}

struct Pass<N> {
    analysis: Analysis<N>,
    kept: Option<Vec<Segment>>,
    too_many: bool,
}

impl<N: Notes> Observer for Pass<N> {
    fn segment(&mut self, segment: &Segment) {
        self.analysis.segment(segment);
        if let Some(kept) = &mut self.kept {
            if kept.len() < MOST_KEPT {
                kept.push(*segment);
            } else {
                self.too_many = true;
            }
        }
    }
}

impl<N: Notes> FirstPass<N> {
    /// Reads a capture to its end.
    ///
    /// # Errors
    /// A [`Failure`] where it cannot be read, or is a pipe of more segments than
    /// are kept.
    pub(crate) fn over(
        reading: &Reading<'_>,
        capture: &CaptureArgs,
        keep: Keep,
        notes: N,
    ) -> Result<Self, Failure> {
        let kept = capture.is_stdin().then(Vec::new);
        let mut pass = Pass { analysis: Analysis::new(keep, notes), kept, too_many: false };
        let read = survey::read(reading, &mut pass)?;
        if pass.too_many {
            let doing = format!("cannot {} {}", reading.doing, capture.name());
            let wrong = format!("a pipe is kept in memory, up to {MOST_KEPT} segments");
            return Err(Failure::new(doing, wrong).advise("Save the capture to a file first."));
        }
        let Pass { analysis: Analysis { analyzer, notes }, kept, .. } = pass;
        let (connections, totals) = analyzer.finish();
        Ok(Self { read, connections, totals, notes, again: Again(kept) })
    }
}

/// The same segments once more: kept where the capture cannot be read again.
#[derive(Debug)]
pub(crate) struct Again(Option<Vec<Segment>>);

impl Again {
    /// Hands them on.
    ///
    /// # Errors
    /// A [`Failure`] where the capture cannot be read again.
    pub(crate) fn read<O: Observer>(
        self,
        reading: &Reading<'_>,
        observer: &mut O,
    ) -> Result<(), Failure> {
        match self.0 {
            Some(kept) => kept.iter().for_each(|segment| observer.segment(segment)),
            None => {
                survey::read(reading, observer)?;
            }
        }
        Ok(())
    }
}
