//! Files that come with a form: each form has a folder of its own, which is removed with its files.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::Fields;
use crate::guard::Refusal;
use crate::multipart::{MultipartError, PartHead, PartSink};

/// Maximum number of files in a form. A report on more would be too long to read.
const MAX_FILES: usize = 20;

/// Maximum length of a file name; file systems allow 255 bytes.
const MAX_NAME: usize = 120;

/// Path of the forms that may carry files, and the folder of these files.
#[derive(Clone, Debug)]
pub struct Uploads {
    /// Path whose forms may carry files.
    pub path: &'static str,
    /// Folder in which each form gets a folder of its own.
    pub folder: PathBuf,
    /// Maximum number of bytes of a form, including its files.
    pub most: u64,
}

/// Files of a form. Their folder is removed with the last clone of this value.
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: Option<Arc<TempDir>>,
    names: Vec<String>,
}

impl Files {
    /// Returns the names of the files, each without a folder. No name begins with a dot or a
    /// hyphen.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the folder of the files; `None` without files.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().map(TempDir::path)
    }
}

/// Receiver of a form.
#[derive(Debug)]
pub(crate) struct FormReceiver {
    folder: Arc<TempDir>,
    names: Vec<String>,
    fields: Vec<(String, String)>,
    /// Number of bytes that the fields may still have.
    room: usize,
    open: Option<OpenPart>,
}

/// Part whose bytes come next.
#[derive(Debug)]
enum OpenPart {
    File(File),
    Field(String, Vec<u8>),
    /// Empty file field.
    Nothing,
}

impl FormReceiver {
    /// Creates a receiver with a new folder that only its owner can read, and with a limit on the
    /// bytes of fields.
    pub(crate) fn new(uploads: &Uploads, room: usize) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("upload-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&uploads.folder)?;
        let (names, fields) = (Vec::new(), Vec::new());
        Ok(Self { folder: Arc::new(folder), names, fields, room, open: None })
    }

    /// Returns the fields and the files of the form.
    pub(crate) fn finish(self) -> (Fields, Files) {
        let folder = (!self.names.is_empty()).then_some(self.folder);
        (Fields::of(self.fields), Files { folder, names: self.names })
    }
}

impl From<MultipartError> for Refusal {
    fn from(error: MultipartError) -> Self {
        Self::new(400, error.says())
    }
}

/// Returns the refusal for a failed write to the disk.
fn unwritten(error: &io::Error) -> Refusal {
    Refusal::new(507, format!("cannot store the file: {error}"))
}

impl PartSink for FormReceiver {
    type Refusal = Refusal;

    fn begin(&mut self, head: PartHead) -> Result<(), Refusal> {
        self.open = Some(match head.file {
            None => OpenPart::Field(head.name, Vec::new()),
            Some(name) if name.is_empty() => OpenPart::Nothing,
            Some(_) if self.names.len() == MAX_FILES => {
                return Err(Refusal::new(413, format!("at most {MAX_FILES} files are accepted")));
            }
            Some(name) => {
                let name = unique(&own_name(&name), &self.names);
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(0o600);
                let file = options.open(self.folder.path().join(&name));
                let file = file.map_err(|error| unwritten(&error))?;
                self.names.push(name);
                OpenPart::File(file)
            }
        });
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        match &mut self.open {
            Some(OpenPart::File(file)) => file.write_all(bytes).map_err(|error| unwritten(&error)),
            Some(OpenPart::Field(_, value)) => {
                self.room = self
                    .room
                    .checked_sub(bytes.len())
                    .ok_or_else(|| Refusal::new(413, "a field of the form is too long"))?;
                value.extend_from_slice(bytes);
                Ok(())
            }
            Some(OpenPart::Nothing) | None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Refusal> {
        if let Some(OpenPart::Field(name, value)) = self.open.take() {
            self.fields.push((name, String::from_utf8_lossy(&value).into_owned()));
        }
        Ok(())
    }
}

/// Returns the name under which a file is stored: without a folder, not hidden, and unlike an
/// option.
fn own_name(said: &str) -> String {
    let last = said.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |one: char| if one.is_control() { '_' } else { one };
    let mut name: String = last.trim_start_matches(['.', '-', ' ']).chars().map(safe).collect();
    // The end of a name tells the file's type, so the start is cut.
    while name.len() > MAX_NAME {
        name.remove(0);
    }
    let name = name.trim_start_matches(['.', '-', ' ']);
    if name.is_empty() { "capture".to_owned() } else { name.to_owned() }
}

/// Returns the name, with a number before it if another file has the name.
fn unique(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{number}-{name}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(room: usize) -> (TempDir, FormReceiver) {
        let folder = tempfile::tempdir().unwrap();
        let uploads = Uploads { path: "x", folder: folder.path().to_owned(), most: 1 };
        let receiver = FormReceiver::new(&uploads, room).unwrap();
        (folder, receiver)
    }

    fn file(name: &str) -> PartHead {
        PartHead { name: "capture".to_owned(), file: Some(name.to_owned()) }
    }

    #[test]
    fn names_lead_nowhere() {
        for (said, stored) in [
            ("upload.pcap", "upload.pcap"),
            ("../../etc/passwd", "passwd"),
            ("C:\\captures\\a b.pcapng", "a b.pcapng"),
            ("--output=x", "output=x"),
            ("-", "capture"),
            ("..", "capture"),
            ("/", "capture"),
            (".bashrc", "bashrc"),
            ("a\0b\nc", "a_b_c"),
        ] {
            assert_eq!(own_name(said), stored, "{said:?}");
        }
        let long = own_name(&format!("{}.pcap", "ü".repeat(300)));
        assert!(long.len() <= MAX_NAME && long.ends_with("ü.pcap"), "{long}");
    }

    #[test]
    fn files_are_private_and_go_with_their_last_owner() {
        let (_folder, mut receiver) = receiver(10);
        for name in ["a.pcap", "a.pcap", ""] {
            receiver.begin(file(name)).unwrap();
            receiver.take(b"bytes").unwrap();
            receiver.end().unwrap();
        }
        receiver.begin(PartHead { name: "port".to_owned(), file: None }).unwrap();
        receiver.take(b"9100").unwrap();
        receiver.end().unwrap();
        let (fields, files) = receiver.finish();
        assert_eq!(fields.text("port"), "9100");
        assert_eq!(files.names(), ["a.pcap", "2-a.pcap"]);
        let folder = files.folder().unwrap().to_owned();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("a.pcap"))), (0o700, 0o600));
        let other = files.clone();
        drop(files);
        assert!(folder.join("2-a.pcap").exists());
        drop(other);
        assert!(!folder.exists());
    }

    #[test]
    fn a_form_is_bounded() {
        let (folder, mut receiver) = receiver(3);
        receiver.begin(PartHead { name: "note".to_owned(), file: None }).unwrap();
        assert_eq!(receiver.take(b"four").unwrap_err().status, 413);
        for _ in 0..MAX_FILES {
            receiver.begin(file("a")).unwrap();
        }
        assert_eq!(receiver.begin(file("a")).unwrap_err().status, 413);
        drop(receiver);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
