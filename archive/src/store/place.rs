//! Location of an archive or of captures: a folder, or a prefix of a bucket.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, Error, ObjectStore, RetryConfig};
use windlass_base::Failure;

/// Prefix of bucket addresses.
const S3: &str = "s3://";

/// Maximum retries of a request that fails at the server or gets no answer.
const RETRIES: usize = 12;

/// Maximum time of retries.
const RETRY_FOR: Duration = Duration::from_mins(3);

/// Maximum attempts if an answer breaks off, which the client library does not retry.
const TRIES: u32 = 8;

/// Timeout of a request. No request is for more than some MB.
const REQUEST: Duration = Duration::from_secs(60);

/// Folder or prefix, and its object store.
#[derive(Clone)]
pub struct Place {
    store: Arc<dyn ObjectStore>,
    root: Key,
    name: String,
    folder: Option<PathBuf>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.name).finish()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns whether a text is the address of a bucket.
pub fn is_remote(text: &str) -> bool {
    text.starts_with(S3)
}

/// Returns the message of an object store's error, in plain words where possible.
pub fn plain(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "it does not exist".to_owned(),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            "the server refuses access".to_owned()
        }
        Error::Generic { source, .. } => one_line(&source.to_string()),
        other => one_line(&other.to_string()),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Place {
    /// Opens an existing location. A bucket is not contacted before it is used.
    ///
    /// # Errors
    /// Returns an error if the location is not valid; `doing` is the purpose, for the message.
    pub fn existing(text: &str, doing: &str) -> Result<Self, Failure> {
        if is_remote(text) {
            return Self::remote(text, doing);
        }
        Self::local(Path::new(text), doing)
    }

    /// Opens a location, and creates a missing folder.
    ///
    /// # Errors
    /// Returns an error if the location is not valid or cannot be created.
    pub fn made(text: &str, doing: &str) -> Result<Self, Failure> {
        if !is_remote(text) {
            fs::create_dir_all(text).map_err(|error| {
                Failure::new(format!("{doing} {text}"), error).advise("Give a writable folder.")
            })?;
        }
        Self::existing(text, doing)
    }

    fn local(path: &Path, doing: &str) -> Result<Self, Failure> {
        let failed = |wrong: &dyn fmt::Display| {
            Failure::usage(format!("{doing} {}", path.display()), wrong)
                .advise("Give the archive's folder, or s3://BUCKET/PREFIX.")
        };
        let folder = path.canonicalize().map_err(|error| failed(&error))?;
        if !folder.is_dir() {
            return Err(failed(&"it is not a folder"));
        }
        let store = LocalFileSystem::new_with_prefix(&folder);
        let store = store.map_err(|error| failed(&plain(&error)))?;
        let name = path.display().to_string();
        Ok(Self { store: Arc::new(store), root: Key::default(), name, folder: Some(folder) })
    }

    fn remote(text: &str, doing: &str) -> Result<Self, Failure> {
        let failed = |wrong: &dyn fmt::Display| {
            Failure::usage(format!("{doing} {text}"), wrong).advise(
                "Give s3://BUCKET/PREFIX; AWS_REGION, AWS_ENDPOINT_URL and the other variables of \
                 AWS have server and login.",
            )
        };
        let rest = text.strip_prefix(S3).unwrap_or(text);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(failed(&"it names no bucket"));
        }
        let root = Key::parse(prefix.trim_end_matches('/')).map_err(|error| failed(&error))?;
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
        let endpoint = endpoint.iter().find_map(|name| std::env::var(name).ok());
        // An address without TLS is deliberate.
        let plain_http = endpoint.as_ref().is_some_and(|url| url.starts_with("http://"));
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_allow_http(plain_http)
            .with_client_options(
                ClientOptions::new().with_allow_http(plain_http).with_timeout(REQUEST),
            )
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(10),
                    base: 2.0,
                },
                max_retries: RETRIES,
                retry_timeout: RETRY_FOR,
            });
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let store = builder.build().map_err(|error| failed(&plain(&error)))?;
        let name = text.trim_end_matches('/').to_owned();
        Ok(Self { store: Arc::new(store), root, name, folder: None })
    }

    /// Returns the name for other processes: the absolute path of the folder, or the address.
    pub fn whole_name(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => self.name.clone(),
        }
    }

    /// Returns the URL of the store and the key prefix for other processes.
    pub fn shared(&self) -> (String, String) {
        match &self.folder {
            Some(folder) => {
                let root = Key::from_absolute_path(folder).unwrap_or_default();
                ("file:///".to_owned(), format!("{root}/"))
            }
            None => {
                let rest = self.name.strip_prefix(S3).unwrap_or(&self.name);
                let bucket = rest.split('/').next().unwrap_or(rest);
                (format!("{S3}{bucket}/"), String::new())
            }
        }
    }

    /// Returns the object store.
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Returns the key of a name in the location, such as `log/1.json`.
    pub fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.root.clone(), object_store::path::Path::join)
    }

    /// Returns the key of the location itself.
    pub fn root(&self) -> &Key {
        &self.root
    }

    /// Returns the folder of a local location.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Runs repeatable work, and repeats it if an answer breaks off.
    ///
    /// # Errors
    /// Returns the error of the last attempt.
    pub async fn patiently<T>(&self, work: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
        // An error of a disk is final.
        let tries = if self.folder.is_some() { 1 } else { TRIES };
        patiently(tries, work).await
    }

    /// Syncs these files to the disk, so that they survive a loss of power. Servers do that
    /// themselves.
    ///
    /// # Errors
    /// Returns an error if the disk fails.
    pub fn settle(&self, names: &[String]) -> std::io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        for name in names {
            let path = folder.join(name);
            File::open(&path)?.sync_all()?;
            if let Some(parent) = path.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(())
    }
}

