//! `windlass capture` in namespaces that the tests make: what is sent on one
//! interface is counted at the other. And what `--compare` says of its own account.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod account;
mod compare;
mod explained;
mod files;
mod interfaces;
mod options;
mod rotated;
mod several;
mod tcpdump;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use windlass_sys::generator::{self, Frame, Generator, Load, LoadEnd};
use windlass_sys::namespace::Namespace;
use windlass_sys::process::{Process, Signal};
use windlass_testkit::{schema, skipped, windlass};
use windlass_wire::build::{Addresses, Carrier, Data};
use windlass_wire::{Capture, CaptureInfo, Observer, Packet, Segment};

/// Two namespaces with a wire between them: `left` sends, `right` is captured.
struct Wire {
    left: Namespace,
    right: Namespace,
}

/// Offset of the number in a frame.
const NUMBER_AT: usize = 42;

/// The bytes of a frame.
const FRAME: usize = 1_514;

impl Wire {
    /// Makes them; where that is not allowed, says that a test is skipped.
    fn make(test: &str) -> Option<Self> {
        let made = Namespace::new().and_then(|left| {
            let right = left.beside()?;
            left.add_veth("left", &right, "right")?;
            for (namespace, name) in [(&left, "left"), (&right, "right")] {
                // A system without IPv6 has no such setting, and sends nothing.
                let _ = namespace.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
                namespace.bring_up(name)?;
            }
            Ok(Self { left, right })
        });
        made.inspect_err(|refused| skipped(test, &refused.to_string())).ok()
    }

    /// Sends so many frames as fast as it goes; tells how many went.
    fn send(&self, packets: u64) -> u64 {
        self.send_frames(&Self::frame(), packets)
    }

    /// A frame that holds a datagram.
    fn frame() -> Vec<u8> {
        let mut bytes = Vec::new();
        let carrier = Carrier {
            frame: Some(windlass_wire::build::Frame {
                source: [2, 0, 0, 0, 0, 1],
                destination: [2, 0, 0, 0, 0, 2],
            }),
            addresses: Addresses::V4 {
                source: [192, 0, 2, 1].into(),
                destination: [192, 0, 2, 2].into(),
            },
            identification: 0,
            hop_limit: 64,
        };
        let data = Data::Zeros((FRAME - NUMBER_AT) as u32);
        windlass_wire::build::datagram(&mut bytes, &carrier, (4_000, 9), data).unwrap();
        bytes
    }

    fn send_frames(&self, bytes: &[u8], packets: u64) -> u64 {
        self.send_all(Frame { bytes, number_at: Some(NUMBER_AT) }, packets)
    }

    /// Sends frames as they are, without a number.
    fn send_plain(&self, bytes: &[u8], packets: u64) -> u64 {
        self.send_all(Frame { bytes, number_at: None }, packets)
    }

    fn send_all(&self, frame: Frame<'_>, packets: u64) -> u64 {
        let mut generator = Generator::open("left", Some(&self.left)).unwrap();
        let load = Load { frame, rate: None, until: LoadEnd::Packets(packets) };
        let sent = generator::run(&mut generator, &load, &AtomicBool::new(false));
        assert!(sent.failure.is_none(), "{:?}", sent.failure);
        sent.packets
    }

    /// Waits until a packet socket is bound in `right`: packets come to it from
    /// then on.
    fn wait_until_captured(&self) {
        let patience = Instant::now() + Duration::from_secs(60);
        let bound = |line: &str| {
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            words.get(4) != Some(&"0") && words.get(5) != Some(&"0")
        };
        loop {
            // The interface's number is in the fifth column, and in the sixth whether
            // it is up.
            let sockets = self.right.read(c"/proc/net/packet").unwrap();
            if sockets.lines().skip(1).any(bound) {
                return;
            }
            assert!(Instant::now() < patience, "nothing is captured: {sockets}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a capture in `right`, and waits until it has begun its file.
    fn capture(&self, arguments: &[&str], file: &Path) -> RunningCapture {
        let mut command = windlass();
        command.arg("capture").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.right.enter(&mut command);
        let mut child = command.spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while !fs::metadata(file).is_ok_and(|about| about.len() > 0) {
            if child.try_wait().unwrap().is_some() || Instant::now() > patience {
                let _ = child.kill();
                panic!("{:?}", child.wait_with_output());
            }
            thread::sleep(Duration::from_millis(5));
        }
        RunningCapture { child }
    }
}

/// A capture that runs.
struct RunningCapture {
    child: Child,
}

impl RunningCapture {
    fn signal(&self, signal: Signal) {
        Process::of_child(self.child.id()).unwrap().signal(signal);
    }

    /// Ends it, and gives its report.
    fn stop(self, signal: Signal) -> Value {
        self.signal(signal);
        self.report()
    }

    /// Waits until it ends, and gives its report.
    fn report(self) -> Value {
        let output = self.end();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        report_of(&output)
    }

    fn end(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

/// The report that a run printed. It keeps to its schema.
fn report_of(output: &Output) -> Value {
    let record = schema::checked("capture", &String::from_utf8_lossy(&output.stdout));
    let sum = count(&record, "written")
        + count(&record, "kernel_drops")
        + count(&record, "write_losses")
        + count(&record, "after_count");
    assert_eq!(sum, count(&record, "received"), "{record:#}");
    assert_eq!(record["unaccounted"], 0, "{record:#}");
    record
}

fn count(record: &Value, name: &str) -> u64 {
    record[name].as_u64().unwrap_or_else(|| panic!("no {name} in {record:#}"))
}

/// Contents of a file.
#[derive(Default)]
struct CaptureContents {
    packets: u64,
    /// The numbers of the frames.
    numbers: BTreeSet<u64>,
    /// Numbers that came before a lower one, and those that came again.
    disorder: u64,
    twice: u64,
    info: CaptureInfo,
}

impl Observer for CaptureContents {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        if let Some(number) = generator::number(packet.data, NUMBER_AT) {
            self.disorder += u64::from(self.numbers.last().is_some_and(|last| *last > number));
            self.twice += u64::from(!self.numbers.insert(number));
        }
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Reads a file, of which all is whole.
fn held(file: &Path) -> CaptureContents {
    held_in(&fs::read(file).unwrap())
}

fn held_in(bytes: &[u8]) -> CaptureContents {
    let (mut capture, mut held) = (Capture::new(), CaptureContents::default());
    let progress = capture.read(bytes, true, &mut held);
    assert!(progress.finished, "{:?}", capture.info());
    assert!(capture.info().damage.is_none(), "{:?}", capture.info());
    held.info = capture.info().clone();
    held
}
