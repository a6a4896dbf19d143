//! What comes in: the leave to bring a job, and its documents.

use std::sync::Arc;

use windlass_spool_core::{ByteAllowance, Refusal};
use windlass_wire::pages::{Format, HEAD};

use crate::spooler::Spooler;
use crate::store::Draft;
use crate::table::Filed;

/// That a job may come. Where it is dropped unused, the job does not.
pub(crate) struct Admission {
    spooler: Arc<Spooler>,
    pub(crate) place: usize,
    is_used: bool,
}

impl Admission {
    /// Of a job that the table has admitted.
    pub(crate) fn new(spooler: &Arc<Spooler>, place: usize) -> Self {
        Self { spooler: Arc::clone(spooler), place, is_used: false }
    }

    /// The job has come.
    pub(crate) fn used(mut self) {
        self.is_used = true;
    }

    /// No job came of it, and none was refused.
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

/// A document on its way in. Its space is free again where it is dropped before
/// its end.
pub(crate) struct Intake {
    spooler: Arc<Spooler>,
    draft: Draft,
    /// Its first bytes, which tell what it is.
    head: Vec<u8>,
    allowance: ByteAllowance,
}

impl Intake {
    /// Of so many bytes where that is known.
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

    /// Bounds it by the quotas of its user.
    pub(crate) fn within(self, allowance: ByteAllowance) -> Self {
        Self { allowance, ..self }
    }

    /// Takes the next bytes, unless there are too many of them or the spool is full.
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

    /// Bytes so far.
    pub(crate) const fn len(&self) -> u64 {
        self.draft.len()
    }

    /// All has come.
    pub(crate) fn finish(self, name: impl Into<Box<str>>) -> Result<Filed, Refusal> {
        let document = self.spooler.committer.noted(self.draft.finish())?;
        document.format().get_or_init(|| Format::of(&self.head));
        Ok(Filed { document, name: name.into() })
    }
}
