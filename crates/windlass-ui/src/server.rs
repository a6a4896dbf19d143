//! A server on loopback: one request for each connection, within bounds.

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

use crate::guard::{Passed, Refusal};
use crate::multipart::Decoder;
use crate::uploads::FormReceiver;
use crate::{Fields, Files, Guard, Token, Uploads};

/// How long it is waited before it is looked whether the server ends.
const LOOK: Duration = Duration::from_millis(200);

/// How long it is waited for the client's end behind an answer, and for how many bytes.
const PARTING: Duration = Duration::from_secs(1);
const MAX_PARTING: usize = 1 << 20;

/// The longest time for all files of a form, while bytes keep arriving: 1 GiB over a forwarded
/// port at 2.5 Mbit/s.
const LONGEST_UPLOAD: Duration = Duration::from_secs(3_600);

/// The bytes of an upload that are read at once.
const UPLOAD_PIECE: usize = 64 << 10;

/// The slowest client that gets the whole of a long answer, in bytes per second.
const SLOWEST: usize = 100_000;

/// What a browser may load for a page and do with it: what it has from here, and nothing in the
/// frame of another page. No page has a script or a style in itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// What is borne.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many connections at a time; one more is told to come again.
    pub connections: usize,
    /// So long a request may take to come, and an answer to go, whatever of it moves meanwhile.
    pub patience: Duration,
    /// The longest form, in bytes.
    pub form: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 32, patience: Duration::from_secs(10), form: 16 << 10 }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whether something is to be done, and not only shown.
    pub is_post: bool,
    /// What, without a slash before it: `runs/k2f9abcdef`.
    pub path: String,
    /// The fields of the form, or of the query.
    pub fields: Fields,
    /// The files of the form.
    pub files: Files,
    /// The kinds of answers that the client takes, as it says (`Accept`).
    pub accept: String,
}

/// What is answered.
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
    /// A page.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    /// A file of this kind, as `text/css; charset=utf-8`.
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let (location, policy, download) = (None, None, None);
        Self { status: 200, kind, location, policy, download, body: body.into() }
    }

    /// The browser is to show this path of the server, as [`Server::base`] begins it.
    pub fn see(path: String) -> Self {
        let plain = "text/plain; charset=utf-8";
        Self { status: 303, location: Some(path), ..Self::of(plain, "see there\n") }
    }

    /// The same with a status: 404, 400, 409.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Replaces the `Content-Security-Policy` of the pages.
    #[must_use]
    pub fn with_policy(self, policy: String) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// Makes it a file that the browser saves under this name.
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

