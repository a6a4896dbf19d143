//! A private message bus with Avahi. On Debian, Avahi finds and announces printers.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cups::end;
use super::{has, program};

/// Waits until `happened` returns true, but for at most 60 s.
fn until(happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() && began.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(10));
    }
}

/// A running message bus with Avahi.
pub struct Bus {
    children: Vec<Child>,
    /// Lock on the only Avahi of the host. The next test starts its Avahi after this lock is
    /// released.
    _turn: File,
    /// Address of the bus, for `DBUS_SYSTEM_BUS_ADDRESS`.
    pub address: String,
}

impl Bus {
    /// Starts a bus and an Avahi with their files in the folder `root`.
    ///
    /// Avahi announces on `interface`. `enter` changes each command before its start, for example
    /// to enter a network namespace. Returns `None` and reports the test as skipped if a program is
    /// missing.
    pub fn start(
        test: &str,
        root: &Path,
        interface: &str,
        enter: impl Fn(&mut Command),
    ) -> Option<Self> {
        if !has("dbus-daemon", test) || !has("avahi-daemon", test) {
            return None;
        }
        let turn = File::create(program().with_file_name("avahi.lock")).unwrap();
        turn.lock().unwrap();
        let address = format!("unix:path={}/bus.sock", root.display());
        fs::write(
            root.join("bus.conf"),
            format!(
                "<busconfig><type>custom</type><listen>{address}</listen><auth>EXTERNAL</auth>\
                 <policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/>\
                 <allow send_type=\"method_call\"/>\
                 <allow send_destination=\"*\" eavesdrop=\"false\"/>\
                 <allow receive_sender=\"*\" eavesdrop=\"false\"/></policy></busconfig>"
            ),
        )
        .unwrap();
        fs::write(
            root.join("avahi.conf"),
            format!(
                "[server]\nhost-name=windlass-test\nuse-ipv6=no\nallow-interfaces={interface}\n\
                 allow-point-to-point=yes\nenable-dbus=yes\n[publish]\npublish-addresses=yes\n\
                 [wide-area]\nenable-wide-area=no\n"
            ),
        )
        .unwrap();
        let mut bus = Self { children: Vec::new(), _turn: turn, address };
        bus.run(
            root,
            "dbus-daemon",
            &["--config-file=bus.conf", "--nofork", "--nopidfile"],
            &enter,
        );
        until(|| root.join("bus.sock").exists());
        let avahi = ["-f", "avahi.conf", "--no-drop-root", "--no-chroot", "--no-rlimits"];
        bus.run(root, "avahi-daemon", &avahi, &enter);
        let log = root.join("avahi-daemon.log");
        until(|| fs::read_to_string(&log).is_ok_and(|said| said.contains("startup complete")));
        Some(bus)
    }

    /// Runs a program on the bus until the bus is dropped. The program's output goes to
    /// `<program>.log` in the folder `root`.
    pub fn run(&mut self, root: &Path, program: &str, args: &[&str], enter: impl Fn(&mut Command)) {
        let log = File::create(root.join(format!("{program}.log"))).unwrap();
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(root)
            .env("DBUS_SYSTEM_BUS_ADDRESS", &self.address)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        enter(&mut command);
        self.children.push(command.spawn().unwrap());
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.children.iter_mut().rev().for_each(end);
    }
}
