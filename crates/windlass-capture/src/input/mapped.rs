//! Plain capture files: mapped into memory, and read without a copy.
//!
//! A second thread fetches windows ahead of the analyser, and releases those behind it. The
//! analyser therefore meets no page fault. Measured on two cores with 1.34 GB of cached full
//! frames: 0.11 s, against 0.20 s if the thread reads.
//!
//! A mapped file can shrink or fail under the analyser, which then sees zeros. After each window
//! the size of the file and the mapping are checked. On any fault the whole reading fails, so that
//! no report contains packets that were not there.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::cache::prefetch_behind;
use windlass_sys::map::Mapping;
use windlass_wire::capture::is_binary;
use windlass_wire::{Observer, Packet, Segment};

use super::error::InputLoss;
use super::{Ending, Feed, POLL};

/// Bytes of a window. Half of it is 8 % slower; four times as much is 4 % faster and takes 16 MB
/// more. At most four windows are in memory: behind the analyser, under it, before it and being
/// fetched.
const WINDOW: usize = 2 << 20;

/// Number of fetched windows that wait for the analyser.
const WAITING: usize = 1;

/// Minimum time to fetch a window from a disk: memory takes 0.4 ms.
const FROM_DISK: Duration = Duration::from_millis(2);

/// Distance of read-ahead. The kernel's default of 128 KiB is too little for fast disks: 1.1 s for
/// 1.34 GB, against 0.76 s with this value. Half and twice the value are slower.
const LOOK_AHEAD: usize = 8 << 20;

/// Minimum size of a mapped file: mapping a smaller one gains nothing.
const MIN: u64 = 4 << 20;

/// Capture file in memory.
pub(super) struct MappedFile {
    file: File,
    map: Arc<Mapping>,
}

impl MappedFile {
    /// Maps a capture file. Returns `None` if reading suits better: the file is small, compressed
    /// or a text, or the system cannot map it.
    pub(super) fn of(file: &File) -> Option<Self> {
        if file.metadata().ok()?.len() < MIN {
            return None;
        }
        let mut magic = [0; 8];
        file.read_exact_at(&mut magic, 0).ok()?;
        if !is_binary(magic) {
            return None;
        }
        // Reading continues behind the mapping with the first handle.
        let file = file.try_clone().ok()?;
        let map = Mapping::of(&file).ok()?;
        Some(Self { file, map: Arc::new(map) })
    }

    /// Returns the number of mapped bytes.
    pub(super) fn size(&self) -> u64 {
        self.map.bytes().len() as u64
    }

    /// Passes on window after window. Returns `Ok(None)` if the file has grown and the rest is to
    /// be read behind the mapping.
    pub(super) fn run<O: Observer>(
        &self,
        feed: &mut Feed<'_, O>,
        stop: &AtomicBool,
        mut on_progress: impl FnMut(u64),
    ) -> Result<Option<Ending>, InputLoss> {
        let bytes = self.map.bytes();
        let ahead = FetchingThread::start(&self.map);
        // Bytes that the analyser has consumed, and bytes that it has seen.
        let (mut done, mut seen) = (0, 0);
        let ending = loop {
            if stop.load(Ordering::Relaxed) {
                break Some(Ending::Stopped);
            }
            if seen == bytes.len() {
                break (self.check(seen)? == self.size()).then_some(Ending::End);
            }
            let Some(end) = ahead.next() else {
                continue;
            };
            let (used, finished) = feed.window(&bytes[done..end], &self.map);
            (done, seen) = (done + used, end);
            self.check(seen)?;
            ahead.done_with(done);
            on_progress(seen as u64);
            if finished {
                break Some(Ending::Finished);
            }
        };
        feed.waiting = bytes[done..seen].to_vec();
        self.check(seen)?;
        if ending.is_none() {
            let behind = (&self.file).seek(SeekFrom::Start(self.size()));
            behind.map_err(|cause| InputLoss::Failed { at: self.size(), cause })?;
        }
        Ok(ending)
    }

    /// Checks that everything up to `seen` was there; returns the present size of the file.
    fn check(&self, seen: usize) -> Result<u64, InputLoss> {
        let lost = self.map.lost();
        let failed = |cause| InputLoss::Failed { at: lost.unwrap_or(seen) as u64, cause };
        let now = self.file.metadata().map_err(failed)?.len();
        if now < self.size() {
            return Err(InputLoss::Shrank { was: self.size(), is: now });
        }
        match lost {
            None => Ok(now),
            Some(at) => Err(failed(self.cause(at as u64))),
        }
    }

    /// Returns the reason why a page was lost although the file has its full size.
    fn cause(&self, at: u64) -> io::Error {
        match self.file.read_exact_at(&mut [0], at) {
            Err(cause) => cause,
            Ok(()) => io::Error::other("the file was cut and written again meanwhile"),
        }
    }
}

