//! A private ippeveprinter, with the bus and the announcer that Debian's wants.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cups::{answers, end, free_port};
use super::{has, skipped};

/// Waits until something has happened, or so long that it will not.
fn until(happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() && began.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(10));
    }
}

/// An ippeveprinter that runs.
pub struct Eve {
    children: Vec<Child>,
    pub port: u16,
    pub folder: tempfile::TempDir,
}

impl Eve {
    /// Starts one that keeps what it prints, unless it cannot run here: the test
    /// then says that it is skipped.
    pub fn start(test: &str) -> Option<Self> {
        for tool in ["ippeveprinter", "dbus-daemon", "avahi-daemon"] {
            if !has(tool, test) {
                return None;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let bus = format!("unix:path={}/bus.sock", root.display());
        fs::write(
            root.join("bus.conf"),
            format!(
                "<busconfig><type>custom</type><listen>{bus}</listen><auth>EXTERNAL</auth>\
                 <policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/>\
                 <allow send_type=\"method_call\"/>\
                 <allow send_destination=\"*\" eavesdrop=\"false\"/>\
                 <allow receive_sender=\"*\" eavesdrop=\"false\"/></policy></busconfig>"
            ),
        )
        .unwrap();
        // Debian's does not start without one that it can announce itself to.
        fs::write(
            root.join("avahi.conf"),
            "[server]\nhost-name=windlass-test\nuse-ipv6=no\nallow-interfaces=lo\n\
             allow-point-to-point=yes\nenable-dbus=yes\n[publish]\npublish-addresses=yes\n\
             [wide-area]\nenable-wide-area=no\n",
        )
        .unwrap();
        fs::create_dir(root.join("spool")).unwrap();
        let start = |program: &str, args: &[&str]| {
            let log = File::create(root.join(format!("{program}.log"))).unwrap();
            Command::new(program)
                .args(args)
                .current_dir(root)
                .env("DBUS_SYSTEM_BUS_ADDRESS", &bus)
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap()
        };
        let port = free_port();
        let mut children =
            vec![start("dbus-daemon", &["--config-file=bus.conf", "--nofork", "--nopidfile"])];
        until(|| root.join("bus.sock").exists());
        let avahi = ["-f", "avahi.conf", "--no-drop-root", "--no-chroot", "--no-rlimits"];
        children.push(start("avahi-daemon", &avahi));
        let log = root.join("avahi-daemon.log");
        until(|| fs::read_to_string(&log).is_ok_and(|said| said.contains("startup complete")));
        let number = port.to_string();
        let formats = "application/pdf,application/octet-stream";
        let eve = ["-p", &number, "-n", "localhost", "-d", "spool", "-k", "-r", "off"];
        let eve = [&eve[..], &["-f", formats, "test"]].concat();
        children.push(start("ippeveprinter", &eve));
        let eve = Self { children, port, folder };
        if !answers(port) {
            skipped(test, "ippeveprinter does not start here");
            return None;
        }
        Some(eve)
    }

    /// The documents that it keeps.
    pub fn kept(&self) -> Vec<Vec<u8>> {
        let entries = fs::read_dir(self.folder.path().join("spool")).unwrap();
        entries.map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default()).collect()
    }
}

impl Drop for Eve {
    fn drop(&mut self) {
        self.children.iter_mut().rev().for_each(end);
    }
}
