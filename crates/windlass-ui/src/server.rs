//! Server on loopback: one request for each connection, within limits.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::socket::is_pause;
use windlass_sys::wait::ready;
use windlass_wire::http::{BodyLength, HeadError, Headers, Request, Response};

use crate::guard::{CheckedRequest, Refusal};
use crate::multipart::Decoder;
use crate::uploads::FormReceiver;
use crate::{Fields, Files, Guard, Token, Uploads};

/// Time between two checks for the end of the server.
const LOOK: Duration = Duration::from_millis(200);

/// Limits of the wait for the client to close after an answer: time, and bytes.
const PARTING: Duration = Duration::from_secs(1);
const MAX_PARTING: usize = 1 << 20;

/// Maximum time for all files of a form while bytes keep arriving: 1 GiB over a forwarded port at
/// 2.5 Mbit/s.
const LONGEST_UPLOAD: Duration = Duration::from_secs(3_600);

/// Bytes of an upload that are read at once.
const UPLOAD_PIECE: usize = 64 << 10;

/// Slowest client that receives a long answer completely, in bytes per second.
const SLOWEST: usize = 100_000;

/// Content security policy of the pages: everything from this server, no inline scripts or styles,
/// and no frame in another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Resource limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections at a time; one more is refused.
    pub connections: usize,
    /// Maximum time for receiving a request, and for sending an answer, even if bytes keep moving.
    pub patience: Duration,
    /// Maximum size of a form, in bytes.
    pub form: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 32, patience: Duration::from_secs(10), form: 16 << 10 }
    }
}

/// Request that passed the access checks.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// True for a POST request, which may change something.
    pub is_post: bool,
    /// Path, without a leading slash: `runs/k2f9abcdef`.
    pub path: String,
    /// Fields of the form, or of the query.
    pub fields: Fields,
    /// Files of the form.
    pub files: Files,
    /// Media types that the client accepts (`Accept`).
    pub accept: String,
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    kind: &'static str,
    location: Option<String>,
    policy: Option<String>,
    download: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    /// Creates an answer with a page.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    /// Creates an answer with a file of this media type, such as `text/css; charset=utf-8`.
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let (location, policy, download) = (None, None, None);
        Self { status: 200, kind, location, policy, download, body: body.into() }
    }

    /// Redirects the browser to this path of the server, which begins with [`Server::base`].
    pub fn see(path: String) -> Self {
        let plain = "text/plain; charset=utf-8";
        Self { status: 303, location: Some(path), ..Self::of(plain, "see there\n") }
    }

    /// Sets the status, for instance 404.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Replaces the `Content-Security-Policy` of the pages.
    #[must_use]
    pub fn with_policy(self, policy: String) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// Makes the answer a file that the browser saves under this name.
    #[must_use]
    pub fn as_download(self, name: &str) -> Self {
        let safe = |one: char| one.is_ascii_alphanumeric() || "-._".contains(one);
        let name = name.chars().map(|one| if safe(one) { one } else { '_' }).collect();
        Self { download: Some(name), ..self }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let plain = "text/plain; charset=utf-8";
        Self::of(plain, format!("{}\n", refusal.why)).with_status(refusal.status)
    }
}