impl<O: Observer> Feed<'_, O> {
    /// Passes on bytes of a mapping, from the position of the capture. Returns the number of
    /// consumed bytes, and whether the capture needs no more.
    fn window(&mut self, bytes: &[u8], map: &Mapping) -> (usize, bool) {
        if bytes.len() < self.wanted {
            return (0, self.too_much());
        }
        let mut observer = PacketPrefetcher::new(self.observer, map);
        let progress = self.capture.read(bytes, false, &mut observer);
        self.wanted = progress.wanted;
        (progress.consumed, progress.finished || self.too_much())
    }
}

/// Handle of the fetching thread, for the analyser.
struct FetchingThread {
    /// Ends of the fetched windows.
    ends: Receiver<usize>,
    /// Number of bytes at the front that the analyser has consumed.
    done: Arc<AtomicUsize>,
    /// Size of the mapping in bytes.
    size: usize,
}

impl FetchingThread {
    /// Starts the fetching thread, which ends by itself when this handle is dropped.
    fn start(map: &Arc<Mapping>) -> Self {
        let (sender, ends) = sync_channel(WAITING);
        let done = Arc::new(AtomicUsize::new(0));
        let (map, done_there) = (Arc::clone(map), Arc::clone(&done));
        let size = map.bytes().len();
        thread::spawn(move || fetch(&map, &sender, &done_there));
        Self { ends, done, size }
    }

    /// Returns the end of the next window once it is fetched; `None` if that takes long.
    fn next(&self) -> Option<usize> {
        match self.ends.recv_timeout(POLL) {
            Ok(end) => Some(end),
            Err(RecvTimeoutError::Timeout) => None,
            // Without the thread all bytes are still readable, only slower.
            Err(RecvTimeoutError::Disconnected) => Some(self.size),
        }
    }

    fn done_with(&self, bytes: usize) {
        self.done.store(bytes, Ordering::Relaxed);
    }
}

/// Fetches window after window, and releases those that the analyser has consumed.
fn fetch(map: &Mapping, ends: &SyncSender<usize>, done: &AtomicUsize) {
    let size = map.bytes().len();
    let (mut released, mut asked) = (0, 0);
    let mut from_disk = false;
    for start in (0..size).step_by(WINDOW) {
        let end = size.min(start + WINDOW);
        if from_disk {
            let until = end + LOOK_AHEAD;
            map.prefetch(asked.max(end)..until);
            asked = until;
        }
        let started = Instant::now();
        map.populate(start..end);
        // One early request suffices: requested pages then arrive as fast as from memory.
        from_disk |= started.elapsed() > FROM_DISK;
        if ends.send(end).is_err() {
            return;
        }
        let done = done.load(Ordering::Relaxed);
        map.release(released..done);
        released = done;
    }
}

/// Observer that passes on the packets of a mapping.
///
/// Packets after the first lost page are held back. The following packets are prefetched into the
/// processor's caches: full frames are too far apart for its own prefetcher. With prefetching, 1.34
/// GB of full frames take 0.11 s instead of 0.17 s.
struct PacketPrefetcher<'a, O> {
    observer: &'a mut O,
    map: &'a Mapping,
    /// Length of the previous packet.
    before: usize,
}

/// Packet length up to which the processor itself prefetches the next packet.
const FAR: usize = 512;

/// Bytes of a record that are prefetched: its header and those of its packet.
const HEADERS: usize = 128;

/// Size of a pcap record's header, to guess where records begin.
const RECORD_HEADER: usize = 16;

impl<'a, O> PacketPrefetcher<'a, O> {
    const fn new(observer: &'a mut O, map: &'a Mapping) -> Self {
        Self { observer, map, before: 0 }
    }

    /// Prefetches the next record, which begins behind this packet, and the two after it. Their
    /// places are guessed: data comes in runs, or alternates with ACKs. So the previous packet's
    /// length is expected next, and then the length of this one.
    fn prefetch(&mut self, packet: &[u8]) {
        let length = packet.len();
        if length.max(self.before) > FAR {
            let second = RECORD_HEADER + self.before;
            let third = second + RECORD_HEADER + length;
            for start in [0, second, third] {
                prefetch_behind(packet, start..start + HEADERS);
            }
        }
        self.before = length;
    }
}

impl<O: Observer> Observer for PacketPrefetcher<'_, O> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        if self.map.lost().is_none() {
            self.prefetch(packet.data);
            self.observer.packet(packet);
        }
    }

    fn segment(&mut self, segment: &Segment) {
        self.observer.segment(segment);
    }
}

#[cfg(test)]
#[path = "mapped_tests.rs"]
mod tests;
