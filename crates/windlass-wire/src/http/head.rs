//! HTTP heads: the first line and the headers.

use std::borrow::Cow;

/// Longest head that is accepted, in bytes. Servers accept 8 KiB and more.
pub const MAX_HEAD: usize = 16 << 10;

/// Maximum number of headers in a head.
pub const MAX_HEADERS: usize = 100;

/// Errors of parsing an HTTP head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// The head does not end.
    #[error("the head of HTTP has more than {MAX_HEAD} bytes")]
    TooLong,
    /// The head has too many headers.
    #[error("the head of HTTP has more than {MAX_HEADERS} headers")]
    TooMany,
    /// The bytes are no HTTP head.
    #[error("it is no HTTP: {0}")]
    Wrong(String),
    /// Its `Content-Length` is no number, or contradictory.
    #[error("its Content-Length is no number, or not one")]
    Length,
    /// Its transfer coding is unsupported.
    #[error("its Transfer-Encoding is not `chunked`")]
    Encoding,
    /// A line break, which would begin another header.
    #[error("a header has a control character in it")]
    Unspeakable,
}

/// Headers, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

/// Length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// This many bytes.
    Of(u64),
    /// The sum of its chunks.
    Chunked,
    /// Up to the end of the connection.
    UntilClose,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Method.
    pub method: String,
    /// Path.
    pub path: String,
    /// The version after `HTTP/1.`.
    pub minor: u8,
    /// The headers.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// The version after `HTTP/1.`.
    pub minor: u8,
    /// The headers.
    pub headers: Headers,
}

impl Headers {
    /// Adds a header.
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push((name.to_owned(), value.as_ref().to_vec()));
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.push(name, value);
        self
    }

    /// Iterates over all values of a header.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let same = move |(of, _): &&(String, Vec<u8>)| of.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_slice())
    }

    /// Returns the first value of a header, as text.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0
            .iter()
            .find(|(of, _)| of.eq_ignore_ascii_case(name))
            .map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// Returns whether the comma-separated values of a header contain a word.
    pub fn says(&self, name: &str, word: &str) -> bool {
        let is = |one: &[u8]| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
        self.all(name).any(|value| value.split(|byte| *byte == b',').any(is))
    }

    fn closes(&self, minor: u8) -> bool {
        match minor {
            0 => !self.says("Connection", "keep-alive"),
            _ => self.says("Connection", "close"),
        }
    }

    /// Returns the length of the body by these headers; `none` if they do not state one.
    fn length(&self, none: BodyLength) -> Result<BodyLength, HeadError> {
        if self.all("Transfer-Encoding").next().is_some() {
            // Another program may use a length beside the transfer coding (RFC 9112, section 6.1),
            // so both together are refused.
            if self.all("Content-Length").next().is_some() {
                return Err(HeadError::Length);
            }
            let mut ways = self.all("Transfer-Encoding");
            let way = ways.next().unwrap_or_default();
            if !way.trim_ascii().eq_ignore_ascii_case(b"chunked") || ways.next().is_some() {
                return Err(HeadError::Encoding);
            }
            return Ok(BodyLength::Chunked);
        }
        let mut found = None;
        for value in self.all("Content-Length") {
            let digits = value.trim_ascii();
            let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(digits).map_err(|_| HeadError::Length)?;
            let length: u64 = text.parse().map_err(|_| HeadError::Length)?;
            if !is_number || found.is_some_and(|found| found != length) {
                return Err(HeadError::Length);
            }
            found = Some(length);
        }
        Ok(found.map_or(none, BodyLength::Of))
    }

    fn put(&self, out: &mut Vec<u8>) -> Result<(), HeadError> {
        for (name, value) in &self.0 {
            let is_name =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let bad = value.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f);
            if bad || name.is_empty() || !name.bytes().all(is_name) {
                return Err(HeadError::Unspeakable);
            }
            out.extend(name.as_bytes());
            out.extend(b": ");
            out.extend(value);
            out.extend(b"\r\n");
        }
        out.extend(b"\r\n");
        Ok(())
    }
}

