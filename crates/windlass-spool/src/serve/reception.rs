//! A request of IPP as it comes: first its attributes, then the document.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress};
use windlass_spool_core::respond::{self, Context, Goal, Listing, Receive, RequestStep};
use windlass_spool_core::{JobId, Refusal};
use windlass_wire::ipp::server::{No, Reply};
use windlass_wire::ipp::{Compression, Decoder, Limits, Message, Operation, Status};

use super::Gate;
use crate::spooler::Spooler;
use crate::spooler::intake::{Admission, Intake};

/// The most that a request may be: the longest that drivers send have some
/// kilobytes.
const LIMITS: Limits = Limits { bytes: 256 << 10, values: 8_192, depth: 8 };

/// A request on its way in.
pub(super) struct Reception<'a> {
    spooler: &'a Arc<Spooler>,
    gate: &'a Arc<Gate>,
    context: Context<'a>,
    state: RequestState,
}

enum RequestState {
    /// Its attributes come.
    Attributes(Decoder),
    /// Its document comes.
    Document(Box<Coming>),
    /// It is answered; what comes now is of no use.
    Told(Told),
}

/// A document that comes.
struct Coming {
    receive: Receive,
    unpacker: Unpacker,
    admission: Option<Admission>,
}

/// What becomes of a request.
pub(super) enum Told {
    /// It is answered.
    Answer(Message),
    /// The same, with a list of jobs.
    List(Box<Listing>),
    /// It was no request, and why.
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

    /// Whether its attributes have come.
    pub(super) const fn has_begun(&self) -> bool {
        !matches!(self.state, RequestState::Attributes(_))
    }

    /// Whether what comes is of no use any more.
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self.state, RequestState::Told(_))
    }

    /// Whether it brings a document that is taken.
    pub(super) const fn has_document(&self) -> bool {
        matches!(self.state, RequestState::Document(_))
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8], expected: Option<u64>) {
        if let RequestState::Attributes(decoder) = &mut self.state {
            match decoder.take(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(garbled) => {
                    self.state = RequestState::Told(Told::Garbled(garbled.to_string()));
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
            self.state = RequestState::Told(Told::Answer(answer));
        }
    }

    fn respond(&mut self, request: &Message, expected: Option<u64>) {
        let context = &self.context;
        let possible = self.has_ports(request).and_then(|()| has_no_ppd(request, expected));
        if let Err(answer) = possible {
            self.state = RequestState::Told(Told::Answer(*answer));
            return;
        }
        // A job that is only said to come would be there for the time of
        // multiple-operation-time-out, and none of its documents would be taken.
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
                RequestState::Told(Told::Answer(answer))
            }
            RequestStep::List(listing) => RequestState::Told(Told::List(listing)),
            RequestStep::Receive(receive) => {
                let admission = match &receive.goal {
                    Goal::New { place, .. } => Some(Admission::new(self.spooler, *place)),
                    Goal::More { .. } => None,
                };
                let expected = expected.filter(|_| receive.compression == Compression::None);
                let allowance = receive.allowance.clone();
                let intake = Intake::new(self.spooler, expected).within(allowance);
                let unpacker = Unpacker::new(receive.compression, intake);
                RequestState::Document(Box::new(Coming { receive, unpacker, admission }))
            }
        };
    }

    /// Whether the ports for raw data that a request gives a printer can be had: that takes
    /// a look at the system, so the table does not know.
    fn has_ports(&self, request: &Message) -> Result<(), Box<Message>> {
        let is_meant = request.code == Operation::CUPS_ADD_MODIFY_PRINTER.0;
        if !is_meant || !self.context.requester.rights.administer {
            return Ok(());
        }
        // What is no address is refused with all else.
        let Ok(Some(ports)) = respond::raw_ports(request) else { return Ok(()) };
        let can = self.gate.ports.can_listen(&ports);
        can.map_err(|error| {
            let no = No::new(Status::NOT_POSSIBLE, error.to_string());
            Box::new(Reply::to(request).refused(no))
        })
    }

    /// Listens where printers have their ports, after one changed.
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
                let why = format!("the printer is as it was told to be, but: {error}");
                let no = No::new(Status::INTERNAL_ERROR, why);
                RequestStep::Answer(Reply::to(request).refused(no))
            }
        }
    }

    /// All has come. A request without a document is answered by now.
    pub(super) fn finish(self) -> Told {
        match self.state {
            RequestState::Told(told) => told,
            RequestState::Attributes(_) => {
                Told::Garbled("it ends within its attributes".to_owned())
            }
            RequestState::Document(coming) => {
                let Coming { mut receive, unpacker, admission } = *coming;
                let intake = unpacker.finish();
                let done = intake
                    .and_then(|intake| Ok(file(self.spooler, &mut receive, intake, admission)?));
                Told::Answer(answer(&receive, done, self.spooler, &self.context))
            }
        }
    }
}

