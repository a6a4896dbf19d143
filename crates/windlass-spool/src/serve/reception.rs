//! Reception of an IPP request: first its attributes, then the document.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress};
use windlass_spool_core::respond::{self, Context, ExpectedDocument, Goal, Listing, RequestStep};
use windlass_spool_core::{JobId, Refusal};
use windlass_wire::ipp::server::{IppRefusal, Reply};
use windlass_wire::ipp::{Compression, Decoder, Limits, Message, Operation, Status};

use super::Gate;
use crate::spooler::Spooler;
use crate::spooler::intake::{Admission, Intake};

/// Maximum size of a request: the longest that drivers send have some kilobytes.
const LIMITS: Limits = Limits { bytes: 256 << 10, values: 8_192, depth: 8 };

/// An IPP request that is being received.
pub(super) struct Reception<'a> {
    spooler: &'a Arc<Spooler>,
    gate: &'a Arc<Gate>,
    context: Context<'a>,
    state: RequestState,
}

enum RequestState {
    /// The attributes are being received.
    Attributes(Decoder),
    /// The document is being received.
    Document(Box<DocumentReception>),
    /// The request is answered; further data is useless.
    Told(RequestOutcome),
}

/// A document that is being received.
struct DocumentReception {
    receive: ExpectedDocument,
    unpacker: Unpacker,
    admission: Option<Admission>,
}

/// Results of a request.
pub(super) enum RequestOutcome {
    /// An answer.
    Answer(Message),
    /// An answer with a list of jobs.
    List(Box<Listing>),
    /// The data was no valid request, for this reason.
    Garbled(String),
}

impl<'a> Reception<'a> {
    pub(super) fn new(
        spooler: &'a Arc<Spooler>,
        gate: &'a Arc<Gate>,
        context: Context<'a>,
    ) -> Self {
        let state = RequestState::Attributes(Decoder::new(LIMITS));
        Self { spooler, gate, context, state }
    }

    /// Returns whether all attributes have arrived.
    pub(super) const fn has_begun(&self) -> bool {
        !matches!(self.state, RequestState::Attributes(_))
    }