/// Server on 127.0.0.1 behind a token, or one with pages that anyone may read.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
    limits: Limits,
    /// Settings for forms with files. The lock is held while such a form arrives.
    uploads: Option<(Uploads, Mutex<()>)>,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 means any free port. Requests wait until
    /// [`Server::serve`].
    ///
    /// # Errors
    /// Returns an error if the port cannot be bound, or the system has no random numbers for a
    /// token.
    pub fn bind(port: u16) -> io::Result<Self> {
        Self::with_limits(port, Limits::default())
    }

    /// Listens on a port of 127.0.0.1, with these limits.
    ///
    /// # Errors
    /// The errors of [`Server::bind`].
    pub fn with_limits(port: u16, limits: Limits) -> io::Result<Self> {
        let (listener, address) = listen((Ipv4Addr::LOCALHOST, port).into())?;
        let guard = Guard::new(address.port(), Token::by_chance()?);
        Ok(Self { listener, address, guard, limits, uploads: None })
    }

    /// Listens at an address, for pages that anyone who can reach the server may read. Requests
    /// wait until [`Server::serve`].
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound.
    pub fn of_readers(address: SocketAddr) -> io::Result<Self> {
        let (listener, address) = listen(address)?;
        let guard = Guard::of_readers(address);
        Ok(Self { listener, address, guard, limits: Limits::default(), uploads: None })
    }

    /// Accepts files with the forms of one path, one form at a time.
    #[must_use]
    pub fn taking(self, uploads: Uploads) -> Self {
        Self { uploads: Some((uploads, Mutex::new(()))), ..self }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the prefix of each path: a slash and the token; empty without a token.
    pub fn base(&self) -> String {
        self.guard.token().map(|token| format!("/{}", token.as_str())).unwrap_or_default()
    }

    /// Returns the address to open in a browser.
    pub fn address(&self) -> String {
        format!("http://{}{}/", self.address, self.base())
    }

    /// Answers requests until `stops` returns true, and then completes those in progress.
    pub fn serve(
        &self,
        answer: &(dyn Fn(&PageRequest) -> Answer + Sync),
        stops: &(dyn Fn() -> bool + Sync),
    ) {
        let open = AtomicUsize::new(0);
        thread::scope(|scope| {
            while !stops() {
                // A failure affects no client yet, and the next attempt may succeed.
                if !matches!(ready(&[self.listener.as_fd()], Some(LOOK)), Ok(true)) {
                    continue;
                }
                let Ok((stream, _)) = self.listener.accept() else {
                    // Wait until file descriptors are free again.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                let is_full = open.fetch_add(1, Ordering::Relaxed) >= self.limits.connections;
                let open = &open;
                let serve = move || {
                    // A client that goes away affects no other.
                    let _ = self.converse(stream, answer, stops, is_full);
                    open.fetch_sub(1, Ordering::Relaxed);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Reads one request and answers it.
    fn converse(
        &self,
        stream: TcpStream,
        answer: &(dyn Fn(&PageRequest) -> Answer + Sync),
        stops: &(dyn Fn() -> bool + Sync),
        is_full: bool,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let mut client = Client { stream, got: Vec::new(), stops, by: self.by() };
        if is_full {
            let why = "too many connections are open: try again later";
            return client.say(&Refusal::new(503, why).into(), false);
        }
        let (asked, is_head) = match self.request(&mut client) {
            Ok(asked) => asked,
            Err(RequestError::Refused(refusal)) => {
                client.by = self.by();
                return client.say(&refusal.into(), false);
            }
            Err(RequestError::Gone) => return Ok(()),
        };
        // A page that panics must not end the server.
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&asked)));
        let answered = answered.unwrap_or_else(|_| {
            Refusal::new(500, "this page failed: see standard error of windlass ui").into()
        });
        let length = u64::try_from(answered.body.len() / SLOWEST).unwrap_or(u64::MAX);
        client.by = self.by() + Duration::from_secs(length);
        client.say(&answered, is_head)
    }

    fn by(&self) -> Instant {
        Instant::now() + self.limits.patience
    }

    /// Reads a request, and checks that it may be answered.
    fn request(&self, client: &mut Client<'_>) -> Result<(PageRequest, bool), RequestError> {
        let (request, used) = loop {
            match Request::decode(&client.got) {
                Ok(Some(whole)) => break whole,
                Ok(None) => client.fill()?,
                Err(error) => {
                    let status = if error == HeadError::TooLong { 431 } else { 400 };
                    return Err(Refusal::new(status, error.to_string()).into());
                }
            }
        };
        client.got.drain(..used);
        let CheckedRequest { is_post, is_head, path, query } = self.guard.check(&request)?;
        let accept = request.headers.text("Accept").unwrap_or_default().into_owned();
        let length = match request.body() {
            Ok(BodyLength::Of(length)) => length,
            Ok(_) => return Err(Refusal::new(411, "the form has no Content-Length").into()),
            Err(error) => return Err(Refusal::new(400, error.to_string()).into()),
        };
        if !is_post {
            if length > 0 {
                return Err(Refusal::new(400, "a request for a page must have no body").into());
            }
            let (fields, files) = (Fields::read(&query), Files::default());
            return Ok((PageRequest { is_post, path, fields, files, accept }, is_head));
        }
        let kind = request.headers.text("Content-Type").unwrap_or_default();
        if let Some((uploads, lock)) = self.uploads.as_ref().filter(|(one, _)| one.path == path)
            && let Some(decoder) = Decoder::for_content_type(&kind)
        {
            let _alone = match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let why = "another upload is running: try again after it";
                    return Err(Refusal::new(503, why).into());
                }
                alone => alone,
            };
            let (fields, files) = self.upload(client, uploads, decoder, &request, length)?;
            return Ok((PageRequest { is_post, path, fields, files, accept }, is_head));
        }
        if length > self.limits.form {
            return Err(Refusal::new(413, "this is not a form of these pages").into());
        }
        let kind = kind.to_ascii_lowercase();
        if kind.split(';').next().map(str::trim) != Some("application/x-www-form-urlencoded") {
            return Err(Refusal::new(415, "this is not a form of these pages").into());
        }
        if request.waits() {
            client.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| RequestError::Gone)?;
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        while client.got.len() < length {
            client.fill()?;
        }
        client.got.truncate(length);
        let form = String::from_utf8_lossy(&client.got);
        let (fields, files) = (Fields::read(&form), Files::default());
        Ok((PageRequest { is_post, path, fields, files, accept }, is_head))
    }

    /// Receives a form with files. Each piece has the usual time limit, and the whole form a longer
    /// one.
    fn upload(
        &self,
        client: &mut Client<'_>,
        uploads: &Uploads,
        mut decoder: Decoder,
        request: &Request,
        length: u64,
    ) -> Result<(Fields, Files), RequestError> {
        if length > uploads.most {
            let most = uploads.most;
            return Err(Refusal::new(413, format!("at most {most} bytes are accepted")).into());
        }
        let room = usize::try_from(self.limits.form).unwrap_or(usize::MAX);
        let receiver = FormReceiver::new(uploads, room)
            .map_err(|error| Refusal::new(507, format!("cannot store the files: {error}")));
        let mut receiver = receiver?;
        if request.waits() {
            client.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| RequestError::Gone)?;
        }
        let end = Instant::now() + LONGEST_UPLOAD;
        let mut left = length;
        let mut piece = std::mem::take(&mut client.got);
        loop {
            let own = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            decoder.push(&piece[..own], &mut receiver)?;
            left -= own as u64;
            if left == 0 {
                break;
            }
            client.by = self.by().min(end);
            piece.resize(UPLOAD_PIECE, 0);
            let got = client.read(&mut piece)?;
            piece.truncate(got);
        }
        decoder.finish().map_err(Refusal::from)?;
        Ok(receiver.finish())
    }
}

