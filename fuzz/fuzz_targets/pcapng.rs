//! A pcapng file: a sound section header of either byte order, then anything.
#![no_main]

use windlass_base::Timestamp;
use windlass_wire::write::{PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let mut file = Vec::new();
    let mut writer = PcapngWriter::begin(&mut file, order, &Section::default());
    if choice & 2 != 0 {
        let interface = writer.interface(&mut file, LinkType::ETHERNET, 0, "");
        writer.packet(&mut file, interface, Timestamp::from_nanos(1), 4, b"data", &["note"]);
    }
    file.extend_from_slice(rest);
    windlass_fuzz::check(&file);
});
