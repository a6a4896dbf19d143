//! `windlass: emulated device`: a transfer to a device, packet by packet as it
//! passes the sender.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_base::{Failure, Span, Timestamp};
use windlass_capture::live::{About, WHOLE, Writer, filter, machine};
use windlass_sim::Direction;
use windlass_sys::capture::Framing;
use windlass_wire::LinkType;
use windlass_wire::filter::{About as Known, Program};
use windlass_wire::incoming::Incoming;

use super::pipe::Target;
use super::sentences::{BYTES, PROFILE, RATE, RTT};
use super::words::Words;
use crate::ends::INTERFACE;
use crate::lab::Profile;
use crate::lab::real::emulator::Tap;
use crate::lab::real::{self, Job, MTU};
use crate::values;

/// Packets that may wait for Wireshark: 100 Mbit/s for a second. A reader that
/// falls behind must not hold the device up.
const WAITING: usize = 16_384;

/// A packet, and the host's time at which it passed.
type Passed = (Timestamp, Vec<u8>);

/// Sends to a device until it has all, or it is to end.
pub(super) fn capture(words: &Words, fifo: &Path) -> Result<(), Failure> {
    let (job, program) = wanted(words).inspect_err(|_| Target::let_go(fifo))?;
    let Some(target) = Target::open(fifo)? else { return Ok(()) };
    let about = About {
        interface: INTERFACE.to_owned(),
        link: LinkType::RAW,
        snap_length: WHOLE,
        filter: words.filter.clone().unwrap_or_default(),
        hardware: machine::hardware(),
        system: machine::system(),
    };
    let writer = Writer::begin_in(&target.writing(), about)?;
    target.guard();
    let (sender, receiver) = sync_channel(WAITING);
    let missed = Arc::new(AtomicU64::new(0));
    let tap = Passing::new(sender, program, Arc::clone(&missed));
    let writing = thread::spawn({
        let (missed, stop) = (Arc::clone(&missed), Arc::clone(&target.stop));
        move || {
            let failed = pour(writer, &receiver, &missed);
            // Nothing is sent that nobody sees.
            stop.store(true, Ordering::Relaxed);
            failed
        }
    });
    // The tap, and with it the channel, ends here.
    let sent = real::send(&job, tap, &target.stop).map(drop);
    let written = writing.join();
    sent?;
    match written {
        Ok(None) => Ok(()),
        Ok(Some(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Ok(Some(error)) => Err(Failure::new("cannot go on writing to Wireshark", error)),
        Err(_) => Err(Failure::new("cannot go on writing to Wireshark", "a thread broke off")),
    }
}

/// What is to be sent, and which packets are wanted.
fn wanted(words: &Words) -> Result<(Job, Option<Program>), Failure> {
    let program = words.filter.as_deref().map(|text| filter::compiled(text, Framing::Ip, WHOLE));
    Ok((job(words)?, program.transpose()?))
}

fn job(words: &Words) -> Result<Job, Failure> {
    let name = words.profile.as_deref().unwrap_or(PROFILE);
    let profile = Profile::named(name)?;
    let wrong = |wrong| Failure::usage(format!("cannot send to the device {name}"), wrong);
    let bytes = values::bytes(words.bytes.as_deref().unwrap_or(BYTES)).map_err(wrong)?;
    let rate = values::rate(words.rate.as_deref().unwrap_or(RATE)).map_err(wrong)?;
    let rtt = values::span(words.rtt.as_deref().unwrap_or(RTT)).map_err(wrong)?;
    Ok(Job { profile, bytes, link: real::line(rate, rtt, MTU), seed: 1 })
}

/// The tap at the sender: hands on what the filter lets through.
struct Passing {
    packets: SyncSender<Passed>,
    filter: Option<Program>,
    /// Packets that found no room.
    missed: Arc<AtomicU64>,
    /// What the host's clock said at the time 0 of the emulator.
    epoch: Span,
}

impl Passing {
    fn new(packets: SyncSender<Passed>, filter: Option<Program>, missed: Arc<AtomicU64>) -> Self {
        // A clock before 1970 is as good as none.
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Span::from_duration(epoch);
        Self { packets, filter, missed, epoch }
    }
}

impl Tap for Passing {
    fn sees(&mut self, now: Timestamp, _: Direction, packet: &[u8], _: Option<&Incoming<'_>>) {
        if self.filter.as_ref().is_some_and(|filter| filter.keeps(packet, &Known::default()) == 0) {
            return;
        }
        if self.packets.try_send((now + self.epoch, packet.to_vec())).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes packets as they come; gives what ended it before they ended.
fn pour(
    mut writer: Writer,
    packets: &Receiver<Passed>,
    missed: &AtomicU64,
) -> Option<std::io::Error> {
    let mut told = 0;
    while let Ok(first) = packets.recv() {
        // Those that came meanwhile go with it.
        for (time, packet) in std::iter::once(first).chain(packets.try_iter().take(WAITING)) {
            let drops = missed.load(Ordering::Relaxed);
            if drops > told {
                let comment = format!("{} packets found no room before this.", drops - told);
                writer.drops(time, drops, &comment);
                told = drops;
            }
            // No IP packet has more than 65,535 bytes.
            let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
            writer.packet(time, length, &packet, None, drops);
        }
        writer.flush();
        if writer.has_failed() {
            break;
        }
    }
    writer.finish(missed.load(Ordering::Relaxed), "").failed
}

#[cfg(test)]
mod tests {
    use windlass_capture::live::{FileFormat, Rotation, Writing};
    use windlass_wire::{Capture, Observer, Packet, Segment};

    use super::*;

    #[derive(Default)]
    struct Lengths(Vec<usize>);

    impl Observer for Lengths {
        fn packet(&mut self, packet: &Packet<'_>) {
            self.0.push(packet.data.len());
        }
        fn segment(&mut self, _: &Segment) {}
    }

    #[test]
    fn a_reader_that_falls_behind_is_told_what_it_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.pcapng");
        let (format, rotation) = (FileFormat::Pcapng, Rotation::default());
        let writing = Writing { path: path.clone(), format, rotation, pipe: None };
        let about = About {
            interface: INTERFACE.to_owned(),
            link: LinkType::RAW,
            snap_length: WHOLE,
            filter: String::new(),
            hardware: String::new(),
            system: String::new(),
        };
        let writer = Writer::begin_in(&writing, about).unwrap();
        let missed = Arc::new(AtomicU64::new(0));
        let (sender, receiver) = sync_channel(2);
        let mut tap = Passing::new(sender, None, Arc::clone(&missed));
        for length in [40, 41, 42, 43, 44] {
            tap.sees(Timestamp::ZERO, Direction::Forward, &vec![0x45; length], None);
        }
        assert_eq!(missed.load(Ordering::Relaxed), 3, "nobody waits for the reader");
        drop(tap);
        assert!(pour(writer, &receiver, &missed).is_none());
        let (mut capture, mut lengths) = (Capture::new(), Lengths::default());
        let bytes = std::fs::read(path).unwrap();
        assert!(capture.read(&bytes, true, &mut lengths).finished);
        assert_eq!(lengths.0, [40, 41]);
        assert_eq!((capture.info().drops, capture.info().received), (Some(3), Some(5)));
        let comment = b"3 packets found no room before this.";
        assert!(bytes.windows(comment.len()).any(|window| window == comment));
    }
}