    /// Returns whether the request is answered, so that further data is useless.
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self.state, RequestState::Told(_))
    }

    /// Returns whether a document is being accepted.
    pub(super) const fn has_document(&self) -> bool {
        matches!(self.state, RequestState::Document(_))
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8], expected: Option<u64>) {
        if let RequestState::Attributes(decoder) = &mut self.state {
            match decoder.take(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(garbled) => {
                    self.state = RequestState::Told(RequestOutcome::Garbled(garbled.to_string()));
                    return;
                }
            }
            if decoder.needs() > 0 {
                return;
            }
            let expected = expected.map(|all| all.saturating_sub(decoder.taken() as u64));
            let Some(message) = std::mem::replace(decoder, Decoder::new(LIMITS)).message() else {
                return;
            };
            self.respond(&message, expected);
        }
        if let RequestState::Document(coming) = &mut self.state
            && let Err(failure) = coming.unpacker.take(bytes)
        {
            let answer = answer(&coming.receive, Err(failure), self.spooler, &self.context);
            self.state = RequestState::Told(RequestOutcome::Answer(answer));
        }
    }

    fn respond(&mut self, request: &Message, expected: Option<u64>) {
        let context = &self.context;
        let possible = self.has_ports(request).and_then(|()| has_no_ppd(request, expected));
        if let Err(answer) = possible {
            self.state = RequestState::Told(RequestOutcome::Answer(*answer));
            return;
        }
        // A job announced without room would exist until multiple-operation-time-out, and none of
        // its documents would be accepted.
        let room = match request.code == Operation::CREATE_JOB.0 {
            true => self.spooler.committer.room(),
            false => Ok(()),
        };
        let done = room.and_then(|()| {
            self.spooler.change_or(
                |table| respond::respond(request, table, context),
                |table, step| step.undo(table),
            )
        });
        let step = match done {
            Ok(step) => self.followed(request, step),
            Err(refusal) => RequestStep::Answer(respond::refused(request, refusal)),
        };
        self.state = match step {
            RequestStep::Answer(answer) | RequestStep::Created { answer, .. } => {
                RequestState::Told(RequestOutcome::Answer(answer))
            }
            RequestStep::List(listing) => RequestState::Told(RequestOutcome::List(listing)),
            RequestStep::Receive(receive) => {
                let admission = match &receive.goal {
                    Goal::New { place, .. } => Some(Admission::new(self.spooler, *place)),
                    Goal::More { .. } => None,
                };
                let expected = expected.filter(|_| receive.compression == Compression::None);
                let allowance = receive.allowance.clone();
                let intake = Intake::new(self.spooler, expected).within(allowance);
                let unpacker = Unpacker::new(receive.compression, intake);
                RequestState::Document(Box::new(DocumentReception { receive, unpacker, admission }))
            }
        };
    }

    /// Checks that the raw ports of a request for a printer can be opened. Only the system knows
    /// that, not the table.
    fn has_ports(&self, request: &Message) -> Result<(), Box<Message>> {
        let is_meant = request.code == Operation::CUPS_ADD_MODIFY_PRINTER.0;
        if !is_meant || !self.context.requester.rights.administer {
            return Ok(());
        }
        // Invalid addresses are refused later with all other errors.
        let Ok(Some(ports)) = respond::raw_ports(request) else { return Ok(()) };
        let can = self.gate.ports.can_listen(&ports);
        can.map_err(|error| {
            let no = IppRefusal::new(Status::NOT_POSSIBLE, error.to_string());
            Box::new(Reply::to(request).refused(no))
        })
    }

    /// Opens and closes raw ports after a printer changed.
    fn followed(&self, request: &Message, step: RequestStep) -> RequestStep {
        let changes = [
            Operation::CUPS_ADD_MODIFY_PRINTER,
            Operation::CUPS_DELETE_PRINTER,
            Operation::CUPS_ADD_MODIFY_CLASS,
            Operation::CUPS_DELETE_CLASS,
        ];
        let is_done =
            matches!(&step, RequestStep::Answer(answer) if Status(answer.code).is_successful());
        if !is_done || !changes.contains(&Operation(request.code)) {
            return step;
        }
        match self.gate.ports.follow(self.spooler, self.gate) {
            Ok(_) => step,
            Err(error) => {
                let why = format!("the printer was changed, but: {error}");
                let no = IppRefusal::new(Status::INTERNAL_ERROR, why);
                RequestStep::Answer(Reply::to(request).refused(no))
            }
        }
    }

    /// Completes the request. A request without a document is answered by now.
    pub(super) fn finish(self) -> RequestOutcome {
        match self.state {
            RequestState::Told(told) => told,
            RequestState::Attributes(_) => {
                RequestOutcome::Garbled("the request ends within its attributes".to_owned())
            }
            RequestState::Document(coming) => {
                let DocumentReception { mut receive, unpacker, admission } = *coming;
                let intake = unpacker.finish();
                let done = intake
                    .and_then(|intake| Ok(file(self.spooler, &mut receive, intake, admission)?));
                RequestOutcome::Answer(answer(&receive, done, self.spooler, &self.context))
            }
        }
    }
}

/// Returns the answer to a document, or to its refusal.
fn answer(
    receive: &ExpectedDocument,
    done: Result<JobId, Failure>,
    spooler: &Arc<Spooler>,
    context: &Context<'_>,
) -> Message {
    let done = match done {
        Ok(id) => Ok(id),
        Err(Failure::Refused(refusal)) => Err(refusal),
        Err(Failure::Garbled(why)) => return receive.garbled(&why),
    };
    spooler.look(|table| receive.answer(done, table, context))
}

fn file(
    spooler: &Arc<Spooler>,
    receive: &mut ExpectedDocument,
    intake: Intake,
    admission: Option<Admission>,
) -> Result<JobId, Refusal> {
    let name = std::mem::take(&mut receive.name);
    match &receive.goal {
        Goal::New { place, ticket } => {
            let admission = admission.map_or_else(|| spooler.admit(*place), Ok)?;
            spooler.file(admission, ticket.clone(), vec![intake.finish(name)?])
        }
        // The last request may carry no document (RFC 8011, section 4.3.1).
        Goal::More { id, is_last: true } if intake.len() == 0 => spooler.add(*id, None, true),
        Goal::More { id, is_last } => spooler.add(*id, Some(intake.finish(name)?), *is_last),
    }
}

