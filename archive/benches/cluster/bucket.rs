//! A bucket of S3 in memory that is only read, at a port for each client, with a rate for each.
//!
//! It lists (`ListObjectsV2`), tells sizes (`HeadObject`) and gives objects or ranges of them
//! (`GetObject`), which is what `add` asks for. It checks no signature.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What the bucket is called.
pub(crate) const NAME: &str = "captures";

/// When each object was last changed.
const CHANGED: &str = "2026-11-01T00:00:00.000Z";

/// The same, as a header has it.
const CHANGED_HEADER: &str = "Sun, 01 Nov 2026 00:00:00 GMT";

/// As much is written at once.
const PIECE: usize = 64 << 10;

/// The objects by their keys.
#[derive(Clone, Default)]
pub(crate) struct Bucket(Arc<BTreeMap<String, Vec<u8>>>);

/// What a way carries: when it is free again.
struct Way {
    rate: u64,
    free: Mutex<Instant>,
}

impl Way {
    /// Waits until so many bytes have passed.
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
    /// Puts an object.
    pub(crate) fn put(&mut self, key: String, bytes: Vec<u8>) {
        Arc::make_mut(&mut self.0).insert(key, bytes);
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Serves it at this rate until the process ends; gives the URL.
    pub(crate) fn serve(&self, rate: u64) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let way = Arc::new(Way { rate, free: Mutex::new(Instant::now()) });
        let bucket = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (bucket, way) = (bucket.clone(), Arc::clone(&way));
                // Who goes away has what they want.
                thread::spawn(move || bucket.client(&stream, &way));
            }
        });
        Ok(url)
    }

    fn client(&self, stream: &TcpStream, way: &Way) -> Option<()> {
        // The end of an answer would wait for a delayed ACK, and that is what would be measured.
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

    /// All keys below a prefix: so few that one answer has them, up to a thousand.
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

/// The part that a `Range` asks for, where it is `bytes=a-b`.
fn part(range: &str, length: usize) -> Option<Range<usize>> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let from: usize = from.parse().ok()?;
    let to = if to.is_empty() { length } else { to.parse::<usize>().ok()? + 1 };
    (from < to.min(length)).then(|| from..to.min(length))
}

fn answer(mut to: &TcpStream, status: &str, about: &str, body: &[u8], way: &Way) -> Option<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{about}Content-Length: {length}\r\n\r\n");
    to.write_all(head.as_bytes()).ok()?;
    for piece in body.chunks(PIECE) {
        way.pass(piece.len());
        to.write_all(piece).ok()?;
    }
    Some(())
}
