//! Two passes over a capture: the first finds the connections, the second looks at one of them.

use windlass_base::Failure;
use windlass_trace::{Analysis, Keep, Notes, Totals, Transfer};
use windlass_wire::{Observer, PacketTooBig, Segment};

use crate::reading::{ReadCapture, ReadSettings};

/// Maximum number of segments kept of a capture that can be read only once.
const MAX_KEPT: usize = 2_000_000;

/// Results of the first pass.
#[derive(Debug)]
pub struct FirstPass<N> {
    /// The capture's description of itself.
    pub read: ReadCapture,
    /// Connections that were kept.
    pub connections: Vec<Transfer>,
    /// Totals of all connections.
    pub totals: Totals,
    /// Notes on the connections.
    pub notes: N,
    /// Source of the second pass.
    pub again: SecondPass,
}

/// Observer of the first pass.
#[derive(Debug)]
pub struct FirstPassObserver<N> {
    analysis: Analysis<N>,
    kept: Option<Vec<Segment>>,
    too_many: bool,
}

impl<N: Notes> Observer for FirstPassObserver<N> {
    fn too_big(&mut self, message: &PacketTooBig) {
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
    /// Runs the first pass: `read` passes the capture's segments to the observer, as
    /// [`crate::read`] does.
    ///
    /// # Errors
    /// A [`Failure`] if the capture cannot be read, or is a pipe of more segments than are kept.
    pub fn over(
        reading: &ReadSettings<'_>,
        keep: Keep,
        notes: N,
        read: impl FnOnce(&mut FirstPassObserver<N>) -> Result<ReadCapture, Failure>,
    ) -> Result<Self, Failure> {
        let kept = reading.is_stdin().then(Vec::new);
        let mut pass =
            FirstPassObserver { analysis: Analysis::new(keep, notes), kept, too_many: false };
        let read = read(&mut pass)?;
        if pass.too_many {
            let doing = format!("cannot {} {}", reading.doing, reading.name());
            let wrong = format!(
                "windlass keeps a pipe in memory, but only up to {MAX_KEPT} \
                                 segments"
            );
            return Err(Failure::new(doing, wrong).advise("Save the capture to a file first."));
        }
        let FirstPassObserver { analysis: Analysis { analyzer, notes }, kept, .. } = pass;
        let (connections, totals) = analyzer.finish();
        Ok(Self { read, connections, totals, notes, again: SecondPass(kept) })
    }
}

/// Source of the second pass: kept segments if the capture cannot be read again.
#[derive(Debug)]
pub struct SecondPass(Option<Vec<Segment>>);

impl SecondPass {
    /// Passes the segments to `observer`; calls `read` if they were not kept.
    ///
    /// # Errors
    /// A [`Failure`] if the capture cannot be read again.
    pub fn read<O: Observer>(
        self,
        observer: &mut O,
        read: impl FnOnce(&mut O) -> Result<ReadCapture, Failure>,
    ) -> Result<(), Failure> {
        match self.0 {
            Some(kept) => kept.iter().for_each(|segment| observer.segment(segment)),
            None => _ = read(observer)?,
        }
        Ok(())
    }
}
