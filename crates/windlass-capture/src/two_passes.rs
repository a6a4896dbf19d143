//! Two passes over a capture: the first tells which connections there are, the
//! second looks at one of them.

use windlass_base::Failure;
use windlass_trace::{Analysis, Keep, Notes, Totals, Transfer};
use windlass_wire::{Observer, Segment, TooBig};

use crate::reading::{Read, Reading};

/// The most segments that are kept of a capture that can be read only once.
const MAX_KEPT: usize = 2_000_000;

/// What the first pass found.
#[derive(Debug)]
pub struct FirstPass<N> {
    /// What the capture says of itself.
    pub read: Read,
    /// The connections that were to be kept.
    pub connections: Vec<Transfer>,
    /// What all connections come to.
    pub totals: Totals,
    /// The notes on them.
    pub notes: N,
    /// What the second pass begins with.
    pub again: Again,
}

/// What observes the first pass.
#[derive(Debug)]
pub struct Pass<N> {
    analysis: Analysis<N>,
    kept: Option<Vec<Segment>>,
    too_many: bool,
}

impl<N: Notes> Observer for Pass<N> {
    fn too_big(&mut self, message: &TooBig) {
        self.analysis.too_big(message);
    }

    fn wants_checksum(&self) -> bool {
        self.analysis.wants_checksum()
    }

    fn segment(&mut self, segment: &Segment) {
        self.analysis.segment(segment);
        if let Some(kept) = &mut self.kept {
            if kept.len() < MAX_KEPT {
                kept.push(*segment);
            } else {
                self.too_many = true;
            }
        }
    }
}

impl<N: Notes> FirstPass<N> {
    /// Goes over a capture by `read`, which hands its segments on as
    /// [`crate::read`] does.
    ///
    /// # Errors
    /// A [`Failure`] where it cannot be read, or is a pipe of more segments than
    /// are kept.
    pub fn over(
        reading: &Reading<'_>,
        keep: Keep,
        notes: N,
        read: impl FnOnce(&mut Pass<N>) -> Result<Read, Failure>,
    ) -> Result<Self, Failure> {
        let kept = reading.is_stdin().then(Vec::new);
        let mut pass = Pass { analysis: Analysis::new(keep, notes), kept, too_many: false };
        let read = read(&mut pass)?;
        if pass.too_many {
            let doing = format!("cannot {} {}", reading.doing, reading.name());
            let wrong = format!("a pipe is kept in memory, up to {MAX_KEPT} segments");
            return Err(Failure::new(doing, wrong).advise("Save the capture to a file first."));
        }
        let Pass { analysis: Analysis { analyzer, notes }, kept, .. } = pass;
        let (connections, totals) = analyzer.finish();
        Ok(Self { read, connections, totals, notes, again: Again(kept) })
    }
}

/// The same segments once more: kept where the capture cannot be read again.
#[derive(Debug)]
pub struct Again(Option<Vec<Segment>>);

impl Again {
    /// Hands them on, by `read` where they were not kept.
    ///
    /// # Errors
    /// A [`Failure`] where the capture cannot be read again.
    pub fn read<O: Observer>(
        self,
        observer: &mut O,
        read: impl FnOnce(&mut O) -> Result<Read, Failure>,
    ) -> Result<(), Failure> {
        match self.0 {
            Some(kept) => kept.iter().for_each(|segment| observer.segment(segment)),
            None => _ = read(observer)?,
        }
        Ok(())
    }
}
