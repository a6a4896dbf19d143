//! Sources of captures: files, files below folders, and objects.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use tokio::runtime::Handle;
use windlass_base::Failure;

use crate::store::place::{self, Buckets, Place, plain};

/// Bytes fetched in one request, few enough to repeat a failed request.
const PART: u64 = 8 << 20;

/// Location of a source.
#[derive(Clone, Debug)]
enum SourceLocation {
    File(PathBuf),
    Object(Place, Key),
}

/// Possible capture or archive of captures, as found by a search.
#[derive(Clone, Debug)]
pub struct Source {
    /// Absolute path, or address.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time in nanoseconds since 1970; `None` if the system does not know.
    pub modified: Option<i64>,
    /// True if `name` is exact. A path that is not UTF-8 has an inexact name, which may not be
    /// unique.
    pub is_exact: bool,
    place: SourceLocation,
}

/// Source that is open for reading: a file of its own, or an unnamed file that is deleted with this
/// value.
#[derive(Debug)]
pub struct OpenedSource {
    path: PathBuf,
    _file: Option<File>,
}

impl OpenedSource {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn cannot(name: &dyn std::fmt::Display, wrong: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot add {name}"), wrong)
        .advise("Give captures, folders of captures, or s3://BUCKET/PREFIX.")
}

impl Source {
    fn file(path: &Path, about: &Metadata) -> Self {
        let nanos = about.mtime().checked_mul(1_000_000_000);
        let modified = nanos.and_then(|nanos| nanos.checked_add(about.mtime_nsec()));
        Self {
            name: path.to_string_lossy().into_owned(),
            bytes: about.len(),
            modified,
            is_exact: path.to_str().is_some(),
            place: SourceLocation::File(path.to_owned()),
        }
    }

    /// Returns the handle for other processes: the bytes of the path, or the address.
    pub fn handle(&self) -> Vec<u8> {
        match &self.place {
            SourceLocation::File(path) => path.as_os_str().as_bytes().to_vec(),
            SourceLocation::Object(..) => self.name.clone().into_bytes(),
        }
    }

    /// Returns the source with this handle, as another process found it.
    ///
    /// # Errors
    /// Returns an error if the handle is not valid.
    pub fn of_handle(
        handle: &[u8],
        bytes: u64,
        modified: Option<i64>,
        buckets: &mut Buckets,
    ) -> Result<Self, Failure> {
        let text = std::str::from_utf8(handle);
        if let Ok(address) = text
            && place::is_remote(address)
        {
            let (place, key) = buckets.object(address, "cannot read")?;
            let place = SourceLocation::Object(place, key);
            return Ok(Self { name: address.to_owned(), bytes, modified, is_exact: true, place });
        }
        let path = PathBuf::from(OsStr::from_bytes(handle));
        let name = path.to_string_lossy().into_owned();
        Ok(Self {
            name,
            bytes,
            modified,
            is_exact: text.is_ok(),
            place: SourceLocation::File(path),
        })
    }

