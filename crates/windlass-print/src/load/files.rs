//! Files of the jobs: created, and copied to where jobs are sent from.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pdf;
use crate::document::{Document, Payload};

/// Maximum number of files of a folder.
const MAX_FILES: usize = 100_000;

/// Maximum number of bytes held in memory.
const MAX_MEMORY: u64 = 8 << 30;

/// Number of bytes that are made and copied at a time.
const PIECE: usize = 1 << 20;

/// Requested document of the jobs.
#[derive(Clone, Debug)]
pub enum RequestedDocument {
    /// A file of generated data, of this many bytes.
    Made(Payload, u64),
    /// Eleven generated documents, from 2 kB to 3 MB.
    Samples,
    /// A file, or all files of a folder.
    At(PathBuf),
}

/// Storage from which jobs are sent.
#[derive(Clone, Debug)]
pub enum DocumentStorage {
    /// Memory that all connections share.
    Memory,
    /// Copies in a folder, which are read for each job.
    Folder(PathBuf),
}

/// One file.
#[derive(Clone, Debug)]
pub struct Data {
    /// Name of the file.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    pub(crate) held: FileData,
}

#[derive(Clone, Debug)]
pub(crate) enum FileData {
    Memory(Arc<[u8]>),
    File(PathBuf),
}

/// All files of a load.
#[derive(Debug)]
pub struct Files {
    /// At least one file.
    pub files: Vec<Data>,
    /// Time for creating them; nothing if none was created.
    pub made: Option<Duration>,
    /// Time for copying them to where they are sent from.
    pub copied: Duration,
    /// Copies that are deleted with this value.
    copies: Vec<PathBuf>,
}

impl Drop for Files {
    fn drop(&mut self) {
        for copy in &self.copies {
            // A copy that is deleted already does no harm.
            let _ = fs::remove_file(copy);
        }
    }
}

/// Error of a file, with its path.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

fn at(path: &Path) -> impl Fn(io::Error) -> FileError {
    move |source| FileError { path: path.to_owned(), source }
}

impl Files {
    /// Creates the files in `scratch`, and copies them to where jobs are sent from. Files in memory
    /// are read from there, too, so that each job has been a file.
    ///
    /// # Errors
    /// Fails if a file cannot be created, read or copied, or there is none.
    pub fn prepare(
        wanted: &[RequestedDocument],
        place: &DocumentStorage,
        scratch: &Path,
    ) -> Result<Self, FileError> {
        let began = Instant::now();
        let (mut sources, mut has_made) = (Vec::new(), false);
        for (number, wanted) in wanted.iter().enumerate() {
            has_made |= !matches!(wanted, RequestedDocument::At(_));
            sources.extend(sources_of(wanted, number, scratch)?);
        }
        let made = has_made.then(|| began.elapsed());
        let began = Instant::now();
        let mut files =
            Self { files: Vec::new(), made, copied: Duration::ZERO, copies: Vec::new() };
        let mut left = MAX_MEMORY;
        for (number, source) in sources.iter().enumerate() {
            let name = source.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let held = match place {
                DocumentStorage::Memory => FileData::Memory(read(source, &mut left)?),
                DocumentStorage::Folder(folder) => {
                    let path =
                        folder.join(format!("windlass-{}-{number}-{name}", std::process::id()));
                    files.copies.push(path.clone());
                    fs::copy(source, &path).map_err(at(&path))?;
                    FileData::File(path)
                }
            };
            let size = match &held {
                FileData::Memory(bytes) => bytes.len() as u64,
                FileData::File(path) => fs::metadata(path).map_err(at(path))?.len(),
            };
            if size == 0 {
                return Err(at(source)(io::Error::other("the file is empty")));
            }
            files.files.push(Data { name, size, held });
        }
        files.copied = began.elapsed();
        if files.files.is_empty() {
            let path = wanted.iter().find_map(|wanted| match wanted {
                RequestedDocument::At(path) => Some(path.as_path()),
                _ => None,
            });
            return Err(at(path.unwrap_or(scratch))(io::Error::other("the folder has no files")));
        }
        Ok(files)
    }
}