/// Listens without blocking; the returned address has the port that the kernel chose.
fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Reason why there is no request to answer.
enum RequestError {
    Refused(Refusal),
    Gone,
}

impl From<Refusal> for RequestError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Connection of a client.
struct Client<'a> {
    stream: TcpStream,
    /// Received bytes that are not used yet.
    got: Vec<u8>,
    stops: &'a (dyn Fn() -> bool + Sync),
    /// Deadline of the current step.
    by: Instant,
}

impl Client<'_> {
    /// Returns whether something can be read; false after the deadline, or if the server ends.
    fn waits(&self, by: Instant) -> bool {
        while !(self.stops)() {
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            match ready(&[self.stream.as_fd()], Some(left.min(LOOK))) {
                Ok(false) => {}
                Ok(true) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    /// Reads more bytes of the request.
    fn fill(&mut self) -> Result<(), RequestError> {
        // A client that sent nothing expects no answer: a browser may open a connection ahead.
        let is_silent = self.got.is_empty();
        let mut piece = [0; 4 << 10];
        let got =
            self.read(&mut piece).map_err(|no| if is_silent { RequestError::Gone } else { no })?;
        self.got.extend_from_slice(&piece[..got]);
        Ok(())
    }

    /// Reads at least one byte into a buffer.
    fn read(&mut self, piece: &mut [u8]) -> Result<usize, RequestError> {
        if !self.waits(self.by) {
            if (self.stops)() {
                return Err(RequestError::Gone);
            }
            return Err(Refusal::new(408, "the request timed out").into());
        }
        match self.stream.read(piece) {
            Ok(0) | Err(_) => Err(RequestError::Gone),
            Ok(got) => Ok(got),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.stream.set_write_timeout(Some(LOOK))?;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(done) => bytes = &bytes[done..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= self.by {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Sends an answer, and ends the connection.
    fn say(&mut self, answer: &Answer, is_head: bool) -> io::Result<()> {
        let mut headers = Headers::default()
            .with("Content-Type", answer.kind)
            .with("Content-Security-Policy", answer.policy.as_deref().unwrap_or(POLICY))
            .with("X-Content-Type-Options", "nosniff")
            // Other sites must not learn the address of a page, which contains the token. This
            // server may: otherwise a browser would not name the page that a form comes from.
            .with("Referrer-Policy", "same-origin")
            .with("Cross-Origin-Opener-Policy", "same-origin")
            .with("Cross-Origin-Resource-Policy", "same-origin")
            .with("Cache-Control", "no-store");
        if let Some(location) = &answer.location {
            headers.push("Location", location);
        }
        if let Some(name) = &answer.download {
            headers.push("Content-Disposition", format!("attachment; filename=\"{name}\""));
        }
        let head = Response::before(answer.status, headers, answer.body.len(), true);
        let mut octets = head.encode().map_err(io::Error::other)?;
        if !is_head {
            octets.extend_from_slice(&answer.body);
        }
        self.write(&octets)?;
        self.part()
    }

    /// Closes the connection after the client has read the answer. Closing with unread data would
    /// reset the connection, and the client would lose the rest of the answer.
    fn part(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let by = Instant::now() + PARTING;
        let (mut left, mut piece) = (MAX_PARTING, [0; 4 << 10]);
        while left > 0 && self.waits(by) {
            match self.stream.read(&mut piece)? {
                0 => break,
                got => left = left.saturating_sub(got),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
