//! Data sent to a device, with its packets written as they pass the sender.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io, thread};

use windlass_base::{Failure, Timestamp};
use windlass_capture::live::Writer;
use windlass_wire::filter::{self, Program};

use super::emulator::{Observer, PacketEvent};
use super::sending::{Job, send};

/// Maximum number of packets that wait to be written: 100 Mbit/s for a second. A slow reader must
/// not delay the device.
const WAITING: usize = 16_384;

/// A packet, with the host's time at which it passed.
type TimedPacket = (Timestamp, Vec<u8>);

/// Sends as `job` says, until the device has all data, `stop` is set, or writing fails. Writes the
/// packets that pass the sender and the filter. Returns the error that ended the writing early.
///
/// # Errors
/// Fails if the system allows no private network, or if a system call fails.
pub fn send_into(
    job: &Job,
    filter: Option<Program>,
    writer: Writer,
    stop: &Arc<AtomicBool>,
) -> Result<Option<io::Error>, Failure> {
    let (packets, receiver) = sync_channel(WAITING);
    let missed = Arc::new(AtomicU64::new(0));
    let observer = PacketForwarder { packets, filter, missed: Arc::clone(&missed) };
    let writing = thread::spawn({
        let (missed, stop) = (Arc::clone(&missed), Arc::clone(stop));
        move || {
            let failed = pour(writer, &receiver, &missed);
            // Without a reader, there is no reason to send.
            stop.store(true, Ordering::Relaxed);
            failed
        }
    });
    // The observer and its channel end here.
    let sent = send(job, observer, stop).map(drop);
    let written = writing.join();
    sent?;
    written.map_err(|_| super::broken("the thread that writes broke off"))
}

/// The observer at the sender: passes packets on that the filter accepts.
struct PacketForwarder {
    packets: SyncSender<TimedPacket>,
    filter: Option<Program>,
    /// Packets dropped for a full channel.
    missed: Arc<AtomicU64>,
}

impl Observer for PacketForwarder {
    fn sees(&mut self, event: &PacketEvent<'_>) {
        if self.filter.as_ref().is_some_and(|filter| {
            filter.keeps(event.packet, &filter::PacketMetadata::default()) == 0
        }) {
            return;
        }
        if self.packets.try_send((event.time, event.packet.to_vec())).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes packets as they arrive. Returns the error that ended it early.
fn pour(
    mut writer: Writer,
    packets: &Receiver<TimedPacket>,
    missed: &AtomicU64,
) -> Option<io::Error> {
    let mut told = 0;
    while let Ok(first) = packets.recv() {
        // Packets that arrived since then are written with it.
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
    use windlass_capture::live::{
        CaptureOrigin, DescribedInterface, FileFormat, FileWork, Rotation, WHOLE, WriteSettings,
    };
    use windlass_sim::Direction;
    use windlass_wire::{Capture, LinkType, Packet, Segment};

    use super::*;

    #[derive(Default)]
    struct Lengths(Vec<usize>);

    impl windlass_wire::Observer for Lengths {
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
        let afterwards = FileWork::default();
        let writing =
            WriteSettings { path: path.clone(), format, rotation, afterwards, pipe: None };
        let about = CaptureOrigin {
            interfaces: vec![DescribedInterface {
                name: crate::INTERFACE.to_owned(),
                link: LinkType::RAW,
                snap_length: WHOLE,
            }],
            filter: String::new(),
            hardware: String::new(),
            system: String::new(),
        };
        let writer = Writer::begin_in(&writing, about).unwrap();
        let missed = Arc::new(AtomicU64::new(0));
        let (sender, receiver) = sync_channel(2);
        let mut observer =
            PacketForwarder { packets: sender, filter: None, missed: Arc::clone(&missed) };
        for length in [40, 41, 42, 43, 44] {
            observer.sees(&PacketEvent {
                now: Timestamp::ZERO,
                time: Timestamp::ZERO,
                direction: Direction::Forward,
                packet: &vec![0x45; length],
                incoming: None,
            });
        }
        assert_eq!(missed.load(Ordering::Relaxed), 3, "nobody waits for the reader");
        drop(observer);
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
