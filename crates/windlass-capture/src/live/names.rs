//! Names of capture files.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use windlass_base::Timestamp;
use windlass_sys::local_time;

use super::rotation::Rotation;

/// Names of successive files: numbered (`trace-00001.pcapng`), or by the start time of each file.
/// Names by time need rotation by time, and a `%` of strftime(3) in the path.
///
/// A repeated name by time overwrites the file of that name: `%H` keeps a day of files. A name gets
/// a number as well if it would overwrite the previous file, or one with unfinished work.
#[derive(Debug)]
pub(crate) struct Names {
    path: PathBuf,
    rotation: Rotation,
    is_timed: bool,
    present: FileName,
    /// Number of the current file.
    number: u32,
    removed: u32,
    /// For names by time: the existing files, and their order if the oldest are removed.
    there: HashSet<PathBuf>,
    order: VecDeque<PathBuf>,
}

/// Name of a capture file.
#[derive(Clone, Debug)]
pub(crate) struct FileName {
    pub path: PathBuf,
    /// Name without the number of a repeated name.
    base: PathBuf,
    of_base: u32,
}

impl Names {
    /// Returns the names of a capture whose first file starts at `time`.
    ///
    /// # Errors
    /// Returns an error if the time cannot become a name.
    pub(crate) fn begin(path: &Path, rotation: Rotation, time: Timestamp) -> io::Result<Self> {
        let has_format = path.as_os_str().as_encoded_bytes().contains(&b'%');
        let is_timed = rotation.time.is_some() && has_format;
        let first = match (is_timed, rotation.is_on()) {
            (true, _) => by_time(path, time)?,
            (false, true) => numbered(path, 1),
            (false, false) => path.to_owned(),
        };
        let present = FileName { path: first.clone(), base: first, of_base: 1 };
        let mut names = Self {
            path: path.to_owned(),
            rotation,
            is_timed,
            present,
            number: 1,
            removed: 0,
            there: HashSet::new(),
            order: VecDeque::new(),
        };
        names.keep();
        Ok(names)
    }

    /// Returns the path of the current file.
    pub(crate) fn present(&self) -> &Path {
        &self.present.path
    }

    /// Returns the number of existing files.
    pub(crate) const fn there(&self) -> u32 {
        self.number - self.removed
    }

    /// Returns the number of started files.
    pub(crate) const fn begun(&self) -> u32 {
        self.number
    }

    /// Returns the number of removed files.
    pub(crate) const fn removed(&self) -> u32 {
        self.removed
    }

    /// Returns the name of the next file, which starts at this time.
    ///
    /// # Errors
    /// Returns an error if the time cannot become a name.
    pub(crate) fn next(
        &self,
        time: Timestamp,
        is_busy: impl Fn(&Path) -> bool,
    ) -> io::Result<FileName> {
        if !self.is_timed {
            let path = numbered(&self.path, self.number.saturating_add(1));
            return Ok(FileName { base: path.clone(), path, of_base: 1 });
        }
        let base = by_time(&self.path, time)?;
        let mut of_base = if base == self.present.base { self.present.of_base + 1 } else { 1 };
        loop {
            let path = if of_base == 1 { base.clone() } else { numbered(&base, of_base) };
            if path != self.present.path && !is_busy(&path) {
                return Ok(FileName { path, base, of_base });
            }
            of_base += 1;
        }
    }

    /// Makes `next` the current file. Returns the files to remove for it.
    pub(crate) fn advance(&mut self, next: FileName) -> Vec<PathBuf> {
        self.number += 1;
        if self.is_timed && self.there.remove(&next.path) {
            // The new file has just overwritten it.
            self.removed += 1;
            self.order.retain(|name| *name != next.path);
        }
        self.present = next;
        self.keep();
        // The current file counts among the kept ones.
        let kept = self.rotation.files.map_or(u32::MAX, |files| files.max(1));
        let mut gone = Vec::new();
        while self.there() > kept {
            let oldest = if self.is_timed {
                let Some(oldest) = self.order.pop_front() else { break };
                self.there.remove(&oldest);
                oldest
            } else {
                numbered(&self.path, self.removed + 1)
            };
            self.removed += 1;
            gone.push(oldest);
        }
        gone
    }

