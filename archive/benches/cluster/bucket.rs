//! Read-only S3 bucket in memory, with a port and a rate for each client.
//!
//! The server supports the requests of `add`: it lists objects (`ListObjectsV2`), returns sizes
//! (`HeadObject`), and returns objects or ranges of them (`GetObject`). It checks no signatures.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Name of the bucket.
pub(crate) const NAME: &str = "captures";

/// Modification time of each object.
const CHANGED: &str = "2026-11-01T00:00:00.000Z";

/// Modification time in the format of a header.
const CHANGED_HEADER: &str = "Sun, 01 Nov 2026 00:00:00 GMT";

/// Size of a write.
const PIECE: usize = 64 << 10;

/// Objects of the bucket by their keys.
#[derive(Clone, Default)]
pub(crate) struct Bucket(Arc<BTreeMap<String, Vec<u8>>>);

/// Rate limiter of a link, with the time at which the link is free again.
struct ThrottledLink {
    rate: u64,
    free: Mutex<Instant>,
}

impl ThrottledLink {
    /// Waits until this many bytes have passed.
    fn pass(&self, bytes: usize) {
        if self.rate == u64::MAX {
            return;
        }
        let takes = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let until = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            *free = (*free).max(Instant::now()) + takes;
            *free
        };
        thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

impl Bucket {
    /// Stores an object.
    pub(crate) fn put(&mut self, key: String, bytes: Vec<u8>) {
        Arc::make_mut(&mut self.0).insert(key, bytes);
    }

    /// Returns the total size.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Serves the bucket at this rate until the process ends, and returns the URL.
    pub(crate) fn serve(&self, rate: u64) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let way = Arc::new(ThrottledLink { rate, free: Mutex::new(Instant::now()) });
        let bucket = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (bucket, way) = (bucket.clone(), Arc::clone(&way));
                // A client that disconnects has what it wants.
                thread::spawn(move || bucket.client(&stream, &way));
            }
        });
        Ok(url)
    }

    fn client(&self, stream: &TcpStream, way: &ThrottledLink) -> Option<()> {
        // Without TCP_NODELAY, the end of an answer would wait for a delayed ACK, and spoil the
        // measurement.
        stream.set_nodelay(true).ok()?;
        let mut lines = BufReader::new(stream).lines();
        loop {
            let first = lines.next()?.ok()?;
            let mut range = None;
            loop {
                let line = lines.next()?.ok()?;
                if line.is_empty() {
                    break;
                }
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("range")
                {
                    range = Some(value.trim().to_owned());
                }
            }
            let mut words = first.split(' ');
            let (method, target) = (words.next()?, words.next()?);
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let key = path.strip_prefix('/')?.strip_prefix(NAME)?.trim_start_matches('/');
            if query.contains("list-type=2") {
                answer(stream, "200 OK", "", self.listed(query).as_bytes(), way)?;
                continue;
            }
            let Some(object) = self.0.get(key) else {
                answer(stream, "404 Not Found", "", b"", way)?;
                continue;
            };
            let part = range.and_then(|range| part(&range, object.len()));
            let (status, shown, at) = match part {
                Some(at) => {
                    let of = format!(
                        "Content-Range: bytes {}-{}/{}\r\n",
                        at.start,
                        at.end - 1,
                        object.len()
                    );
                    ("206 Partial Content", of, at)
                }
                None => ("200 OK", String::new(), 0..object.len()),
            };
            let about = format!("{shown}ETag: \"{key}\"\r\nLast-Modified: {CHANGED_HEADER}\r\n");
            if method == "HEAD" {
                let head =
                    format!("HTTP/1.1 {status}\r\n{about}Content-Length: {}\r\n\r\n", at.len());
                (&*stream).write_all(head.as_bytes()).ok()?;
            } else {
                answer(stream, status, &about, object.get(at)?, way)?;
            }
        }
    }

    /// Lists all keys below a prefix. One answer holds up to a thousand.
    fn listed(&self, query: &str) -> String {
        let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix="));
        let prefix = prefix.unwrap_or_default().replace("%2F", "/");
        let mut text = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>{NAME}</Name>\
             <IsTruncated>false</IsTruncated>"
        );
        for (key, bytes) in self.0.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let size = bytes.len();
            text += &format!(
                "<Contents><Key>{key}</Key><LastModified>{CHANGED}</LastModified>\
                 <ETag>&quot;{key}&quot;</ETag><Size>{size}</Size></Contents>"
            );
        }
        text + "</ListBucketResult>"
    }
}

/// Parses a `Range` of the form `bytes=a-b`.
fn part(range: &str, length: usize) -> Option<Range<usize>> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let from: usize = from.parse().ok()?;
    let to = if to.is_empty() { length } else { to.parse::<usize>().ok()? + 1 };
    (from < to.min(length)).then(|| from..to.min(length))
}

fn answer(
    mut to: &TcpStream,
    status: &str,
    about: &str,
    body: &[u8],
    way: &ThrottledLink,
) -> Option<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{about}Content-Length: {length}\r\n\r\n");
    to.write_all(head.as_bytes()).ok()?;
    for piece in body.chunks(PIECE) {
        way.pass(piece.len());
        to.write_all(piece).ok()?;
    }
    Some(())
}
