//! What is decided before a capture is opened.

use super::*;

fn plan(snap_length: u32, buffer: Option<u64>) -> Plan {
    Plan {
        interface: "eth0".into(),
        namespace: None,
        reader: ReaderKind::Ring,
        buffer: buffer.map(Bytes::new),
        block: Bytes::new(1 << 20),
        snap_length,
        direction: None,
        promiscuous: false,
        threads: NonZeroU16::MIN,
        filter: Wanted::default(),
        writing: None,
        explain: None,
        lines: false,
        count: None,
        duration: None,
    }
}

#[test]
fn a_ring_leaves_memory_to_others() {
    const MIB: u64 = 1 << 20;
    let of = |snap_length, asked, free: u64| {
        buffer(&plan(snap_length, asked), Some(Bytes::new(free * MIB)))
            .map(|bytes| bytes.get() / MIB)
    };
    assert_eq!(of(96, None, 8_000).unwrap(), 64);
    assert_eq!(of(WHOLE, None, 8_000).unwrap(), 256);
    assert_eq!(of(WHOLE, None, 400).unwrap(), 100, "a quarter");
    assert_eq!(of(WHOLE, None, 1).unwrap(), 4, "the least");
    assert_eq!(of(96, Some(500 * MIB), 1_000).unwrap(), 500);
    let wrong = of(96, Some(501 * MIB), 1_000).unwrap_err().to_string();
    assert!(wrong.contains("more than half"), "{wrong}");
}