/// What is answered where a document has come, or does not.
fn answer(
    receive: &Receive,
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
    receive: &mut Receive,
    intake: Intake,
    admission: Option<Admission>,
) -> Result<JobId, Refusal> {
    let name = std::mem::take(&mut receive.name);
    match &receive.goal {
        Goal::New { place, ticket } => {
            let admission = admission.map_or_else(|| spooler.admit(*place), Ok)?;
            spooler.file(admission, ticket.clone(), vec![intake.finish(name)?])
        }
        // The last request may say only that it is (RFC 8011, section 4.3.1).
        Goal::More { id, is_last: true } if intake.len() == 0 => spooler.add(*id, None, true),
        Goal::More { id, is_last } => spooler.add(*id, Some(intake.finish(name)?), *is_last),
    }
}

/// Why a document does not come in.
enum Failure {
    /// It is not taken.
    Refused(Refusal),
    /// It is not compressed as was said.
    Garbled(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A document as it is sent, and where it goes as it is.
enum Unpacker {
    Plain(Box<Sink>),
    Gzip(Box<MultiGzDecoder<Sink>>),
    Deflate(Box<Inflater>),
}

/// IPP's deflate. It is RFC 1951's (RFC 8011, section 5.4.32), and so do CUPS's
/// clients send it; some take the word as HTTP has it, and put RFC 1950's frame
/// around it.
struct Inflater {
    sink: Sink,
    /// None until the first byte tells which it is.
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
        // A frame's first byte says in its low half that it is 8, deflate. Without a
        // frame that would be a stored block with a padding that is not zero, which
        // nobody writes.
        let is_framed = first & 0x0f == 8;
        let data = self.data.get_or_insert_with(|| Decompress::new(is_framed));
        // What follows the end is nothing of the document.
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

/// Whether a request to add or change a printer brings nothing behind its attributes: what CUPS's
/// clients bring there is a PPD file, and there are no drivers here.
fn has_no_ppd(request: &Message, rest: Option<u64>) -> Result<(), Box<Message>> {
    if request.code != Operation::CUPS_ADD_MODIFY_PRINTER.0 || rest.unwrap_or(0) == 0 {
        return Ok(());
    }
    let why =
        "there are no drivers here, and a PPD file is of no use: raw and everywhere are known";
    Err(Box::new(Reply::to(request).refused(No::new(Status::FORMAT_NOT_SUPPORTED, why))))
}

/// Where unpacked bytes go. It remembers why they do not.
struct Sink {
    intake: Intake,
    refused: Option<Refusal>,
    /// Nothing more goes there. A decoder that is dropped writes what it has left, and a
    /// document with a gap in it is no fault of the disk.
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
            None => {
                Failure::Garbled(format!("the document is not compressed as was said: {error}"))
            }
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
            |error| Failure::Garbled(format!("the document's compression has no end: {error}"));
        done.map(|sink| sink.intake).map_err(failed)
    }
}