impl Data {
    /// Returns the path of its copy, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match &self.held {
            FileData::Memory(_) => None,
            FileData::File(path) => Some(path),
        }
    }

    /// Returns the file as a document, to be read once.
    pub(crate) fn document(&self) -> io::Result<Document> {
        let reader: Box<dyn Read + Send> = match &self.held {
            FileData::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            FileData::File(path) => Box::new(File::open(path)?),
        };
        Ok(Document::new(reader, Some(self.size)))
    }
}

/// Returns the files of a requested document, created in `scratch` if necessary.
fn sources_of(
    wanted: &RequestedDocument,
    number: usize,
    scratch: &Path,
) -> Result<Vec<PathBuf>, FileError> {
    match wanted {
        RequestedDocument::Made(payload, size) => {
            let name = match payload {
                Payload::Zeros => "zeros",
                Payload::Random => "random",
                Payload::Text => "data.txt",
            };
            let path = scratch.join(format!("{number}-{name}"));
            let mut document = BufReader::with_capacity(PIECE, Document::of(*payload, *size));
            let mut make = || io::copy(&mut document, &mut File::create(&path)?);
            make().map_err(at(&path))?;
            Ok(vec![path])
        }
        RequestedDocument::Samples => {
            let samples = pdf::SAMPLES.iter().enumerate().map(|(place, (pages, size))| {
                let path = scratch.join(format!("{number}-sample-{:02}.pdf", place + 1));
                fs::write(&path, pdf::sample(*pages, *size)).map_err(at(&path))?;
                Ok(path)
            });
            samples.collect()
        }
        RequestedDocument::At(path) if fs::metadata(path).map_err(at(path))?.is_dir() => {
            let entries = fs::read_dir(path).map_err(at(path))?;
            let entries = entries.collect::<io::Result<Vec<_>>>().map_err(at(path))?;
            let mut files: Vec<PathBuf> =
                entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
            files.sort();
            files.truncate(MAX_FILES);
            Ok(files)
        }
        RequestedDocument::At(path) => Ok(vec![path.clone()]),
    }
}

fn read(path: &Path, left: &mut u64) -> Result<Arc<[u8]>, FileError> {
    let file = File::open(path).map_err(at(path))?;
    let mut bytes = Vec::new();
    file.take(*left + 1).read_to_end(&mut bytes).map_err(at(path))?;
    match left.checked_sub(bytes.len() as u64) {
        Some(rest) => {
            *left = rest;
            Ok(bytes.into())
        }
        None => Err(at(path)(io::Error::other(
            "the files exceed 8 GiB, the limit of memory: send them from a folder",
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_and_copied() {
        let (scratch, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = tempfile::tempdir().unwrap();
        fs::write(own.path().join("b"), "second").unwrap();
        fs::write(own.path().join("a"), "first").unwrap();
        let wanted = [
            RequestedDocument::Made(Payload::Text, 5_000),
            RequestedDocument::Samples,
            RequestedDocument::At(own.path().to_owned()),
        ];
        for place in [DocumentStorage::Memory, DocumentStorage::Folder(folder.path().to_owned())] {
            let files = Files::prepare(&wanted, &place, scratch.path()).unwrap();
            assert_eq!(files.files.len(), 1 + pdf::SAMPLES.len() + 2);
            assert_eq!((files.files[0].size, files.files[12].name.as_str()), (5_000, "a"));
            assert!(files.made.is_some());
            let mut last = [0; 10];
            let got = files.files[13].document().unwrap().read(&mut last).unwrap();
            assert_eq!(&last[..got], b"second");
        }
        // The copies are deleted, and the user's files are still there.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_told() {
        let scratch = tempfile::tempdir().unwrap();
        let empty = scratch.path().join("empty");
        fs::write(&empty, "").unwrap();
        let folder = scratch.path().join("folder");
        fs::create_dir(&folder).unwrap();
        for (path, said) in
            [(empty, "the file is empty"), (folder, "has no files"), ("/nowhere".into(), "No such")]
        {
            let wanted = [RequestedDocument::At(path)];
            let wrong =
                Files::prepare(&wanted, &DocumentStorage::Memory, scratch.path()).unwrap_err();
            assert!(wrong.to_string().contains(said), "{wrong}");
        }
    }
}