/// Reasons for refusing a document.
enum Failure {
    /// The spool refuses the document.
    Refused(Refusal),
    /// The data does not match the announced compression.
    Garbled(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Decompression of a document, and its destination.
enum Unpacker {
    Plain(Box<Sink>),
    Gzip(Box<MultiGzDecoder<Sink>>),
    Deflate(Box<Inflater>),
}

/// IPP's deflate. RFC 8011, section 5.4.32, means RFC 1951, and CUPS's clients send that. Some
/// clients follow HTTP's meaning, with the frame of RFC 1950.
struct Inflater {
    sink: Sink,
    /// Decoder; `None` until the first byte shows which variant it is.
    data: Option<Decompress>,
    buffer: Vec<u8>,
    is_done: bool,
}

impl Inflater {
    fn new(sink: Sink) -> Self {
        Self { sink, data: None, buffer: vec![0; 64 << 10], is_done: false }
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(first) = bytes.first() else { return Ok(()) };
        // The low half of a frame's first byte is 8, for deflate. Without a frame, such a byte
        // would be a stored block with nonzero padding, which nobody writes.
        let is_framed = first & 0x0f == 8;
        let data = self.data.get_or_insert_with(|| Decompress::new(is_framed));
        // Data after the end is no part of the document.
        while !self.is_done {
            let (before_in, before_out) = (data.total_in(), data.total_out());
            let status = data.decompress(bytes, &mut self.buffer, FlushDecompress::None)?;
            let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let (took, gave) =
                (size(data.total_in() - before_in), size(data.total_out() - before_out));
            self.sink.write_all(&self.buffer[..gave])?;
            bytes = &bytes[took..];
            self.is_done = status == flate2::Status::StreamEnd;
            if took == 0 && gave == 0 {
                break;
            }
        }
        Ok(())
    }

    fn finish(self) -> io::Result<Sink> {
        if self.is_done { Ok(self.sink) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Checks that a request to add or change a printer has no data after its attributes: CUPS's
/// clients send a PPD file there, and there are no drivers here.
fn has_no_ppd(request: &Message, rest: Option<u64>) -> Result<(), Box<Message>> {
    if request.code != Operation::CUPS_ADD_MODIFY_PRINTER.0 || rest.unwrap_or(0) == 0 {
        return Ok(());
    }
    let why = "PPD files are not supported: use raw or everywhere";
    Err(Box::new(Reply::to(request).refused(IppRefusal::new(Status::FORMAT_NOT_SUPPORTED, why))))
}

/// Destination of decompressed bytes, which remembers the refusal.
struct Sink {
    intake: Intake,
    refused: Option<Refusal>,
    /// True if no more bytes are accepted. A dropped decoder writes its remaining bytes, and a
    /// document with a gap must not count as a fault of the disk.
    is_closed: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Err(io::Error::other("the document is not taken"));
        }
        self.intake.append(bytes).map_err(|refusal| {
            let error = io::Error::other(refusal.to_string());
            self.refused = Some(refusal);
            self.is_closed = true;
            error
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpacker {
    fn new(packing: Compression, intake: Intake) -> Self {
        let sink = Sink { intake, refused: None, is_closed: false };
        match packing {
            Compression::None => Self::Plain(Box::new(sink)),
            Compression::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(sink))),
            Compression::Deflate => Self::Deflate(Box::new(Inflater::new(sink))),
        }
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Self::Plain(sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(inflater) => &mut inflater.sink,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let done = match self {
            Self::Plain(sink) => return Ok(sink.intake.append(bytes)?),
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Deflate(inflater) => inflater.take(bytes),
        };
        done.map_err(|error| self.failure(&error))
    }

    fn failure(&mut self, error: &io::Error) -> Failure {
        match self.sink().refused.take() {
            Some(refusal) => Failure::Refused(refusal),
            None => Failure::Garbled(format!("the document cannot be decompressed: {error}")),
        }
    }

    fn finish(mut self) -> Result<Intake, Failure> {
        if let Self::Gzip(decoder) = &mut self
            && let Err(error) = decoder.try_finish()
        {
            return Err(self.failure(&error));
        }
        let done = match self {
            Self::Plain(sink) => Ok(*sink),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Deflate(inflater) => inflater.finish(),
        };
        let failed =
            |error| Failure::Garbled(format!("the compressed document is incomplete: {error}"));
        done.map(|sink| sink.intake).map_err(failed)
    }
}
