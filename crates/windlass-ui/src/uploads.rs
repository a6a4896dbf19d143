//! Files that come with a form: each form's in a folder of its own, which is removed with them.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::Fields;
use crate::guard::Refusal;
use crate::multipart::{MultipartError, PartHead, PartSink};

/// The most files of a form. A report of more would be too long to read.
const MAX_FILES: usize = 20;

/// The longest name that a file keeps; file systems allow 255 bytes.
const MAX_NAME: usize = 120;

/// The forms that may carry files, and where these go.
#[derive(Clone, Debug)]
pub struct Uploads {
    /// The path whose forms may carry files.
    pub path: &'static str,
    /// The folder in which each form gets a folder of its own.
    pub folder: PathBuf,
    /// The most bytes of a form, files and all.
    pub most: u64,
}

/// The files of a form. Their folder is removed with the last copy of this.
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: Option<Arc<TempDir>>,
    names: Vec<String>,
}

impl Files {
    /// Their names, each without a folder. None begins with a dot or a hyphen.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The folder in which they are; nothing without files.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().map(TempDir::path)
    }
}

/// A form that is being received.
#[derive(Debug)]
pub(crate) struct FormReceiver {
    folder: Arc<TempDir>,
    names: Vec<String>,
    fields: Vec<(String, String)>,
    /// The bytes that fields may still have.
    room: usize,
    open: Option<OpenPart>,
}

/// The part whose bytes come now.
#[derive(Debug)]
enum OpenPart {
    File(File),
    Field(String, Vec<u8>),
    /// A file field that was left empty.
    Nothing,
}

impl FormReceiver {
    /// A receiver with a new folder for its owner alone, and room for so many bytes of fields.
    pub(crate) fn new(uploads: &Uploads, room: usize) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("upload-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&uploads.folder)?;
        let (names, fields) = (Vec::new(), Vec::new());
        Ok(Self { folder: Arc::new(folder), names, fields, room, open: None })
    }

    /// The fields and the files of the form.
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

/// The refusal where the disk takes no more.
fn unwritten(error: &io::Error) -> Refusal {
    Refusal::new(507, format!("the file could not be stored: {error}"))
}

impl PartSink for FormReceiver {
    type Refusal = Refusal;

    fn begin(&mut self, head: PartHead) -> Result<(), Refusal> {
        self.open = Some(match head.file {
            None => OpenPart::Field(head.name, Vec::new()),
            Some(name) if name.is_empty() => OpenPart::Nothing,
            Some(_) if self.names.len() == MAX_FILES => {
                return Err(Refusal::new(413, format!("{MAX_FILES} files at most are taken")));
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

/// The name under which a file is stored: no folder, nothing hidden, nothing like an option.
fn own_name(said: &str) -> String {
    let last = said.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |one: char| if one.is_control() { '_' } else { one };
    let mut name: String = last.trim_start_matches(['.', '-', ' ']).chars().map(safe).collect();
    // The end says what it is; it is the beginning that goes.
    while name.len() > MAX_NAME {
        name.remove(0);
    }
    let name = name.trim_start_matches(['.', '-', ' ']);
    if name.is_empty() { "capture".to_owned() } else { name.to_owned() }
}

/// The name with a number before it where another file has it.
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
