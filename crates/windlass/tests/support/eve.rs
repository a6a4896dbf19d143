//! A private ippeveprinter, with the bus and the announcer that Debian's wants.

use std::fs;

use super::bus::Bus;
use super::cups::answers;
use super::port::free_port;
use super::{has, skipped};

/// An ippeveprinter that runs.
pub struct Eve {
    _bus: Bus,
    pub port: u16,
    pub folder: tempfile::TempDir,
}

impl Eve {
    /// Starts one that keeps what it prints, unless it cannot run here: the test
    /// then says that it is skipped.
    pub fn start(test: &str) -> Option<Self> {
        Self::taking(test, "application/pdf,application/octet-stream")
    }

    /// Starts one that takes these formats.
    pub fn taking(test: &str, formats: &str) -> Option<Self> {
        if !has("ippeveprinter", test) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // Debian's does not start without one that it can announce itself to.
        let mut bus = Bus::start(test, root, "lo", |_| {})?;
        fs::create_dir(root.join("spool")).unwrap();
        let port = free_port();
        let number = port.to_string();
        let eve =
            ["-p", &number, "-n", "localhost", "-d", "spool", "-k", "-r", "off", "-c", "/bin/true"];
        let eve = [&eve[..], &["-f", formats, "test"]].concat();
        bus.run(root, "ippeveprinter", &eve, |_| {});
        let eve = Self { _bus: bus, port, folder };
        if !answers(port) {
            skipped(test, "ippeveprinter does not start here");
            return None;
        }
        Some(eve)
    }

    /// The documents that it keeps, without what its command made of them: nothing.
    pub fn kept(&self) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.folder.path().join("spool")).unwrap();
        let files = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default());
        files.filter(|file| !file.is_empty()).collect()
    }
}
