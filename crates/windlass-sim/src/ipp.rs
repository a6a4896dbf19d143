//! The server's side of IPP over HTTP/1.1 (RFC 8010, RFC 8011): bytes in, bytes out.
//!
//! The server has no connection: its caller transports the bytes. Documents are counted and not
//! kept, and the memory is bounded whatever the input. A head has at most 16 KiB, the message
//! before a document at most 64 KiB. The [`Printer`] holds the jobs, which all connections of a
//! device share.

mod attributes;
mod operations;
mod printer;

use operations::OperationStep;
pub use printer::{IppTotals, Printer};
use windlass_wire::http::{Body, BodyLength, Headers, MAX_HEAD, Request, Response};
use windlass_wire::ipp::{Decoder, Limits};

use crate::segment::Payload;

/// Limits of a request before its document. Requests of CUPS have some hundreds of bytes.
const LIMITS: Limits = Limits { bytes: 64 << 10, values: 1 << 10, depth: 8 };

/// Maximum bytes of answers to one read. A client that sends requests without end gets no further
/// answers.
const MAX_ANSWERS: usize = 1 << 20;

/// Interim response that asks the client for the document.
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Zeros, for payloads of which only the length is kept.
const ZEROS: [u8; 256] = [0; 256];

/// State of the conversation.
#[derive(Clone, Debug)]
enum IppState {
    /// A head of HTTP is coming in. `line` is the length of its last line.
    Head { octets: Vec<u8>, line: usize },
    /// The IPP message before the document is coming in.
    Message { asked: RequestContext, body: Body, decoder: Box<Decoder> },
    /// The document, or data that is ignored, is coming in. Then the server answers.
    Body { asked: RequestContext, body: Body, then: OperationStep },
    /// The server answers, and closes.
    Closed,
}

/// Parts of a request's head that the answer needs.
#[derive(Clone, Debug)]
struct RequestContext {
    /// The client's name for this server.
    authority: String,
    /// True if the connection ends with the answer.
    closes: bool,
}

/// The server's side of one connection.
#[derive(Clone, Debug)]
pub struct IppServer {
    state: IppState,
}

/// A server that waits for a request.
impl Default for IppServer {
    fn default() -> Self {
        Self { state: IppState::Head { octets: Vec::new(), line: 0 } }
    }
}

