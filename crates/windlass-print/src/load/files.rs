//! The files that jobs are of: made, and copied to where jobs are sent from.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pdf;
use crate::document::{Document, Payload};

/// The most files of a folder.
const MAX_FILES: usize = 100_000;

/// The most that memory is to hold.
const MAX_MEMORY: u64 = 8 << 30;

/// How much is made and copied at a time.
const PIECE: usize = 1 << 20;

/// What jobs are of.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// A file of so many bytes that are made here.
    Made(Payload, u64),
    /// Eleven documents that are made here, from 2 kB to 3 MB.
    Samples,
    /// A file, or all files of a folder.
    At(PathBuf),
}

/// Where they are sent from.
#[derive(Clone, Debug)]
pub enum Place {
    /// From memory, which all connections share.
    Memory,
    /// From copies in a folder, which are read for each job.
    Folder(PathBuf),
}

/// A file.
#[derive(Clone, Debug)]
pub struct Data {
    /// What it is called.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    pub(crate) held: FileData,
}

#[derive(Clone, Debug)]
pub(crate) enum FileData {
    Memory(Arc<[u8]>),
    File(PathBuf),
}

/// All of them.
#[derive(Debug)]
pub struct Files {
    /// They, one at the least.
    pub files: Vec<Data>,
    /// How long it took to make them; nothing where none was.
    pub made: Option<Duration>,
    /// How long it took to copy them to where they are sent from.
    pub copied: Duration,
    /// Copies that go when this does.
    copies: Vec<PathBuf>,
}

impl Drop for Files {
    fn drop(&mut self) {
        for copy in &self.copies {
            // Who has taken it away already has done no harm.
            let _ = fs::remove_file(copy);
        }
    }
}

/// What went wrong, and with which file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

fn at(path: &Path) -> impl Fn(io::Error) -> FileError {
    move |source| FileError { path: path.to_owned(), source }
}

impl Files {
    /// Makes them in `scratch`, and copies them to where jobs are sent from. Those
    /// in memory are read from there, too: so a job file has been a file.
    ///
    /// # Errors
    /// Where one cannot be made, read or copied, or there is none.
    pub fn prepare(wanted: &[Wanted], place: &Place, scratch: &Path) -> Result<Self, FileError> {
        let began = Instant::now();
        let (mut sources, mut has_made) = (Vec::new(), false);
        for (number, wanted) in wanted.iter().enumerate() {
            has_made |= !matches!(wanted, Wanted::At(_));
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
                Place::Memory => FileData::Memory(read(source, &mut left)?),
                Place::Folder(folder) => {
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
                return Err(at(source)(io::Error::other("it is empty")));
            }
            files.files.push(Data { name, size, held });
        }
        files.copied = began.elapsed();
        if files.files.is_empty() {
            let path = wanted.iter().find_map(|wanted| match wanted {
                Wanted::At(path) => Some(path.as_path()),
                _ => None,
            });
            return Err(at(path.unwrap_or(scratch))(io::Error::other("there is no file in it")));
        }
        Ok(files)
    }
}

impl Data {
    /// The path of its copy, where it has one.
    pub fn path(&self) -> Option<&Path> {
        match &self.held {
            FileData::Memory(_) => None,
            FileData::File(path) => Some(path),
        }
    }

    /// It, to be read once.
    pub(crate) fn document(&self) -> io::Result<Document> {
        let reader: Box<dyn Read + Send> = match &self.held {
            FileData::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            FileData::File(path) => Box::new(File::open(path)?),
        };
        Ok(Document::new(reader, Some(self.size)))
    }
}

/// The files that something stands for, made where they are to be.
fn sources_of(wanted: &Wanted, number: usize, scratch: &Path) -> Result<Vec<PathBuf>, FileError> {
    match wanted {
        Wanted::Made(payload, size) => {
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
        Wanted::Samples => {
            let samples = pdf::SAMPLES.iter().enumerate().map(|(place, (pages, size))| {
                let path = scratch.join(format!("{number}-sample-{:02}.pdf", place + 1));
                fs::write(&path, pdf::sample(*pages, *size)).map_err(at(&path))?;
                Ok(path)
            });
            samples.collect()
        }
        Wanted::At(path) if fs::metadata(path).map_err(at(path))?.is_dir() => {
            let entries = fs::read_dir(path).map_err(at(path))?;
            let entries = entries.collect::<io::Result<Vec<_>>>().map_err(at(path))?;
            let mut files: Vec<PathBuf> =
                entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
            files.sort();
            files.truncate(MAX_FILES);
            Ok(files)
        }
        Wanted::At(path) => Ok(vec![path.clone()]),
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
            "these are more than 8 GiB, which memory is not to hold: send them from a folder",
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
            Wanted::Made(Payload::Text, 5_000),
            Wanted::Samples,
            Wanted::At(own.path().to_owned()),
        ];
        for place in [Place::Memory, Place::Folder(folder.path().to_owned())] {
            let files = Files::prepare(&wanted, &place, scratch.path()).unwrap();
            assert_eq!(files.files.len(), 1 + pdf::SAMPLES.len() + 2);
            assert_eq!((files.files[0].size, files.files[12].name.as_str()), (5_000, "a"));
            assert!(files.made.is_some());
            let mut last = [0; 10];
            let got = files.files[13].document().unwrap().read(&mut last).unwrap();
            assert_eq!(&last[..got], b"second");
        }
        // The copies have gone, and the user's files are there.
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
            [(empty, "it is empty"), (folder, "there is no file"), ("/nowhere".into(), "No such")]
        {
            let wanted = [Wanted::At(path)];
            let wrong = Files::prepare(&wanted, &Place::Memory, scratch.path()).unwrap_err();
            assert!(wrong.to_string().contains(said), "{wrong}");
        }
    }
}