/// Buckets that are used for many objects.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<String, Place>);

impl Buckets {
    /// Returns the bucket and the key of an object's address.
    ///
    /// # Errors
    /// Returns an error if the address is not that of an object.
    pub fn object(&mut self, address: &str, doing: &str) -> Result<(Place, Key), Failure> {
        let rest = address.strip_prefix(S3).unwrap_or(address);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let place = match self.0.get(bucket) {
            Some(place) => place.clone(),
            None => {
                let place = Place::remote(&format!("{S3}{bucket}"), doing)?;
                self.0.insert(bucket.to_owned(), place.clone());
                place
            }
        };
        let key = Key::parse(key).map_err(|error| {
            Failure::usage(format!("{doing} {address}"), error)
                .advise("Give an object as s3://BUCKET/KEY.")
        })?;
        Ok((place, key))
    }
}

async fn patiently<T>(tries: u32, work: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    let mut tried = 1;
    loop {
        match work().await {
            Err(Error::Generic { .. }) if tried < tries => {}
            done => return done,
        }
        tokio::time::sleep(Duration::from_millis(100 << tried.min(6))).await;
        tried += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_bucket_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let here = Place::existing(folder.path().to_str().unwrap(), "cannot open").unwrap();
        assert_eq!(here.key("log/1.json").as_ref(), "log/1.json");
        assert!(here.folder().is_some());
        let bucket = Place::existing("s3://captures/by/site/", "cannot open").unwrap();
        assert_eq!(bucket.key("log/1.json").as_ref(), "by/site/log/1.json");
        assert_eq!((bucket.to_string().as_str(), bucket.folder()), ("s3://captures/by/site", None));
    }

    #[test]
    fn what_cannot_be_one_says_why() {
        let wrong = |text| Place::existing(text, "cannot open").unwrap_err().to_string();
        assert!(wrong("/no/such/folder").contains("No such file"));
        assert!(wrong("/dev/null").contains("not a folder"));
        assert!(wrong("s3://").contains("no bucket"));
        assert!(wrong("s3://captures/a/../b").starts_with("cannot open s3://captures/a/../b: "));
    }

    #[test]
    fn what_breaks_off_is_tried_again_and_what_is_refused_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let broken = || Error::Generic { store: "S3", source: "cut".into() };
        let gone = || Error::NotFound { path: "a".into(), source: "gone".into() };
        let count = std::cell::Cell::new(0);
        let next = || count.replace(count.get() + 1);
        let second = async || if next() == 0 { Err(broken()) } else { Ok(7) };
        assert_eq!(runtime.block_on(patiently(2, second)).unwrap(), 7);
        count.set(0);
        let never = async || -> Result<(), Error> {
            next();
            Err(broken())
        };
        assert!(runtime.block_on(patiently(3, never)).is_err());
        assert_eq!(count.replace(0), 3);
        let refused = async || -> Result<(), Error> {
            next();
            Err(gone())
        };
        assert!(runtime.block_on(patiently(3, refused)).is_err());
        assert_eq!(count.get(), 1);
    }
}
