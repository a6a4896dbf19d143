//! Whatever clients say by HTTP, LPR and raw, in pieces of any size, a spool
//! answers, comes to an end with them, and neither breaks nor counts wrongly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_spool::store::{Durability, Error, Settings};
use windlass_spool::{
    CommandSettings, Device, Event, PortProtocol, PrinterSettings, Rules, Spooler, SpoolerSettings,
    Stream, serve_over,
};

#[path = "../../crates/windlass-spool/tests/support/said.rs"]
mod said;
#[path = "../../crates/windlass-spool/tests/support/stopped.rs"]
mod stopped;
use said::ScriptedClient;
use stopped::stopped;

fuzz_target!(|bytes: &[u8]| {
    let spooler = stopped().expect("there is memory");
    let mut rest = bytes;
    // Each client's protocol, the size of its pieces and how much it says.
    while let Some(([kind, piece, high, low], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let protocol = match kind % 5 {
            0..2 => PortProtocol::Ipp,
            2..4 => PortProtocol::Lpr,
            _ => PortProtocol::Raw(0),
        };
        let (said, behind) = after.split_at(length);
        let (client, told) = ScriptedClient::new(said, usize::from(*piece) * 16 + 1);
        serve_over(Box::new(client), protocol, &spooler);
        let told = told.lock().expect("nobody panicked").len();
        assert!(told <= 8 << 20, "{told} bytes");
        spooler.look(|table| {
            let live = table.printers().iter().map(|one| one.live.len()).sum::<usize>();
            assert_eq!(table.active(), live, "a job is on its way in for ever");
        });
        rest = behind;
    }
});