/// Reads a head if it is whole. The bytes behind it belong to the body.
fn whole<T>(
    bytes: &[u8],
    read: impl for<'b> FnOnce(
        &'b [u8],
        &mut [httparse::Header<'b>],
    ) -> Result<Option<(T, usize)>, httparse::Error>,
) -> Result<Option<(T, usize)>, HeadError> {
    // A head that does not end within the limit is refused.
    let within = &bytes[..bytes.len().min(MAX_HEAD)];
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let done = read(within, &mut headers).map_err(|error| match error {
        httparse::Error::TooManyHeaders => HeadError::TooMany,
        other => HeadError::Wrong(other.to_string()),
    })?;
    match done {
        None if bytes.len() >= MAX_HEAD => Err(HeadError::TooLong),
        done => Ok(done),
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    Headers(headers.iter().map(|one| (one.name.to_owned(), one.value.to_vec())).collect())
}

impl Request {
    /// Reads a head and returns it with its length in bytes. Returns `None` if the head is
    /// incomplete.
    ///
    /// # Errors
    /// Fails if the bytes are no HTTP head.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        whole(bytes, |bytes, headers| {
            let mut head = httparse::Request::new(headers);
            let httparse::Status::Complete(used) = head.parse(bytes)? else { return Ok(None) };
            let read = Self {
                method: head.method.unwrap_or_default().to_owned(),
                path: head.path.unwrap_or_default().to_owned(),
                minor: head.version.unwrap_or_default(),
                headers: owned(head.headers),
            };
            Ok(Some((read, used)))
        })
    }

    /// Encodes the head.
    ///
    /// # Errors
    /// Fails if a part of the head would be read as another one.
    pub fn encode(&self) -> Result<Vec<u8>, HeadError> {
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_word(&self.method) || !is_word(&self.path) {
            return Err(HeadError::Unspeakable);
        }
        let minor = self.minor;
        let mut out = format!("{} {} HTTP/1.{minor}\r\n", self.method, self.path).into_bytes();
        self.headers.put(&mut out)?;
        Ok(out)
    }

    /// Returns the length of its body.
    ///
    /// # Errors
    /// Fails if the head states the length in no valid way.
    pub fn body(&self) -> Result<BodyLength, HeadError> {
        self.headers.length(BodyLength::Of(0))
    }

    /// Returns the client's name for this server, if valid in a URI: a host and perhaps a port.
    /// Otherwise returns `localhost`.
    pub fn authority(&self) -> Cow<'_, str> {
        let is_fine = |one: char| one.is_ascii_alphanumeric() || "-._:[]".contains(one);
        let host = self.headers.text("Host");
        let host = host.filter(|host| (1..=255).contains(&host.len()) && host.chars().all(is_fine));
        host.unwrap_or(Cow::Borrowed("localhost"))
    }

    /// Returns whether the client waits for `100 Continue` before it sends the body.
    pub fn waits(&self) -> bool {
        self.minor > 0 && self.headers.says("Expect", "100-continue")
    }

    /// Returns whether the connection closes after the response.
    pub fn closes(&self) -> bool {
        self.headers.closes(self.minor)
    }
}

impl Response {
    /// Creates a response of HTTP/1.1 with the usual reason phrase (RFC 9110, section 15; RFC 6585,
    /// section 5).
    pub fn new(status: u16, headers: Headers) -> Self {
        let reason = match status {
            101 => "Switching Protocols",
            200 => "OK",
            303 => "See Other",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            411 => "Length Required",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            421 => "Misdirected Request",
            426 => "Upgrade Required",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            _ => "",
        };
        Self { status, reason: reason.to_owned(), minor: 1, headers }
    }

    /// Creates a response with a body of `length` bytes. The connection closes after it if
    /// `closes`.
    pub fn before(status: u16, mut headers: Headers, length: usize, closes: bool) -> Self {
        headers.push("Content-Length", length.to_string());
        if closes {
            headers.push("Connection", "close");
        }
        Self::new(status, headers)
    }

    /// Reads a head and returns it with its length in bytes. Returns `None` if the head is
    /// incomplete.
    ///
    /// # Errors
    /// Fails if the bytes are no HTTP head.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        whole(bytes, |bytes, headers| {
            let mut head = httparse::Response::new(headers);
            let httparse::Status::Complete(used) = head.parse(bytes)? else { return Ok(None) };
            let read = Self {
                status: head.code.unwrap_or_default(),
                reason: head.reason.unwrap_or_default().to_owned(),
                minor: head.version.unwrap_or_default(),
                headers: owned(head.headers),
            };
            Ok(Some((read, used)))
        })
    }

    /// Encodes the head.
    ///
    /// # Errors
    /// Fails if a part of the head would be read as another one.
    pub fn encode(&self) -> Result<Vec<u8>, HeadError> {
        if self.reason.chars().any(char::is_control) || !(100..1_000).contains(&self.status) {
            return Err(HeadError::Unspeakable);
        }
        let (minor, status, reason) = (self.minor, self.status, &self.reason);
        let mut out = format!("HTTP/1.{minor} {status} {reason}\r\n").into_bytes();
        self.headers.put(&mut out)?;
        Ok(out)
    }

    /// Returns whether another response follows, as after `100 Continue`.
    pub const fn is_interim(&self) -> bool {
        self.status >= 100 && self.status < 200 && self.status != 101
    }

    /// Returns the length of its body.
    ///
    /// # Errors
    /// Fails if the head states the length in no valid way.
    pub fn body(&self) -> Result<BodyLength, HeadError> {
        match self.status {
            100..200 | 204 | 304 => Ok(BodyLength::Of(0)),
            _ => self.headers.length(BodyLength::UntilClose),
        }
    }

    /// Returns whether the connection closes after this response.
    pub fn closes(&self) -> bool {
        self.headers.closes(self.minor)
    }
}
