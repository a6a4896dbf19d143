//! Any bytes are read as the kernel's accounts, without panic, and two of them
//! make figures that are shares where they should be. The first byte of the input
//! says where the first account ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_host::proc;
use windlass_host::rates::{CpuShares, DiskRates};

fuzz_target!(|input: &[u8]| {
    let Some((cut, text)) = input.split_first() else { return };
    let (one, two) = text.split_at(text.len() * usize::from(*cut) / 256);
    for text in [one, two] {
        let _ = (proc::memory(text), proc::vmstat(text), proc::load(text), proc::uptime(text));
        let _ = (proc::process(text), proc::status(text), proc::io(text));
        let scale = proc::scale(text);
        assert!(scale.ticks > 0 && scale.page > 0);
    }
    if let (Some(one), Some(two)) = (proc::stat(one), proc::stat(two)) {
        let shares = CpuShares::between(&one.all, &two.all);
        assert!((0.0..=1.0).contains(&shares.idle_share));
    }
    for (one, two) in proc::disks(one).iter().zip(&proc::disks(two)) {
        if let Some(rates) = DiskRates::between(one, two, 1.0) {
            assert!((0.0..=1.0).contains(&rates.utilisation) && rates.queue >= 0.0);
        }
    }
});
