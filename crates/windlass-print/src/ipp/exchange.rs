//! Requests and responses of IPP over HTTP/1.1 (RFC 8010, section 3).

use std::borrow::Cow;
use std::io::Read;
use std::time::{Duration, Instant};

use flate2::Compression as Level;
use flate2::read::{DeflateEncoder, GzEncoder};
use windlass_base::Span;
use windlass_wire::http::{
    Body, BodyLength, CHUNK_END, Challenge, HeadError, Headers, LAST_CHUNK, Request, Response,
    chunk_head,
};
use windlass_wire::ipp::{Compression, Decoder, GroupTag, Limits, Message, Operation, Status};
use windlass_wire::target::Target;

use super::FinishedOperation;
use crate::dial::{Dial, connected};
use crate::document::Document;
use crate::error::{Error, one_line};
use crate::job::OnBreak;
use crate::link::{CountedDocument, Link, ReadOutcome, bare};
use crate::monitor::Monitor;
use crate::patience::Limit;

/// Longest wait for the server to request the document. Servers without support for the question
/// send nothing (RFC 9110, section 10.1.1).
pub(crate) const GOING_ON: Duration = Duration::from_secs(1);

/// Maximum number of answers to requests for a login, some of which may have been typed.
const MAX_SAID: usize = 3;

/// Maximum number of interim responses to one request.
const MAX_INTERIM: usize = 16;

/// Maximum size of a body that is no IPP, and of its stored part.
const MAX_PAGE: usize = 1 << 20;
const MAX_KEPT: usize = 8 << 10;

/// Client of one printer.
pub(crate) struct Client<'a> {
    target: Cow<'a, Target>,
    monitor: &'a Monitor,
    dial: &'a Dial<'a>,
    patience: Limit,
    on_break: OnBreak,
    link: Option<Link<'a>>,
    id: u32,
    authorization: Authorization,
}

/// Identity in the requests.
#[derive(Clone, Debug)]
enum Authorization {
    /// Not decided yet.
    Open,
    /// This header, or none.
    Said(Option<String>),
}

