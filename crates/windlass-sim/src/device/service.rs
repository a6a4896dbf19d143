//! The programs on a device, above TCP.

use windlass_base::Bytes;

use crate::ipp::{self, IppServer};
use crate::lpr::{LprServer, LprTotals};
use crate::segment::Payload;

/// Service that listens on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Swallows bytes, as a printer's port 9100 does.
    Raw,
    /// An LPR server (RFC 1179), as on port 515.
    Lpr,
    /// An IPP server (RFC 8010), as on port 631.
    Ipp,
    /// Answers each `every` bytes with `with` bytes.
    Answer {
        /// The bytes of a request.
        every: Bytes,
        /// The bytes of an answer.
        with: u16,
    },
}

/// A program that serves one connection.
#[derive(Clone, Debug)]
pub(super) enum Program {
    Raw,
    Lpr(LprServer),
    Ipp(IppServer),
    Answer { every: u64, with: u16, towards: u64 },
}

impl Program {
    pub(super) fn new(service: Service) -> Self {
        match service {
            Service::Raw => Self::Raw,
            Service::Lpr => Self::Lpr(LprServer::default()),
            Service::Ipp => Self::Ipp(IppServer::default()),
            Service::Answer { every, with } => {
                Self::Answer { every: every.get().max(1), with, towards: 0 }
            }
        }
    }

    /// Returns whether the program needs the bytes, and not only their number.
    pub(super) const fn wants_bytes(&self) -> bool {
        matches!(self, Self::Lpr(_) | Self::Ipp(_))
    }

    /// Reads, and appends the answers. The answers to one read are bounded: a one-byte request that
    /// arrives a million times gets as many answers as fit.
    pub(super) fn read(
        &mut self,
        payload: &Payload,
        printer: &mut ipp::Printer,
        answers: &mut Vec<u8>,
    ) {
        match self {
            Self::Raw => {}
            Self::Lpr(server) => server.feed(payload, answers),
            Self::Ipp(server) => server.feed(payload, printer, answers),
            Self::Answer { every, with, towards } => {
                *towards += u64::from(payload.len());
                let due = usize::try_from(*towards / *every).unwrap_or(usize::MAX);
                *towards %= *every;
                let bytes = due.saturating_mul(usize::from(*with)).min(1 << 20);
                answers.resize(answers.len() + bytes, 0);
            }
        }
    }

    /// Ends the program's input: the peer has closed.
    pub(super) fn end(&mut self, printer: &mut ipp::Printer, answers: &mut Vec<u8>) {
        match self {
            Self::Lpr(server) => server.end(answers),
            Self::Ipp(server) => server.end(printer),
            Self::Raw | Self::Answer { .. } => {}
        }
    }

    /// Ends the program: the connection is gone, and no answer can be sent.
    pub(super) fn cut(&mut self, printer: &mut ipp::Printer) {
        if let Self::Ipp(server) = self {
            server.end(printer);
        }
    }

    /// Returns whether the program wants to close first.
    pub(super) const fn wants_to_close(&self) -> bool {
        match self {
            Self::Lpr(server) => server.is_closed(),
            Self::Ipp(server) => server.is_closed(),
            Self::Raw | Self::Answer { .. } => false,
        }
    }

    /// Returns the totals of an LPR server.
    pub(super) const fn received(&self) -> Option<LprTotals> {
        match self {
            Self::Lpr(server) => Some(server.received()),
            Self::Raw | Self::Ipp(_) | Self::Answer { .. } => None,
        }
    }
}