    /// Returns whether the source is still as it was found: a file with the same size and
    /// modification second, or an object that exists.
    ///
    /// # Errors
    /// Returns an error if that cannot be determined.
    pub async fn is_here(&self) -> Result<bool, String> {
        match &self.place {
            SourceLocation::File(path) => match fs::metadata(path) {
                Ok(about) => {
                    let seconds = self.modified.map(|nanos| nanos.div_euclid(1_000_000_000));
                    let is_same_time = seconds.is_none_or(|seconds| seconds == about.mtime());
                    Ok(about.is_file() && about.len() == self.bytes && is_same_time)
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
                // An unreadable file becomes a row, as everywhere.
                Err(_) => Ok(true),
            },
            SourceLocation::Object(place, key) => {
                match place.patiently(async || place.store().head(key).await).await {
                    Ok(object) => Ok(object.size == self.bytes),
                    Err(object_store::Error::NotFound { .. }) => Ok(false),
                    Err(error) => Err(plain(&error)),
                }
            }
        }
    }

    /// Returns whether the source is an object of a bucket.
    pub const fn is_remote(&self) -> bool {
        matches!(self.place, SourceLocation::Object(..))
    }

    /// Returns whether the source was modified since; true if the time is unknown.
    pub fn is_newer_than(&self, oldest: SystemTime) -> bool {
        let since = oldest.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.modified.is_none_or(|at| i128::from(at) >= since.as_nanos().cast_signed())
    }

    /// Opens the source as a file. An object is fetched into an unnamed file. Returns `None` if
    /// `stop` was set.
    ///
    /// # Errors
    /// Returns an error if the object cannot be fetched.
    pub fn open(
        &self,
        stop: &AtomicBool,
        runtime: &Handle,
    ) -> Result<Option<OpenedSource>, String> {
        let (place, key) = match &self.place {
            SourceLocation::File(path) => {
                return Ok(Some(OpenedSource { path: path.clone(), _file: None }));
            }
            SourceLocation::Object(place, key) => (place, key),
        };
        let mut file = tempfile::tempfile().map_err(|error| error.to_string())?;
        let mut at = 0;
        while at < self.bytes {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let end = self.bytes.min(at + PART);
            let part = runtime.block_on(part(place, key, at..end))?;
            file.write_all(&part)
                .map_err(|error| format!("cannot fetch it into a temporary file: {error}"))?;
            at = end;
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Some(OpenedSource { path, _file: Some(file) }))
    }
}

/// Fetches a part of an object.
async fn part(place: &Place, key: &Key, range: std::ops::Range<u64>) -> Result<Bytes, String> {
    let get = async || place.store().get_range(key, range.clone()).await;
    let part = place.patiently(get).await.map_err(|error| plain(&error))?;
    if part.len() as u64 != range.end - range.start {
        return Err("the file changed while it was read".to_owned());
    }
    Ok(part)
}

/// Finds the sources that paths name: a file; the files below a folder, except names that begin
/// with a dot; or the objects below an address. The sources are sorted by name, each once.
///
/// The archive `into` is skipped.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be listed.
pub async fn find(paths: &[String], into: &Place) -> Result<Vec<Source>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if place::is_remote(path) {
            remote(path, into, &mut found).await?;
        } else {
            local(path, into.folder(), &mut found)?;
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.dedup_by(|one, other| one.name == other.name && one.is_exact && other.is_exact);
    Ok(found)
}

fn local(path: &str, into: Option<&Path>, found: &mut Vec<Source>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| cannot(&path, error);
    if path == "-" {
        let wrong = "standard input has no name, which an archive needs";
        return Err(cannot(&"standard input", wrong));
    }
    let about = fs::metadata(path).map_err(failed)?;
    let whole = std::path::absolute(path).map_err(failed)?;
    if about.is_dir() {
        return below(&whole, into, found);
    }
    if !about.is_file() {
        return Err(cannot(&path, "it is neither a file nor a folder"));
    }
    found.push(Source::file(&whole, &about));
    Ok(())
}

/// Finds the files below a folder. Links to files are followed. Links to folders are not: they
/// could lead back.
fn below(folder: &Path, into: Option<&Path>, found: &mut Vec<Source>) -> Result<(), Failure> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if into.is_some() && folder.canonicalize().ok().as_deref() == into {
            continue;
        }
        let failed = |error: std::io::Error| cannot(&folder.display(), error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(path);
                continue;
            }
            // A dangling link is skipped, and so is a file that was deleted since.
            let Ok(about) = fs::metadata(&path) else { continue };
            if about.is_file() {
                found.push(Source::file(&path, &about));
            }
        }
    }
    Ok(())
}

async fn remote(address: &str, into: &Place, found: &mut Vec<Source>) -> Result<(), Failure> {
    let from = Place::existing(address, "cannot add")?;
    let bucket = from.to_string();
    let bucket = bucket.strip_suffix(from.root().as_ref()).unwrap_or(&bucket);
    let failed = |error: object_store::Error| cannot(&address, plain(&error));
    let mut add = |object: object_store::ObjectMeta| {
        let name = format!("{}/{}", bucket.trim_end_matches('/'), object.location);
        // The archive's own objects.
        let inside = format!("{into}/");
        let is_hidden = object.location.filename().is_none_or(|name| name.starts_with('.'));
        if is_hidden || name.starts_with(&inside) {
            return;
        }
        found.push(Source {
            name,
            bytes: object.size,
            modified: object.last_modified.timestamp_nanos_opt(),
            is_exact: true,
            place: SourceLocation::Object(from.clone(), object.location),
        });
    };
    let list = async || from.store().list(Some(from.root())).try_collect::<Vec<_>>().await;
    let objects = from.patiently(list).await.map_err(failed)?;
    if objects.is_empty() {
        // The address may name a single object.
        match from.patiently(async || from.store().head(from.root()).await).await {
            Ok(object) => add(object),
            Err(object_store::Error::NotFound { .. }) => {
                return Err(cannot(&address, "no object has this prefix"));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    objects.into_iter().for_each(add);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&Path], into: &Path) -> Vec<String> {
        let into = Place::existing(into.to_str().unwrap(), "").unwrap();
        let paths: Vec<String> =
            paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
        let found = futures::executor::block_on(find(&paths, &into)).unwrap();
        found.into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn folders_are_gone_through_and_the_archive_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["b/2.pcap", "b/.hidden", "a/1.pcap", "z.pcap", "archive/log/1.json"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), at("b/again")).unwrap();
        std::os::unix::fs::symlink(at("z.pcap"), at("b/link.pcap")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("b/broken.pcap")).unwrap();
        let all = names(&[folder.path(), &at("z.pcap")], &at("archive"));
        let expected = ["a/1.pcap", "b/2.pcap", "b/link.pcap", "z.pcap"];
        assert_eq!(all, expected.map(|name| at(name).to_str().unwrap().to_owned()));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let into = Place::existing(folder.path().to_str().unwrap(), "").unwrap();
        for (path, why) in
            [("/no/such", "No such file"), ("-", "no name"), ("/dev/null", "neither")]
        {
            let found = futures::executor::block_on(find(&[path.to_owned()], &into));
            let wrong = found.unwrap_err().to_string();
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}
