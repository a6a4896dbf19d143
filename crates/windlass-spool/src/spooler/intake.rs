//! Incoming jobs: their admission and their documents.

use std::sync::Arc;

use windlass_spool_core::{ByteAllowance, Refusal};
use windlass_wire::pages::{DocumentFormat, HEAD};

use crate::spooler::Spooler;
use crate::store::Draft;
use crate::table::FiledDocument;

/// Permission for a job to arrive. Dropping it unused gives the permission back.
pub(crate) struct Admission {
    spooler: Arc<Spooler>,
    pub(crate) place: usize,
    is_used: bool,
}

impl Admission {
    /// Creates the admission of a job that the table has admitted.
    pub(crate) fn new(spooler: &Arc<Spooler>, place: usize) -> Self {
        Self { spooler: Arc::clone(spooler), place, is_used: false }
    }

    /// Marks the admission as used by a job.
    pub(crate) fn used(mut self) {
        self.is_used = true;
    }

    /// Gives the admission back, without counting a refused job.
    pub(crate) fn spared(mut self) {
        self.is_used = true;
        self.spooler.lock().table.spare(self.place);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if !self.is_used {
            self.spooler.lock().table.give_up(self.place);
        }
    }
}

/// A document that is being received. If dropped before its end, its space is freed.
pub(crate) struct Intake {
    spooler: Arc<Spooler>,
    draft: Draft,
    /// First bytes of the document, which tell its format.
    head: Vec<u8>,
    allowance: ByteAllowance,
}

impl Intake {
    /// Begins a document, of `expected` bytes if that is known.
    pub(crate) fn new(spooler: &Arc<Spooler>, expected: Option<u64>) -> Self {
        let mut draft = spooler.committer.store.draft();
        if let Some(expected) = expected {
            draft.expect(expected);
        }
        Self {
            spooler: Arc::clone(spooler),
            draft,
            head: Vec::with_capacity(HEAD),
            allowance: ByteAllowance::default(),
        }
    }

    /// Limits the document by the quotas of its user.
    pub(crate) fn within(self, allowance: ByteAllowance) -> Self {
        Self { allowance, ..self }
    }

    /// Appends bytes, unless the document becomes too large or the spool is full.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if let Some(most) = self.spooler.max_document()
            && self.draft.len() + bytes.len() as u64 > most
        {
            return Err(Refusal::TooLarge(most));
        }
        self.allowance.takes(self.draft.len() + bytes.len() as u64)?;
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(self.spooler.committer.noted(self.draft.append(bytes))?)
    }

    /// Returns the number of bytes so far.
    pub(crate) const fn len(&self) -> u64 {
        self.draft.len()
    }

    /// Completes the document.
    pub(crate) fn finish(self, name: impl Into<Box<str>>) -> Result<FiledDocument, Refusal> {
        let document = self.spooler.committer.noted(self.draft.finish())?;
        document.format().get_or_init(|| DocumentFormat::of(&self.head));
        Ok(FiledDocument { document, name: name.into() })
    }
}
