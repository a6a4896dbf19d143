//! The fuzz targets of `fuzz/`, each on some hundred inputs: that they build, and that nothing
//! fails at once. libFuzzer, which goes on from what it has found, is `cargo +nightly fuzz run`.

// The targets are programs, whose code follows no lints of libraries.
#![allow(missing_docs, unreachable_pub, unused_attributes, unused_imports)]
#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used)]

// What the targets take from elsewhere is here.
extern crate self as libfuzzer_sys;
extern crate self as windlass_fuzz;

#[path = "../../../../fuzz/src/lib.rs"]
mod shared;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
pub use shared::{check, packets};
use toml::Table;

/// Stands in libFuzzer's place.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        #[test]
        fn some_inputs() {
            let mut inputs = 0;
            $crate::each_input(|bytes| {
                let bytes = arbitrary::Unstructured::new(bytes);
                if let Ok($input) = <$kind as arbitrary::Arbitrary>::arbitrary_take_rest(bytes) {
                    inputs += 1;
                    $body
                }
            });
            assert!(inputs > 100, "{inputs} of 200 are inputs");
        }
    };
}

/// Bytes at random, and a capture of which some were changed.
pub fn each_input(mut target: impl FnMut(&[u8])) {
    let mut random = Pcg64Mcg::seed_from_u64(9293);
    for _ in 0..100 {
        let mut bytes = vec![0; (random.next_u32() % 2_048) as usize];
        random.fill_bytes(&mut bytes);
        target(&bytes);
    }
    let file = windlass_testkit::repository("tests/corpus/receiver-window-ack-latency.snd.pcap.gz");
    let mut capture = Vec::new();
    GzDecoder::new(fs::File::open(file).unwrap()).read_to_end(&mut capture).unwrap();
    for _ in 0..100 {
        let mut bytes = capture[..(random.next_u32() % 8_192) as usize].to_vec();
        for _ in 0..random.next_u32() % 8 {
            let at = random.next_u32() as usize % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next_u32() as u8;
            }
        }
        target(&bytes);
    }
}

#[path = "../../../../fuzz/fuzz_targets"]
mod targets {
    #[path = "analyzer.rs"]
    mod analyzer;
    #[path = "archives.rs"]
    mod archives;
    #[path = "clients.rs"]
    mod clients;
    #[path = "control.rs"]
    mod control;
    #[path = "decode.rs"]
    mod decode;
    #[path = "device.rs"]
    mod device;
    #[path = "filter.rs"]
    mod filter;
    #[path = "foreign.rs"]
    mod foreign;
    #[path = "host.rs"]
    mod host;
    #[path = "http.rs"]
    mod http;
    #[path = "incoming.rs"]
    mod incoming;
    #[path = "iperf3.rs"]
    mod iperf3;
    #[path = "ipp.rs"]
    mod ipp;
    #[path = "lpr.rs"]
    mod lpr;
    #[path = "numbered.rs"]
    mod numbered;
    #[path = "pages.rs"]
    mod pages;
    #[path = "pcap.rs"]
    mod pcap;
    #[path = "pcapng.rs"]
    mod pcapng;
    #[path = "printer.rs"]
    mod printer;
    #[path = "respond.rs"]
    mod respond;
    #[path = "ring.rs"]
    mod ring;
    #[path = "segments.rs"]
    mod segments;
    #[path = "snoop.rs"]
    mod snoop;
    #[path = "sock_diag.rs"]
    mod sock_diag;
    #[path = "spool_journal.rs"]
    mod spool_journal;
    #[path = "spool_salvage.rs"]
    mod spool_salvage;
    #[path = "taps.rs"]
    mod taps;
    #[path = "text.rs"]
    mod text;
    #[path = "tunnels.rs"]
    mod tunnels;
    #[path = "wlan.rs"]
    mod wlan;
}

#[test]
fn every_target_is_here_and_known_to_cargo_fuzz() {
    let files = fs::read_dir(windlass_testkit::repository("fuzz/fuzz_targets")).unwrap();
    let files: BTreeSet<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(files.len() > 20, "{files:?}");
    let here = include_str!("main.rs").split("path = \"").filter_map(|rest| rest.split('"').next());
    let here: BTreeSet<_> = here.filter(|path| !path.contains('/')).map(str::to_owned).collect();
    assert_eq!(here, files);
    let manifest = fs::read_to_string(windlass_testkit::repository("fuzz/Cargo.toml")).unwrap();
    let manifest = manifest.parse::<Table>().unwrap();
    let known: BTreeSet<_> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| {
            let path = target["path"].as_str().unwrap();
            path.strip_prefix("fuzz_targets/").unwrap().to_owned()
        })
        .collect();
    assert_eq!(known, files);
}
