//! What the fuzz targets share: a sink that counts, and the promise that a
//! capture reads the same however its bytes arrive.

pub mod packets;

use windlass_wire::{Capture, CaptureInfo, Observer, Packet, Segment};

/// Counts packets and adds up what they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    packets: u64,
    sum: u64,
}

impl Observer for Count {
    fn packet(&mut self, packet: &Packet<'_>) {
        assert!(packet.number > self.packets);
        assert!(packet.data.len() <= 262_144);
        self.packets += 1;
        let mix = |sum: u64, part: u64| sum.wrapping_mul(31).wrapping_add(part);
        self.sum = mix(self.sum, packet.number);
        self.sum = mix(self.sum, packet.time.as_nanos() as u64);
        self.sum = packet.data.iter().fold(self.sum, |sum, byte| mix(sum, u64::from(*byte)));
    }

    fn segment(&mut self, _: &Segment) {
        self.packets += 1;
    }
}

/// Reads `file` at once and in pieces; both must give the same.
pub fn check(file: &[u8]) {
    assert_eq!(read(file, file.len().max(1)), read(file, 13));
}

fn read(file: &[u8], step: usize) -> (Count, CaptureInfo) {
    let (mut capture, mut count) = (Capture::new(), Count::default());
    let (mut start, mut end) = (0, 0);
    loop {
        end = file.len().min(end + step);
        let progress = capture.read(&file[start..end], end == file.len(), &mut count);
        start += progress.consumed;
        assert!(start <= end);
        if progress.finished {
            return (count, capture.info().clone());
        }
        assert!(end < file.len(), "not finished at the end");
        assert!(progress.wanted > end - start, "no use of what is there");
        assert!(progress.wanted <= 16 << 20, "asks for {}", progress.wanted);
    }
}