    fn keep(&mut self) {
        if self.is_timed {
            self.there.insert(self.present.path.clone());
            if self.rotation.files.is_some() {
                self.order.push_back(self.present.path.clone());
            }
        }
    }
}

/// Returns the name for a start time.
fn by_time(path: &Path, time: Timestamp) -> io::Result<PathBuf> {
    local_time::formatted(path.as_os_str(), time).map(PathBuf::from)
}

/// Returns the name of a numbered file: `trace.pcapng` becomes `trace-00001.pcapng` first.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number:05}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn timed(files: Option<u32>) -> Rotation {
        Rotation { time: Some(Span::from_millis(1_000)), files, ..Rotation::default() }
    }

    /// Start of a minute in 2023.
    const MINUTE: i64 = 1_699_999_980;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    /// Starts files at these seconds; returns their names, and the removed ones.
    fn named(path: &str, rotation: Rotation, seconds: &[i64]) -> (Vec<String>, Vec<String>, Names) {
        let text = |path: &Path| path.display().to_string();
        let mut names = Names::begin(Path::new(path), rotation, at(seconds[0])).unwrap();
        let (mut all, mut gone) = (vec![text(names.present())], Vec::new());
        for second in &seconds[1..] {
            let next = names.next(at(*second), |_| false).unwrap();
            all.push(text(&next.path));
            gone.extend(names.advance(next).iter().map(|path| text(path)));
        }
        (all, gone, names)
    }

    #[test]
    fn a_name_by_time_that_comes_again_at_once_is_numbered() {
        let (all, gone, names) = named("t%%-%s.pcap", timed(None), &[7, 8, 8, 8, 9, 8]);
        let expected = [
            "t%-7.pcap",
            "t%-8.pcap",
            "t%-8-00002.pcap",
            "t%-8-00003.pcap",
            "t%-9.pcap",
            // The clock was set back: the earlier file of this name is overwritten.
            "t%-8.pcap",
        ];
        assert_eq!(all, expected);
        assert!(gone.is_empty(), "it is overwritten, not removed");
        assert_eq!((names.begun(), names.there(), names.removed()), (6, 5, 1));
    }

    #[test]
    fn a_ring_of_names_overwrites_and_the_oldest_go() {
        let seconds = [0, 20, 40, 60, 80].map(|second| MINUTE + second);
        let (all, gone, names) = named("t%S", timed(None), &seconds);
        assert_eq!(all, ["t00", "t20", "t40", "t00", "t20"]);
        assert_eq!((gone.len(), names.there()), (0, 3));
        let (_, gone, names) = named("t%s", timed(Some(2)), &[1, 2, 3, 4]);
        assert_eq!((gone, names.there(), names.removed()), (vec!["t1".into(), "t2".into()], 2, 2));
    }

    #[test]
    fn only_files_by_time_have_names_by_time() {
        let by_size = Rotation { packets: Some(1), files: Some(2), ..Rotation::default() };
        let (all, gone, _) = named("t%s.pcap", by_size, &[1, 2, 3]);
        assert_eq!(all, ["t%s-00001.pcap", "t%s-00002.pcap", "t%s-00003.pcap"]);
        assert_eq!(gone, ["t%s-00001.pcap"]);
        let (all, ..) = named("t%s.pcap", Rotation::default(), &[1]);
        assert_eq!(all, ["t%s.pcap"]);
        let (all, ..) = named("t.pcap", timed(None), &[1, 2]);
        assert_eq!(all, ["t-00001.pcap", "t-00002.pcap"]);
    }

    #[test]
    fn a_file_with_which_something_is_to_be_done_is_not_overwritten() {
        let names = Names::begin(Path::new("t%S"), timed(None), at(MINUTE)).unwrap();
        let next = names.next(at(MINUTE + 20), |path| path == Path::new("t20")).unwrap();
        assert_eq!(next.path, Path::new("t20-00002"));
    }
}
