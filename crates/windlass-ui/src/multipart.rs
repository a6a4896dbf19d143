//! Forms that carry files (`multipart/form-data`: RFC 7578; RFC 2046, section 5.1).
//!
//! The decoder takes a body in pieces of any size. It keeps at most a boundary or the head of a
//! part in memory.

use memchr::memmem::Finder;
use windlass_wire::media_type;

/// Maximum length of a boundary (RFC 2046, section 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// Maximum length of a part's head. Browsers send two short lines.
const MAX_HEAD: usize = 4 << 10;

/// Name of a part, and of its file if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartHead {
    pub(crate) name: String,
    pub(crate) file: Option<String>,
}

/// Receiver of a form's parts.
pub(crate) trait PartSink {
    /// Error of a refused part.
    type Refusal: From<MultipartError>;

    /// Begins a part.
    fn begin(&mut self, head: PartHead) -> Result<(), Self::Refusal>;

    /// Takes the next bytes of the part.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Self::Refusal>;

    /// Ends the part.
    fn end(&mut self) -> Result<(), Self::Refusal>;
}

/// Errors of decoding a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultipartError {
    /// A part has no readable head.
    Head,
    /// Something other than a line end follows a boundary.
    Boundary,
    /// The body ends before the last boundary.
    Truncated,
}

impl MultipartError {
    /// Returns the error as a sentence.
    pub(crate) const fn says(self) -> &'static str {
        match self {
            Self::Head => "a field of the form has no name",
            Self::Boundary => "the form has data after a boundary",
            Self::Truncated => "the form ends before its last boundary",
        }
    }
}

/// Position in the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before the first boundary.
    Preamble,
    /// Directly behind a boundary.
    Boundary,
    /// In the head of a part.
    Head,
    /// In the content of a part.
    Content,
    /// Behind the last boundary.
    Epilogue,
}

/// Decoder of one form.
#[derive(Debug)]
pub(crate) struct Decoder {
    delimiter: Finder<'static>,
    pending: Vec<u8>,
    position: Position,
}

impl Decoder {
    /// Returns the decoder for a `Content-Type`; `None` if that names no form with files.
    pub(crate) fn for_content_type(kind: &str) -> Option<Self> {
        if !media_type::essence(kind).eq_ignore_ascii_case("multipart/form-data") {
            return None;
        }
        let (_, parameters) = kind.split_once(';')?;
        let boundary = parameters.split(';').find_map(|one| {
            let (name, value) = one.split_once('=')?;
            name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
        })?;
        // The characters of RFC 2046's grammar; browsers use letters, digits and hyphens.
        let is_fine = |one: u8| one.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&one);
        if boundary.is_empty() || boundary.len() > MAX_BOUNDARY || !boundary.bytes().all(is_fine) {
            return None;
        }
        let delimiter = Finder::new(format!("\r\n--{boundary}").as_bytes()).into_owned();
        // The first boundary has no line end before it.
        Some(Self { delimiter, pending: b"\r\n".to_vec(), position: Position::Preamble })
    }

    /// Takes the next bytes of the body, and passes the parts in them to the sink.
    pub(crate) fn push<S: PartSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), S::Refusal> {
        self.pending.extend_from_slice(bytes);
        loop {
            match self.position {
                Position::Preamble => {
                    if !self.pass_delimiter(|_| Ok::<(), S::Refusal>(()))? {
                        return Ok(());
                    }
                }
                Position::Boundary => match self.pending.get(..2) {
                    None => return Ok(()),
                    Some(b"--") => self.position = Position::Epilogue,
                    Some(b"\r\n") => self.position = Position::Head,
                    Some(_) => return Err(MultipartError::Boundary.into()),
                },
                Position::Head => {
                    // The line end behind the boundary is still pending: a head may be empty.
                    let end = memchr::memmem::find(&self.pending, b"\r\n\r\n");
                    let Some(end) = end.filter(|end| *end <= MAX_HEAD) else {
                        if self.pending.len() > MAX_HEAD {
                            return Err(MultipartError::Head.into());
                        }
                        return Ok(());
                    };
                    let head = part_head(&self.pending[..end]).ok_or(MultipartError::Head)?;
                    sink.begin(head)?;
                    self.pending.drain(..end + 4);
                    self.position = Position::Content;
                }
                Position::Content => {
                    if !self.pass_delimiter(|bytes| sink.take(bytes))? {
                        return Ok(());
                    }
                    sink.end()?;
                }
                Position::Epilogue => {
                    self.pending.clear();
                    return Ok(());
                }
            }
        }
    }

    /// Ends the body.
    pub(crate) fn finish(&self) -> Result<(), MultipartError> {
        match self.position {
            Position::Epilogue => Ok(()),
            _ => Err(MultipartError::Truncated),
        }
    }

    /// Passes on the bytes before the next delimiter, and removes both. Returns false if more bytes
    /// are needed to find the delimiter.
    fn pass_delimiter<E>(&mut self, give: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<bool, E> {
        let length = self.delimiter.needle().len();
        if let Some(at) = self.delimiter.find(&self.pending) {
            give(&self.pending[..at])?;
            self.pending.drain(..at + length);
            self.position = Position::Boundary;
            return Ok(true);
        }
        // The last bytes may be the start of a delimiter.
        let free = self.pending.len().saturating_sub(length - 1);
        give(&self.pending[..free])?;
        self.pending.drain(..free);
        Ok(false)
    }
}