impl IppServer {
    /// Returns whether the server wants to close the connection.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, IppState::Closed)
    }

    /// Takes bytes in order and appends the answers.
    pub fn feed(&mut self, input: &Payload, printer: &mut Printer, answers: &mut Vec<u8>) {
        let most = answers.len().saturating_add(MAX_ANSWERS);
        let mut at = 0;
        while at < input.len() {
            let left = input.len() - at;
            let used = match self.skip(left, printer) {
                0 => match input {
                    Payload::Zeros(_) => {
                        let zeros = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
                        self.take(&ZEROS[..zeros], printer, answers)
                    }
                    Payload::Bytes(shared) => {
                        let rest = shared.as_slice().get(at as usize..).unwrap_or_default();
                        self.take(rest, printer, answers)
                    }
                },
                skipped => skipped,
            };
            self.settle(printer, answers);
            if answers.len() > most {
                self.end(printer);
            }
            // Each step uses at least one byte.
            at = at.saturating_add(used.max(1));
        }
    }

    /// Ends the conversation: the peer has closed, or is gone. A job with an incomplete document is
    /// aborted. A second end has no effect.
    pub fn end(&mut self, printer: &mut Printer) {
        if let IppState::Body { then: OperationStep::Receive(receive), .. } = &self.state {
            printer.abort(receive.id);
        }
        self.state = IppState::Closed;
    }

    /// Skips up to `length` bytes whose values do not matter.
    fn skip(&mut self, length: u32, printer: &mut Printer) -> u32 {
        match &mut self.state {
            IppState::Closed => length,
            IppState::Body { body, then, .. } => {
                let skipped = body.skip(length.into());
                then.count(skipped, printer);
                u32::try_from(skipped).unwrap_or(length)
            }
            IppState::Head { .. } | IppState::Message { .. } => 0,
        }
    }

    /// Takes bytes that matter, at least one: as many as belong together.
    fn take(&mut self, bytes: &[u8], printer: &mut Printer, answers: &mut Vec<u8>) -> u32 {
        let used = match &mut self.state {
            IppState::Head { octets, line } => {
                let (used, is_whole) = take_head(octets, line, bytes);
                if is_whole {
                    let octets = std::mem::take(octets);
                    self.head(&octets, answers);
                } else if octets.len() >= MAX_HEAD {
                    self.refuse(431, "the head does not end", answers);
                }
                used
            }
            IppState::Message { body, decoder, .. } => {
                let Ok(taken) = body.take(bytes) else {
                    self.refuse(400, "the body is not in chunks", answers);
                    return 1;
                };
                let (used, data) = (taken.used, taken.data);
                let Ok(of_message) = decoder.take(data) else {
                    self.refuse(400, "it is no message of IPP", answers);
                    return 1;
                };
                if decoder.needs() == 0 {
                    let of_document = (data.len() - of_message) as u64;
                    self.message(of_document, printer);
                }
                used
            }
            IppState::Body { body, then, .. } => match body.take(bytes) {
                Ok(taken) => {
                    then.count(taken.data.len() as u64, printer);
                    taken.used
                }
                Err(_) => {
                    self.end(printer);
                    self.refuse(400, "the body is not in chunks", answers);
                    1
                }
            },
            IppState::Closed => bytes.len(),
        };
        u32::try_from(used).unwrap_or(u32::MAX)
    }

    /// Answers a complete request.
    fn settle(&mut self, printer: &mut Printer, answers: &mut Vec<u8>) {
        let (IppState::Message { body, .. } | IppState::Body { body, .. }) = &self.state else {
            return;
        };
        if !body.is_done() {
            return;
        }
        let IppState::Body { asked, then, .. } =
            std::mem::replace(&mut self.state, IppState::Closed)
        else {
            return self.refuse(400, "the message of IPP does not end", answers);
        };
        let answer = match then {
            OperationStep::Answer(answer) => *answer,
            OperationStep::Receive(receive) => receive.file(&asked.authority, printer),
        };
        if !asked.closes {
            *self = Self::default();
        }
        let octets = answer.encode().unwrap_or_default();
        say(200, "application/ipp", &octets, asked.closes, answers);
    }

    /// Handles a complete head.
    fn head(&mut self, octets: &[u8], answers: &mut Vec<u8>) {
        let request = match Request::decode(octets) {
            Ok(Some((request, _))) => request,
            Ok(None) => return self.refuse(400, "it is no HTTP", answers),
            Err(wrong) => return self.refuse(400, &wrong.to_string(), answers),
        };
        if request.method != "POST" {
            return self.refuse(405, "IPP is posted", answers);
        }
        let length = match request.body() {
            Ok(length) => length,
            Err(wrong) => return self.refuse(400, &wrong.to_string(), answers),
        };
        if request.waits() && length != BodyLength::Of(0) {
            answers.extend_from_slice(GO_ON);
        }
        self.state = IppState::Message {
            asked: RequestContext {
                authority: request.authority().into_owned(),
                closes: request.closes() || request.minor == 0,
            },
            body: Body::new(length),
            decoder: Box::new(Decoder::new(LIMITS)),
        };
    }

    /// Handles the complete IPP message. `of_document` bytes of the document arrived with it.
    fn message(&mut self, of_document: u64, printer: &mut Printer) {
        let state = std::mem::replace(&mut self.state, IppState::Closed);
        if let IppState::Message { asked, body, decoder } = state
            && let Some(message) = decoder.message()
        {
            let mut then = operations::done(&message, &asked.authority, printer);
            then.count(of_document, printer);
            self.state = IppState::Body { asked, body, then };
        }
    }

    /// Refuses the request, and closes: the bytes that follow may be anything.
    fn refuse(&mut self, status: u16, why: &str, answers: &mut Vec<u8>) {
        self.state = IppState::Closed;
        say(status, "text/plain; charset=utf-8", format!("{why}\n").as_bytes(), true, answers);
    }
}

/// Takes the bytes of a head up to the empty line that ends it. Returns their number, and whether
/// this line has arrived. Empty lines before the head are skipped.
fn take_head(octets: &mut Vec<u8>, line: &mut usize, bytes: &[u8]) -> (usize, bool) {
    for (place, byte) in bytes.iter().enumerate() {
        if octets.is_empty() && matches!(byte, b'\r' | b'\n') {
            continue;
        }
        if octets.len() >= MAX_HEAD {
            return (place.max(1), false);
        }
        octets.push(*byte);
        match byte {
            b'\n' if *line == 0 => return (place + 1, true),
            b'\n' => *line = 0,
            b'\r' => {}
            _ => *line += 1,
        }
    }
    (bytes.len(), false)
}

fn say(status: u16, kind: &str, body: &[u8], closes: bool, answers: &mut Vec<u8>) {
    let mut headers = Headers::default().with("Content-Type", kind);
    if status == 405 {
        headers.push("Allow", "POST");
    }
    // None of these words has a control character.
    let head = Response::before(status, headers, body.len(), closes);
    answers.extend(head.encode().unwrap_or_default());
    answers.extend_from_slice(body);
}

#[cfg(test)]
#[path = "ipp/ipp_tests.rs"]
mod tests;