/// A server: on 127.0.0.1 behind a token, or one whose pages anybody may read.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
    limits: Limits,
    /// The forms that may carry files. The lock is had while one arrives.
    uploads: Option<(Uploads, Mutex<()>)>,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 is one of the kernel's choice. Nobody is answered yet.
    ///
    /// # Errors
    /// Where the port cannot be had, or there is no chance for a token.
    pub fn bind(port: u16) -> io::Result<Self> {
        Self::with_limits(port, Limits::default())
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// As of [`Server::bind`].
    pub fn with_limits(port: u16, limits: Limits) -> io::Result<Self> {
        let (listener, address) = listen((Ipv4Addr::LOCALHOST, port).into())?;
        let guard = Guard::new(address.port(), Token::by_chance()?);
        Ok(Self { listener, address, guard, limits, uploads: None })
    }

    /// Listens at an address, for pages that anybody may read who reaches it. Nobody is answered
    /// yet.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub fn of_readers(address: SocketAddr) -> io::Result<Self> {
        let (listener, address) = listen(address)?;
        let guard = Guard::of_readers(address);
        Ok(Self { listener, address, guard, limits: Limits::default(), uploads: None })
    }

    /// Takes files with the forms of one path, one form at a time.
    #[must_use]
    pub fn taking(self, uploads: Uploads) -> Self {
        Self { uploads: Some((uploads, Mutex::new(()))), ..self }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What each path begins with: a slash and the token; nothing where there is none.
    pub fn base(&self) -> String {
        self.guard.token().map(|token| format!("/{}", token.as_str())).unwrap_or_default()
    }

    /// What to open in a browser.
    pub fn address(&self) -> String {
        format!("http://{}{}/", self.address, self.base())
    }

    /// Answers until it is to stop. Requests that are being answered then are waited for.
    pub fn serve(
        &self,
        answer: &(dyn Fn(&Asked) -> Answer + Sync),
        stops: &(dyn Fn() -> bool + Sync),
    ) {
        let open = AtomicUsize::new(0);
        thread::scope(|scope| {
            while !stops() {
                // Where that fails there is nobody to tell, and the next one may come.
                if !matches!(ready(&[self.listener.as_fd()], Some(LOOK)), Ok(true)) {
                    continue;
                }
                let Ok((stream, _)) = self.listener.accept() else {
                    // Without files left for it, it waits until there are some.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                let is_full = open.fetch_add(1, Ordering::Relaxed) >= self.limits.connections;
                let open = &open;
                let serve = move || {
                    // A client that goes away is none of the others' affair.
                    let _ = self.converse(stream, answer, stops, is_full);
                    open.fetch_sub(1, Ordering::Relaxed);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// One request and its answer.
    fn converse(
        &self,
        stream: TcpStream,
        answer: &(dyn Fn(&Asked) -> Answer + Sync),
        stops: &(dyn Fn() -> bool + Sync),
        is_full: bool,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let mut client = Client { stream, got: Vec::new(), stops, by: self.by() };
        if is_full {
            let why = "too many connections are open: try again";
            return client.say(&Refusal::new(503, why).into(), false);
        }
        let (asked, is_head) = match self.request(&mut client) {
            Ok(asked) => asked,
            Err(No::Refused(refusal)) => {
                client.by = self.by();
                return client.say(&refusal.into(), false);
            }
            Err(No::Gone) => return Ok(()),
        };
        // A page that fails is not to end the server.
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&asked)));
        let answered = answered.unwrap_or_else(|_| {
            Refusal::new(500, "this page failed: standard error of windlass ui has more").into()
        });
        let length = u64::try_from(answered.body.len() / SLOWEST).unwrap_or(u64::MAX);
        client.by = self.by() + Duration::from_secs(length);
        client.say(&answered, is_head)
    }

    fn by(&self) -> Instant {
        Instant::now() + self.limits.patience
    }

    /// Reads a request that may be answered.
    fn request(&self, client: &mut Client<'_>) -> Result<(Asked, bool), No> {
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
        let Passed { is_post, is_head, path, query } = self.guard.check(&request)?;
        let accept = request.headers.text("Accept").unwrap_or_default().into_owned();
        let length = match request.body() {
            Ok(BodyLength::Of(length)) => length,
            Ok(_) => return Err(Refusal::new(411, "the form does not say how long it is").into()),
            Err(error) => return Err(Refusal::new(400, error.to_string()).into()),
        };
        if !is_post {
            if length > 0 {
                return Err(Refusal::new(400, "a request for a page has no body").into());
            }
            let (fields, files) = (Fields::read(&query), Files::default());
            return Ok((Asked { is_post, path, fields, files, accept }, is_head));
        }
        let kind = request.headers.text("Content-Type").unwrap_or_default();
        if let Some((uploads, lock)) = self.uploads.as_ref().filter(|(one, _)| one.path == path)
            && let Some(decoder) = Decoder::for_content_type(&kind)
        {
            let _alone = match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let why = "other files are arriving: try again when they are here";
                    return Err(Refusal::new(503, why).into());
                }
                alone => alone,
            };
            let (fields, files) = self.upload(client, uploads, decoder, &request, length)?;
            return Ok((Asked { is_post, path, fields, files, accept }, is_head));
        }
        if length > self.limits.form {
            return Err(Refusal::new(413, "that is no form of these pages").into());
        }
        let kind = kind.to_ascii_lowercase();
        if kind.split(';').next().map(str::trim) != Some("application/x-www-form-urlencoded") {
            return Err(Refusal::new(415, "that is no form of these pages").into());
        }
        if request.waits() {
            client.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| No::Gone)?;
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        while client.got.len() < length {
            client.fill()?;
        }
        client.got.truncate(length);
        let form = String::from_utf8_lossy(&client.got);
        let (fields, files) = (Fields::read(&form), Files::default());
        Ok((Asked { is_post, path, fields, files, accept }, is_head))
    }

    /// Receives a form with files. Each piece has the usual time to arrive, and the whole has
    /// more than that.
    fn upload(
        &self,
        client: &mut Client<'_>,
        uploads: &Uploads,
        mut decoder: Decoder,
        request: &Request,
        length: u64,
    ) -> Result<(Fields, Files), No> {
        if length > uploads.most {
            let most = uploads.most;
            return Err(Refusal::new(413, format!("{most} bytes at most are taken")).into());
        }
        let room = usize::try_from(self.limits.form).unwrap_or(usize::MAX);
        let receiver = FormReceiver::new(uploads, room).map_err(|error| {
            Refusal::new(507, format!("there is no place for the files: {error}"))
        });
        let mut receiver = receiver?;
        if request.waits() {
            client.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| No::Gone)?;
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

/// Listens, without waiting for who comes; the address has the port that the kernel chose.
fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Why there is no request.
enum No {
    Refused(Refusal),
    Gone,
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A connection.
struct Client<'a> {
    stream: TcpStream,
    /// What has come and was not used.
    got: Vec<u8>,
    stops: &'a (dyn Fn() -> bool + Sync),
    /// When what is done now has to be done.
    by: Instant,
}

impl Client<'_> {
    /// Whether something can be read; not where the time is over, or the server ends.
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

    /// Reads more.
    fn fill(&mut self) -> Result<(), No> {
        // Who has said nothing expects nothing, as a connection that a browser opened ahead.
        let is_silent = self.got.is_empty();
        let mut piece = [0; 4 << 10];
        let got = self.read(&mut piece).map_err(|no| if is_silent { No::Gone } else { no })?;
        self.got.extend_from_slice(&piece[..got]);
        Ok(())
    }

    /// Reads into a buffer: one byte at least.
    fn read(&mut self, piece: &mut [u8]) -> Result<usize, No> {
        if !self.waits(self.by) {
            if (self.stops)() {
                return Err(No::Gone);
            }
            return Err(Refusal::new(408, "the request did not come in time").into());
        }
        match self.stream.read(piece) {
            Ok(0) | Err(_) => Err(No::Gone),
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

    /// Answers, and ends the connection.
    fn say(&mut self, answer: &Answer, is_head: bool) -> io::Result<()> {
        let mut headers = Headers::default()
            .with("Content-Type", answer.kind)
            .with("Content-Security-Policy", answer.policy.as_deref().unwrap_or(POLICY))
            .with("X-Content-Type-Options", "nosniff")
            // To other sites no page says where it is from: the token is in that. To its own
            // server it does, or a browser would say of no form where that is from.
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

    /// To close a connection while data waits unread would reset it, and the client would lose
    /// what it has not read.
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
