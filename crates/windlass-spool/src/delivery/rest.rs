//! The passes of a job that are still to be printed, as one stream.

use std::io::{self, Read};

use windlass_spool_core::Passes;

use crate::store::Reader;
use crate::table::{FiledDocument, Job};

/// Passes over a job's documents that its device does not have yet, one after the other.
pub(super) struct RemainingPasses {
    documents: Vec<FiledDocument>,
    passes: Passes,
    /// Number of the next pass.
    next: u32,
    reader: Option<Reader>,
}

impl RemainingPasses {
    pub(super) fn of(job: &Job) -> Self {
        let passes = Passes::of(job);
        Self { documents: job.documents.clone(), passes, next: job.delivered, reader: None }
    }

    /// Returns the bytes of all passes that have not begun.
    pub(super) fn size(&self) -> u64 {
        let passes = self.next..self.passes.count();
        let documents = passes.filter_map(|pass| self.documents.get(self.passes.document(pass)));
        documents.map(|filed| filed.document.size()).sum()
    }

    /// Returns the document of the next pass, and moves on.
    pub(super) fn next_document(&mut self) -> Option<Reader> {
        if self.next >= self.passes.count() {
            return None;
        }
        let filed = self.documents.get(self.passes.document(self.next))?;
        self.next += 1;
        Some(filed.document.reader())
    }
}

impl Read for RemainingPasses {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(reader) = &mut self.reader {
                match reader.read(into)? {
                    0 => self.reader = None,
                    got => return Ok(got),
                }
            }
            match self.next_document() {
                Some(reader) => self.reader = Some(reader),
                None => return Ok(0),
            }
        }
    }
}
