//! Heads: the first line, and the headers.

use std::borrow::Cow;

/// The longest head that is taken. Servers take 8 KiB and more.
pub const MAX_HEAD: usize = 16 << 10;

/// The most headers of one.
pub const MAX_HEADERS: usize = 100;

/// Why bytes are no head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// It does not end.
    #[error("the head of HTTP has more than {MAX_HEAD} bytes")]
    TooLong,
    /// It has too many headers.
    #[error("the head of HTTP has more than {MAX_HEADERS} headers")]
    TooMany,
    /// It is none.
    #[error("it is no HTTP: {0}")]
    Wrong(String),
    /// Its length is no number, or two.
    #[error("its Content-Length is no number, or not one")]
    Length,
    /// It comes in a way that nobody asked for.
    #[error("its Transfer-Encoding is not `chunked`")]
    Encoding,
    /// A line break, which would begin another header.
    #[error("a header has a control character in it")]
    Unspeakable,
}

/// Headers, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes.
    Of(u64),
    /// Chunks say it.
    Chunked,
    /// Up to the end of the connection.
    UntilClose,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub method: String,
    /// To what.
    pub path: String,
    /// The version after `HTTP/1.`.
    pub minor: u8,
    /// The headers.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// What came of it.
    pub status: u16,
    /// The same in words.
    pub reason: String,
    /// The version after `HTTP/1.`.
    pub minor: u8,
    /// The headers.
    pub headers: Headers,
}

impl Headers {
    /// Adds one.
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push((name.to_owned(), value.as_ref().to_vec()));
    }

    /// Adds one.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.push(name, value);
        self
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let same = move |(of, _): &&(String, Vec<u8>)| of.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_slice())
    }

    /// The first value of a name, as text.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0
            .iter()
            .find(|(of, _)| of.eq_ignore_ascii_case(name))
            .map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// Whether a word is among those of a header.
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

    /// How long the body is by them; `none` where they do not say.
    fn length(&self, none: BodyLength) -> Result<BodyLength, HeadError> {
        if self.all("Transfer-Encoding").next().is_some() {
            // A length beside it would be read otherwise by another (RFC 9112,
            // section 6.1).
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

/// Takes a head, where it is whole. What follows it is the body's.
fn whole<T>(
    bytes: &[u8],
    read: impl for<'b> FnOnce(
        &'b [u8],
        &mut [httparse::Header<'b>],
    ) -> Result<Option<(T, usize)>, httparse::Error>,
) -> Result<Option<(T, usize)>, HeadError> {
    // Where a head does not end within its most, there is none.
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
    /// Reads a head, and says how many bytes it has; nothing where it is not
    /// whole.
    ///
    /// # Errors
    /// Where it is none.
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

    /// Its bytes.
    ///
    /// # Errors
    /// Where a part of it would be read as another.
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

    /// How long its body is.
    ///
    /// # Errors
    /// Where it does not say so in one way.
    pub fn body(&self) -> Result<BodyLength, HeadError> {
        self.headers.length(BodyLength::Of(0))
    }

    /// What the client calls this server, where that can stand in a URI: a host, and
    /// maybe a port. Else `localhost`.
    pub fn authority(&self) -> Cow<'_, str> {
        let is_fine = |one: char| one.is_ascii_alphanumeric() || "-._:[]".contains(one);
        let host = self.headers.text("Host");
        let host = host.filter(|host| (1..=255).contains(&host.len()) && host.chars().all(is_fine));
        host.unwrap_or(Cow::Borrowed("localhost"))
    }

    /// Whether the client waits for a word before it sends the body.
    pub fn waits(&self) -> bool {
        self.minor > 0 && self.headers.says("Expect", "100-continue")
    }

    /// Whether the connection ends with the answer.
    pub fn closes(&self) -> bool {
        self.headers.closes(self.minor)
    }
}

impl Response {
    /// One of HTTP/1.1, with the usual words for its status (RFC 9110, section 15;
    /// RFC 6585, section 5).
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

    /// The same before a body of so many bytes, with which the connection may end.
    pub fn before(status: u16, mut headers: Headers, length: usize, closes: bool) -> Self {
        headers.push("Content-Length", length.to_string());
        if closes {
            headers.push("Connection", "close");
        }
        Self::new(status, headers)
    }

    /// Reads a head, and says how many bytes it has; nothing where it is not
    /// whole.
    ///
    /// # Errors
    /// Where it is none.
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

    /// Its bytes.
    ///
    /// # Errors
    /// Where a part of it would be read as another.
    pub fn encode(&self) -> Result<Vec<u8>, HeadError> {
        if self.reason.chars().any(char::is_control) || !(100..1_000).contains(&self.status) {
            return Err(HeadError::Unspeakable);
        }
        let (minor, status, reason) = (self.minor, self.status, &self.reason);
        let mut out = format!("HTTP/1.{minor} {status} {reason}\r\n").into_bytes();
        self.headers.put(&mut out)?;
        Ok(out)
    }

    /// Whether another response follows: `100 Continue` is one.
    pub const fn is_interim(&self) -> bool {
        self.status >= 100 && self.status < 200 && self.status != 101
    }

    /// How long its body is.
    ///
    /// # Errors
    /// Where it does not say so in one way.
    pub fn body(&self) -> Result<BodyLength, HeadError> {
        match self.status {
            100..200 | 204 | 304 => Ok(BodyLength::Of(0)),
            _ => self.headers.length(BodyLength::UntilClose),
        }
    }

    /// Whether the connection ends with it.
    pub fn closes(&self) -> bool {
        self.headers.closes(self.minor)
    }
}