/// A response.
pub(crate) struct IppResponse {
    pub(crate) head: Response,
    message: Option<Message>,
    text: Vec<u8>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        target: &'a Target,
        monitor: &'a Monitor,
        dial: &'a Dial<'a>,
        patience: impl Into<Limit>,
    ) -> Self {
        Self {
            target: Cow::Borrowed(target),
            monitor,
            dial,
            patience: patience.into(),
            on_break: OnBreak::Close,
            link: None,
            id: 0,
            authorization: Authorization::Open,
        }
    }

    /// Returns the number of the next request.
    pub(crate) const fn next_id(&mut self) -> u32 {
        self.id += 1;
        self.id
    }

    /// Reduces the patience from now on, and drops the connection.
    pub(crate) fn hurry(&mut self, patience: Duration) {
        self.patience = self.patience.get().map_or(patience, |has| has.min(patience)).into();
        self.link = None;
    }

    /// Makes it the client of a job: its connection persists, and ends by `on_break` if the job is
    /// interrupted.
    pub(crate) fn of_job(self, on_break: OnBreak) -> Self {
        Self { on_break, ..self }
    }

    /// Directs further requests to another queue of the same server.
    pub(crate) fn at(&mut self, target: &Target) {
        self.target = Cow::Owned(target.clone());
    }

    fn link(&mut self) -> Result<Link<'a>, Error> {
        match self.link.take() {
            Some(mut link) => {
                link.touch();
                Ok(link)
            }
            None => {
                let connection = connected(self.dial, &self.target)?;
                Link::new(connection, self.monitor, self.patience.clone())?.lasting(self.on_break)
            }
        }
    }

    /// Sends a request without a document.
    pub(crate) fn ask(&mut self, request: &Message) -> Result<(FinishedOperation, Message), Error> {
        let (began, operation) = (Instant::now(), Operation(request.code));
        let body = encoded(request)?;
        let mut said = Vec::new();
        loop {
            let head = self.head(BodyLength::Of(body.len() as u64), false)?;
            let whole = [&head[..], &body].concat();
            // A server may close a persistent connection at any time.
            let was_kept = self.link.is_some();
            let mut link = self.link()?;
            let asked = say_and_hear(&mut link, &whole);
            let (link, answer) = match asked {
                Err(Error::Gone { .. }) if was_kept => {
                    let mut link = self.link()?;
                    let answer = say_and_hear(&mut link, &whole)?;
                    (link, answer)
                }
                answer => (link, answer?),
            };
            self.keep(link, &answer, true);
            if !self.says_more(&answer.head, &mut said) {
                return done(operation, request.request_id, answer, began);
            }
        }
    }

    /// Returns whether the server asked for a login, and the next request has one that was not sent
    /// yet.
    fn says_more(&mut self, head: &Response, said: &mut Vec<String>) -> bool {
        if head.status != 401 {
            return false;
        }
        if let Authorization::Said(Some(words)) = &self.authorization {
            said.push(words.clone());
        }
        if said.len() >= MAX_SAID {
            return false;
        }
        let values = head.headers.all("WWW-Authenticate").map(String::from_utf8_lossy);
        let challenges: Vec<Challenge> = values.flat_map(|value| Challenge::all(&value)).collect();
        let answers = self.dial.answers(&self.target, &challenges);
        let Some(next) = answers.into_iter().find(|words| !said.contains(words)) else {
            return false;
        };
        self.authorization = Authorization::Said(Some(next));
        true
    }

    /// Sends a document.
    pub(crate) fn send(
        &mut self,
        request: &Message,
        compression: Compression,
        document: &mut Document,
    ) -> Result<(FinishedOperation, Message), Error> {
        const SENDING: &str = "the document was sent";
        let (began, operation) = (Instant::now(), Operation(request.code));
        let message = encoded(request)?;
        let known = document.size().filter(|_| compression == Compression::None);
        let length = match known {
            Some(size) => BodyLength::Of((message.len() as u64).saturating_add(size)),
            None => BodyLength::Chunked,
        };
        let head = self.head(length, true)?;
        let mut link = self.link()?;
        link.announce();
        let mut goes_on = |link: &mut Link<'_>| !has_answer(link);
        let mut is_whole = link.put(&head, SENDING, &mut goes_on)?;
        is_whole = is_whole && wants_document(&mut link)?;
        if is_whole {
            let first = match length {
                BodyLength::Chunked => {
                    [&chunk_head(message.len())[..], &message, CHUNK_END].concat()
                }
                _ => message,
            };
            is_whole = link.put(&first, SENDING, &mut goes_on)?;
        }
        if is_whole {
            let mut document = compressed(CountedDocument(document, self.monitor), compression);
            is_whole = match length {
                BodyLength::Chunked => {
                    let framed = |length: usize| (chunk_head(length), CHUNK_END);
                    link.document(&mut document, &framed, SENDING, &mut goes_on)?
                        && link.put(LAST_CHUNK, SENDING, &mut goes_on)?
                }
                _ => link.document(&mut document, &bare, SENDING, &mut goes_on)?,
            };
        }
        let answer = hear(&mut link)?;
        if is_whole {
            link.has_all();
            link.complete();
        }
        self.keep(link, &answer, is_whole);
        let done = done(operation, request.request_id, answer, began)?;
        if is_whole {
            return Ok(done);
        }
        Err(Error::Protocol("it confirmed the job before it had the whole document".to_owned()))
    }

    /// Keeps a connection that can be used again.
    fn keep(&mut self, link: Link<'a>, answer: &IppResponse, is_whole: bool) {
        let usable = is_whole && !answer.head.closes() && !link.at_end;
        self.link = Some(link).filter(|_| usable);
    }

    fn head(&mut self, length: BodyLength, has_document: bool) -> Result<Vec<u8>, Error> {
        let mut headers = headers(&self.target);
        if matches!(self.authorization, Authorization::Open) {
            let first = self.dial.authorization(&self.target).map_err(Error::Dial)?;
            self.authorization = Authorization::Said(first);
        }
        if let Authorization::Said(Some(words)) = &self.authorization {
            headers.push("Authorization", words);
        }
        match length {
            BodyLength::Of(bytes) => headers.push("Content-Length", bytes.to_string()),
            _ => headers.push("Transfer-Encoding", "chunked"),
        }
        if has_document {
            headers.push("Expect", "100-continue");
        }
        head(&self.target, headers)
    }
}

/// Returns the headers of each request.
pub(crate) fn headers(target: &Target) -> Headers {
    Headers::default()
        .with("Host", target.authority())
        .with("User-Agent", concat!("windlass/", env!("CARGO_PKG_VERSION")))
        .with("Content-Type", "application/ipp")
        .with("Accept", "application/ipp")
}

/// Returns the head of a request.
pub(crate) fn head(target: &Target, headers: Headers) -> Result<Vec<u8>, Error> {
    let path = target.queue.clone();
    let head = Request { method: "POST".to_owned(), path, minor: 1, headers };
    head.encode().map_err(|wrong| Error::Asked(wrong.to_string()))
}

pub(crate) fn encoded(request: &Message) -> Result<Vec<u8>, Error> {
    request.encode().map_err(|wrong| Error::Asked(wrong.to_string()))
}

fn say_and_hear(link: &mut Link<'_>, bytes: &[u8]) -> Result<IppResponse, Error> {
    link.put(bytes, "the request was sent", &mut |link| !has_answer(link))?;
    hear(link)
}

/// Returns the head of the answer and its length; nothing while it is incomplete. Interim responses
/// are passed to `interim` and removed.
fn head_of(
    link: &mut Link<'_>,
    mut interim: impl FnMut(u16),
) -> Result<Option<(Response, usize)>, HeadError> {
    loop {
        match Response::decode(&link.inbox)? {
            Some((head, used)) if head.is_interim() => {
                link.inbox.drain(..used);
                interim(head.status);
            }
            found => return Ok(found),
        }
    }
}