/// Reads the head of a part.
fn part_head(bytes: &[u8]) -> Option<PartHead> {
    let text = String::from_utf8_lossy(bytes);
    let value = text.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then(|| value.trim().to_owned())
    })?;
    let mut rest = value.strip_prefix("form-data")?;
    let (mut name, mut file) = (None, None);
    while let Some((key, after)) = rest.split_once("=\"") {
        // Browsers write a quotation mark as %22 (HTML, "multipart/form-data encoding algorithm").
        let (value, behind) = after.split_once('"')?;
        match key.trim_start_matches([';', ' ']) {
            "name" => name = Some(value.to_owned()),
            "filename" => file = Some(value.to_owned()),
            _ => {}
        }
        rest = behind;
    }
    Some(PartHead { name: name?, file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parts of a form: the name, the file's name and the content.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct CollectedParts(Vec<(String, Option<String>, Vec<u8>)>);

    impl PartSink for CollectedParts {
        type Refusal = MultipartError;

        fn begin(&mut self, head: PartHead) -> Result<(), MultipartError> {
            self.0.push((head.name, head.file, Vec::new()));
            Ok(())
        }

        fn take(&mut self, bytes: &[u8]) -> Result<(), MultipartError> {
            self.0.last_mut().unwrap().2.extend_from_slice(bytes);
            Ok(())
        }

        fn end(&mut self) -> Result<(), MultipartError> {
            Ok(())
        }
    }

    fn decoded(body: &[u8], piece: usize) -> Result<CollectedParts, MultipartError> {
        let mut decoder = Decoder::for_content_type("multipart/form-data; boundary=x-y").unwrap();
        let mut parts = CollectedParts::default();
        for piece in body.chunks(piece.max(1)) {
            decoder.push(piece, &mut parts)?;
        }
        decoder.finish()?;
        Ok(parts)
    }

    fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, file, content) in parts {
            let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
            let head = format!(
                "--x-y\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--x-y--\r\n");
        body
    }

    #[test]
    fn a_form_has_fields_and_files() {
        let body = form(&[("port", None, b"9100"), ("capture", Some("a;b.pcap"), b"\r\n--x-\r\n")]);
        for piece in [1, 2, 7, 1_000] {
            let parts = decoded(&body, piece).unwrap().0;
            assert_eq!(parts[0], ("port".to_owned(), None, b"9100".to_vec()));
            let file = Some("a;b.pcap".to_owned());
            assert_eq!(parts[1], ("capture".to_owned(), file, b"\r\n--x-\r\n".to_vec()));
        }
        let empty = decoded(&form(&[("capture", Some(""), b"")]), 3).unwrap().0;
        assert_eq!(empty, [("capture".to_owned(), Some(String::new()), Vec::new())]);
        assert_eq!(decoded(b"--x-y--", 100).unwrap().0, []);
    }

    #[test]
    fn bodies_that_are_no_form_are_refused() {
        let long = [b"--x-y\r\n".as_slice(), &b"X: y\r\n".repeat(2_000)].concat();
        for (body, wrong) in [
            (&b""[..], MultipartError::Truncated),
            (b"--x-y\r\n", MultipartError::Truncated),
            (b"--x-y\r\n\r\ncontent\r\n--x-y--", MultipartError::Head),
            (b"--x-y\r\nContent-Disposition: form-data\r\n\r\n", MultipartError::Head),
            (b"--x-yz\r\n", MultipartError::Boundary),
            (b"--x-y  \r\n", MultipartError::Boundary),
            (&long, MultipartError::Head),
        ] {
            assert_eq!(decoded(body, 64), Err(wrong), "{}", String::from_utf8_lossy(body));
        }
        for kind in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=\"a\r\nb\"",
            "multipart/mixed; boundary=x",
            "application/x-www-form-urlencoded; boundary=x",
        ] {
            assert!(Decoder::for_content_type(kind).is_none(), "{kind}");
        }
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        assert!(Decoder::for_content_type(&long).is_none());
        let kind = "Multipart/Form-Data; charset=utf-8; Boundary=\"----a\"";
        assert!(Decoder::for_content_type(kind).is_some());
    }

    proptest! {
        /// The content of a file is unchanged, however the body is cut.
        #[test]
        fn content_is_kept(content in "[-xy\r\n]{0,60}", piece in 1_usize..40) {
            prop_assume!(!content.contains("\r\n--x-y"));
            let parts = decoded(&form(&[("f", Some("f"), content.as_bytes())]), piece).unwrap();
            prop_assert_eq!(&parts.0[0].2, content.as_bytes());
        }

        #[test]
        fn no_body_panics(
            body in prop::collection::vec(prop::sample::select(b"-xy\r\n:; =\"".to_vec()), 0..200),
            piece in 1_usize..20,
        ) {
            let _ = decoded(&body, piece);
        }
    }
}
