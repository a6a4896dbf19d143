//! A private ippeveprinter, with the message bus and Avahi that Debian's build requires.

use std::fs;

use super::bus::Bus;
use super::cups::answers;
use super::port::free_port;
use super::{has, skipped};

/// A running ippeveprinter.
pub struct Eve {
    _bus: Bus,
    /// Port of the printer.
    pub port: u16,
    /// Folder of the printer's files, removed when the printer is dropped.
    pub folder: tempfile::TempDir,
}

impl Eve {
    /// Starts a printer that accepts PDF and octet streams, and keeps its documents.
    ///
    /// Returns `None` and reports the test as skipped if the printer cannot run here.
    pub fn start(test: &str) -> Option<Self> {
        Self::taking(test, "application/pdf,application/octet-stream")
    }

    /// Starts a printer that accepts these formats, and keeps its documents.
    ///
    /// Returns `None` and reports the test as skipped if the printer cannot run here.
    pub fn taking(test: &str, formats: &str) -> Option<Self> {
        if !has("ippeveprinter", test) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // Debian's ippeveprinter does not start without an Avahi that announces the printer.
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

    /// Returns the documents that the printer keeps. Empty files are output of the printer's
    /// command, and are left out.
    pub fn kept(&self) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.folder.path().join("spool")).unwrap();
        let files = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default());
        files.filter(|file| !file.is_empty()).collect()
    }
}
