//! Members of archives: what they are called, and what is passed over.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_base::{AsText, Named};

use super::system;

/// What stands between an archive's name and that of its member. No shell takes it for
/// something else.
pub(super) const BETWEEN: &str = "::";

/// What kind of archive it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum ArchiveFormat {
    /// tar.
    Tar,
    /// zip.
    Zip,
}

/// The name of a member as its archive has it, which may be anything.
#[derive(Clone, Debug, PartialEq, Eq, AsText)]
pub struct Name(Vec<u8>);

impl Name {
    pub(super) fn new(name: &[u8]) -> Self {
        Self(name.to_vec())
    }

    /// Whether it is meant by `given`: by its bytes, or as it is printed.
    pub(super) fn is_called(&self, given: &[u8]) -> bool {
        self.0 == given || self.to_string().as_bytes() == given
    }
}

/// What moves what is printed: directions of writing, and marks without a width.
const fn moves(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// As it can be printed: what would act on a terminal, or is no text, is escaped.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for chunk in self.0.utf8_chunks() {
            for letter in chunk.valid().chars() {
                if letter.is_control() || moves(letter) {
                    write!(f, "{}", letter.escape_default())?;
                } else {
                    f.write_char(letter)?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Where a capture is to be read from: a file, or a member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file, or `-`.
    pub(super) file: PathBuf,
    /// The member's name, where one is named.
    pub(super) member: Option<Vec<u8>>,
}

impl Place {
    /// Takes `ARCHIVE::MEMBER` apart. A file that is called so is meant itself.
    pub(super) fn of(path: &Path) -> Self {
        let whole = Self { file: path.to_owned(), member: None };
        if path.symlink_metadata().is_ok() {
            return whole;
        }
        let Some(bytes) = system::name(path) else { return whole };
        let apart = |at: usize| {
            let file = system::path(&bytes[..at])?;
            let member = bytes.get(at + BETWEEN.len()..).filter(|name| !name.is_empty())?;
            let is_there = file == Path::new("-") || file.metadata().is_ok_and(|it| !it.is_dir());
            is_there.then(|| Self { file: file.to_owned(), member: Some(member.to_vec()) })
        };
        let places = bytes.windows(BETWEEN.len()).enumerate();
        let mut places = places.filter(|(_, two)| *two == BETWEEN.as_bytes());
        places.find_map(|(at, _)| apart(at)).unwrap_or(whole)
    }
}

/// A member that is passed over without a look at its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    Empty,
    Link,
    Special,
    Sparse,
    Encrypted,
    /// Packed by this method of zip.
    Method(u16),
}

/// Why members of an archive are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// They are no captures.
    NoCapture,
    /// They are captures, and damaged before their first packet.
    Damaged,
    /// They are archives, which are not opened in an archive.
    Archive,
    /// They are encrypted.
    Encrypted,
    /// They are packed by a method that is not known here.
    Method,
    /// They have no bytes.
    Empty,
    /// They are links.
    Link,
    /// They are devices, pipes, or of a kind that is not known here.
    Special,
    /// They are sparse files: their holes are left out.
    Sparse,
}

impl Why {
    /// What one of them is.
    pub(super) const fn one(self) -> &'static str {
        match self {
            Self::NoCapture => "it is no capture",
            Self::Damaged => "it is damaged before its first packet",
            Self::Archive => "it is an archive within the archive, which is not opened",
            Self::Encrypted => "it is encrypted",
            Self::Method => "it is packed by a method that is not known here",
            Self::Empty => "it has no bytes",
            Self::Link => "it is a link",
            Self::Special => "it is no file",
            Self::Sparse => "it is a sparse file, whose holes are left out",
        }
    }

    /// What so many are.
    const fn words(self, members: u64) -> &'static str {
        match (self, members) {
            (Self::NoCapture, 1) => "is no capture",
            (Self::NoCapture, _) => "are no captures",
            (Self::Damaged, 1) => "is damaged before its first packet",
            (Self::Damaged, _) => "are damaged before their first packet",
            (Self::Archive, 1) => "is an archive itself, which is not opened",
            (Self::Archive, _) => "are archives themselves, which are not opened",
            (Self::Encrypted, 1) => "is encrypted",
            (Self::Encrypted, _) => "are encrypted",
            (Self::Method, 1) => "is packed by a method that is not known here",
            (Self::Method, _) => "are packed by methods that are not known here",
            (Self::Empty, 1) => "is empty",
            (Self::Empty, _) => "are empty",
            (Self::Link, 1) => "is a link",
            (Self::Link, _) => "are links",
            (Self::Special, 1) => "is no file",
            (Self::Special, _) => "are no files",
            (Self::Sparse, 1) => "is a sparse file, whose holes are left out",
            (Self::Sparse, _) => "are sparse files, whose holes are left out",
        }
    }
}

/// Members that were passed over for the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    /// The reason.
    pub why: Why,
    /// How many.
    pub members: u64,
    /// The first of them.
    pub example: Name,
    /// What it is, where more is known than the reason.
    pub what: Option<String>,
}

impl Unread {
    /// How many there are, and why they were passed over.
    pub fn count(&self) -> String {
        format!("{} {}", self.members, self.why.words(self.members))
    }
}

/// Where an archive could not be read further.
#[derive(Clone, Debug, Serialize)]
pub struct ArchiveDamage {
    /// Bytes of the archive before it; of a packed tar, unpacked.
    pub offset: u64,
    /// The number of the last member before it.
    pub after_member: u64,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ArchiveDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, after_member, what } = self;
        write!(f, "at byte {offset}, after member {after_member}: {what}")
    }
}

/// What an archive held.
#[derive(Clone, Debug, Serialize)]
pub struct Archive {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: ArchiveFormat,
    /// How it is packed as a whole: `gzip` or `zstd`.
    pub packing: Option<&'static str>,
    /// Its members, folders apart.
    pub members: u64,
    /// Those that are captures.
    pub captures: u64,
    /// Those that were passed over, by reason.
    pub passed_over: Vec<Unread>,
    /// Where it could not be read further.
    pub damage: Option<ArchiveDamage>,
    /// Whether Ctrl-C ended the reading before its end.
    pub interrupted: bool,
}

impl Archive {
    pub(super) const fn new(
        file: String,
        format: ArchiveFormat,
        packing: Option<&'static str>,
    ) -> Self {
        Self {
            file,
            format,
            packing,
            members: 0,
            captures: 0,
            passed_over: Vec::new(),
            damage: None,
            interrupted: false,
        }
    }

    /// What its member of this name is called.
    pub fn member(&self, name: &Name) -> String {
        format!("{}{BETWEEN}{name}", self.file)
    }

    /// Takes note of a member that is passed over.
    pub(super) fn pass_over(&mut self, why: Why, name: Name, what: Option<String>) {
        match self.passed_over.binary_search_by_key(&why, |unread| unread.why) {
            Ok(at) => self.passed_over[at].members += 1,
            Err(at) => {
                self.passed_over.insert(at, Unread { why, members: 1, example: name, what });
            }
        }
    }
}
