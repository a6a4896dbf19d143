//! Whatever datagrams come to a receiver of a test over UDP, in whatever order: each is counted
//! once, or not at all, and no more numbers came than were sent.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass_drive::control::{PREAMBLE, Preamble};
use windlass_drive::udp::arrivals::Arrivals;
use windlass_wire::iperf2::datagrams::{Report, first};
use windlass_wire::numbered::DatagramFormat;

fuzz_target!(|bytes: &[u8]| {
    let formats = [
        DatagramFormat::Windlass { tag: 0 },
        DatagramFormat::Iperf3 { wide: false },
        DatagramFormat::Iperf3 { wide: true },
        DatagramFormat::Iperf { wide: false },
        DatagramFormat::Iperf { wide: true },
    ];
    for format in formats {
        let mut arrivals = Arrivals::new(format.wraps_at());
        // Datagrams of 24 bytes, and one that may be shorter.
        for (place, datagram) in bytes.chunks(24).enumerate() {
            if let Some(stamp) = format.read(datagram) {
                arrivals.take(&stamp, Duration::from_micros(place as u64), datagram.len());
            }
            let counts = arrivals.counts();
            assert!(counts.distinct <= counts.highest);
            assert!(counts.distinct + counts.duplicates <= place as u64 + 1);
        }
        let _ = (arrivals.jitter(), arrivals.mean_jitter(), arrivals.delay_variation());
        let _ = arrivals.lasted();
    }
    // What iperf 2 says at the beginning of a flow and at its end.
    if let Some(first) = first(bytes) {
        assert!(first.header.len() <= bytes.len());
    }
    let _ = Report::read(bytes);
    // The first datagram of a flow.
    if let Some(first) = bytes.first_chunk::<PREAMBLE>() {
        if let Ok(preamble) = Preamble::read(first) {
            assert_eq!(Preamble::read(&preamble.bytes()), Ok(preamble));
        }
    }
});
