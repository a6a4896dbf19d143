//! Members of archives: their names, and the reasons to skip them.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_base::{AsText, Named};

use super::system;

/// Separator between the names of an archive and its member, without a meaning in any shell.
pub(super) const BETWEEN: &str = "::";

/// Format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum ArchiveFormat {
    /// tar.
    Tar,
    /// zip.
    Zip,
}

/// Name of a member as its archive has it, which may be any bytes.
#[derive(Clone, Debug, PartialEq, Eq, AsText)]
pub struct Name(Vec<u8>);

impl Name {
    pub(super) fn new(name: &[u8]) -> Self {
        Self(name.to_vec())
    }

    /// Returns whether `given` is this name, as bytes or in printed form.
    pub(super) fn is_called(&self, given: &[u8]) -> bool {
        self.0 == given || self.to_string().as_bytes() == given
    }
}

/// Returns whether a character moves printed text: writing directions, and marks without a width.
const fn moves(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Prints the name; control characters and bytes that are not text are escaped.
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

/// Source of a capture: a file, or a member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CaptureSource {
    /// The file, or `-`.
    pub(super) file: PathBuf,
    /// Name of the member, if one is given.
    pub(super) member: Option<Vec<u8>>,
}

impl CaptureSource {
    /// Splits `ARCHIVE::MEMBER`. If a file of the whole name exists, that file is meant.
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

/// Reason to skip a member without reading its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    Empty,
    Link,
    Special,
    Sparse,
    Encrypted,
    /// Compressed by this method of zip.
    Method(u16),
}

/// Reason to skip members of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// Not captures.
    NoCapture,
    /// Captures that are damaged before their first packet.
    Damaged,
    /// Archives, which are not opened inside an archive.
    Archive,
    /// Encrypted members.
    Encrypted,
    /// Compressed by an unknown method.
    Method,
    /// Members without bytes.
    Empty,
    /// Links.
    Link,
    /// Devices, pipes, or members of an unknown kind.
    Special,
    /// Sparse files: their holes are left out.
    Sparse,
}

impl SkipReason {
    /// Describes one member.
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

    /// Describes several members.
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

/// Members that were skipped for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedMembers {
    /// Reason for skipping them.
    pub why: SkipReason,
    /// Number of members.
    pub members: u64,
    /// Name of the first of these members.
    pub example: Name,
    /// Details beyond the reason, if known.
    pub what: Option<String>,
}

impl SkippedMembers {
    /// Describes the number of members and the reason for skipping them.
    pub fn count(&self) -> String {
        format!("{} {}", self.members, self.why.words(self.members))
    }
}

/// Damage of an archive, which ends the reading.
#[derive(Clone, Debug, Serialize)]
pub struct ArchiveDamage {
    /// Offset of the damage in the archive; of a compressed tar, in the decompressed bytes.
    pub offset: u64,
    /// Number of the last member before the damage.
    pub after_member: u64,
    /// Description of the damage.
    pub what: String,
}

impl fmt::Display for ArchiveDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, after_member, what } = self;
        write!(f, "at byte {offset}, after member {after_member}: {what}")
    }
}

/// Contents of an archive.
#[derive(Clone, Debug, Serialize)]
pub struct Archive {
    /// File of the archive.
    pub file: String,
    /// Format of the archive.
    pub format: ArchiveFormat,
    /// Compression of the whole archive: `gzip` or `zstd`.
    pub packing: Option<&'static str>,
    /// Number of members, without folders.
    pub members: u64,
    /// Number of members that are captures.
    pub captures: u64,
    /// Skipped members, by reason.
    pub passed_over: Vec<SkippedMembers>,
    /// Damage that ended the reading.
    pub damage: Option<ArchiveDamage>,
    /// True if Ctrl-C ended the reading early.
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

    /// Returns the full name of a member.
    pub fn member(&self, name: &Name) -> String {
        format!("{}{BETWEEN}{name}", self.file)
    }

    /// Counts a skipped member.
    pub(super) fn pass_over(&mut self, why: SkipReason, name: Name, what: Option<String>) {
        match self.passed_over.binary_search_by_key(&why, |unread| unread.why) {
            Ok(at) => self.passed_over[at].members += 1,
            Err(at) => {
                self.passed_over
                    .insert(at, SkippedMembers { why, members: 1, example: name, what });
            }
        }
    }
}