/// Returns whether there is an answer, or none can come any more.
pub(crate) fn has_answer(link: &mut Link<'_>) -> bool {
    // The reader of the answer reports invalid HTTP.
    head_of(link, |_| {}).map_or(true, |head| head.is_some() || link.at_end)
}

/// Waits a while for the server's request to continue.
fn wants_document(link: &mut Link<'_>) -> Result<bool, Error> {
    let (end, mut goes_on) = (link.now() + GOING_ON, false);
    loop {
        match head_of(link, |status| goes_on |= status == 100) {
            _ if goes_on => return Ok(true),
            Ok(None) if !link.at_end => {}
            Ok(_) | Err(_) => return Ok(false),
        }
        if link.more_until("windlass waited for 100 Continue", end)?.is_none() {
            return Ok(true);
        }
    }
}

/// Reads a response.
pub(crate) fn hear(link: &mut Link<'_>) -> Result<IppResponse, Error> {
    const WAITING: &str = "windlass waited for its answer";
    let wrong = |error: &dyn std::fmt::Display| Error::Protocol(error.to_string());
    let mut interim = 0;
    let (head, used) = loop {
        let found = head_of(link, |_| interim += 1).map_err(|error| wrong(&error))?;
        if interim > MAX_INTERIM {
            return Err(Error::Protocol("it sends only interim responses (1xx)".to_owned()));
        }
        match found {
            Some(found) => break found,
            None if link.more(WAITING)? == ReadOutcome::End => {
                return Err(Error::Gone { during: WAITING });
            }
            None => {}
        }
    };
    link.inbox.drain(..used);
    let kind = head.headers.text("Content-Type").unwrap_or_default().to_ascii_lowercase();
    let is_ipp = head.status == 200 && kind.starts_with("application/ipp");
    let mut body = Body::new(head.body().map_err(|error| wrong(&error))?);
    let (mut decoder, mut text, mut sum) = (Decoder::new(Limits::default()), Vec::new(), 0);
    while !body.is_done() {
        let taken = body.take(&link.inbox).map_err(|error| wrong(&error))?;
        let (used, length) = (taken.used, taken.data.len());
        sum += length;
        if sum > MAX_PAGE {
            return Err(Error::Protocol("its answer has no end".to_owned()));
        }
        if is_ipp {
            decoder.take(taken.data).map_err(|error| wrong(&error))?;
        } else {
            let room = MAX_KEPT.saturating_sub(text.len()).min(length);
            text.extend_from_slice(&taken.data[..room]);
        }
        link.inbox.drain(..used);
        if used == 0 && link.more(WAITING)? == ReadOutcome::End {
            match body.closed() {
                // An error is reported even if its page is truncated.
                Err(_) if !is_ipp => break,
                done => done.map_err(|error| wrong(&error))?,
            }
        }
    }
    let message = is_ipp.then(|| decoder.message()).flatten();
    if is_ipp && message.is_none() {
        return Err(Error::Protocol("its IPP answer is incomplete".to_owned()));
    }
    Ok(IppResponse { head, message, text })
}

/// Judges an answer.
pub(crate) fn done(
    operation: Operation,
    request_id: u32,
    answer: IppResponse,
    began: Instant,
) -> Result<(FinishedOperation, Message), Error> {
    let IppResponse { head, message, text } = answer;
    let Some(message) = message else {
        let (status, reason) = (head.status, head.reason);
        if status == 200 {
            return Err(Error::Protocol(format!("its answer to {operation} is not IPP")));
        }
        let text = one_line(&without_tags(&String::from_utf8_lossy(&text)));
        return Err(Error::Http { operation, status, reason, text });
    };
    if message.request_id != request_id {
        let got = message.request_id;
        return Err(Error::Protocol(format!(
            "it answers request {got} instead of request {request_id}"
        )));
    }
    let status = Status(message.code);
    let words = message.text(GroupTag::OPERATION, "status-message").unwrap_or_default();
    let words = one_line(&words);
    if !status.is_successful() {
        return Err(Error::Ipp { operation, status, message: words });
    }
    let seconds = Span::from_duration(began.elapsed());
    Ok((FinishedOperation { operation, status, message: words, seconds }, message))
}

/// Returns the text of a page.
fn without_tags(page: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0_u32);
    for letter in page.chars() {
        match letter {
            '<' => depth = 1,
            '>' if depth > 0 => {
                depth = 0;
                out.push(' ');
            }
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out
}

/// Returns a document as it is sent.
fn compressed<'d>(document: CountedDocument<'d>, compression: Compression) -> Box<dyn Read + 'd> {
    // The fastest level: a job is to be sent, and not to be stored.
    match compression {
        Compression::None => Box::new(document),
        Compression::Gzip => Box::new(GzEncoder::new(document, Level::fast())),
        Compression::Deflate => Box::new(DeflateEncoder::new(document, Level::fast())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_text() {
        let page = "<HTML><HEAD><TITLE>Request Entity Too Large</TITLE></HEAD><BODY>a > b</BODY>";
        assert_eq!(one_line(&without_tags(page)), "Request Entity Too Large a > b");
    }
}
