//! Any file through the whole core: reader, decoder, analyser, report.
#![no_main]

use windlass_trace::{Analyzer, Keep, Note};
use windlass_wire::{Capture, Decoded, Decoder, Observer, Packet, Segment};

struct Explain {
    decoder: Decoder,
    analyzer: Analyzer,
    notes: Vec<(u64, Note)>,
}

impl Observer for Explain {
    fn packet(&mut self, packet: &Packet<'_>) {
        if let Decoded::Segment(segment) = self.decoder.decode(packet) {
            self.segment(&segment);
        }
    }

    fn segment(&mut self, segment: &Segment) {
        self.analyzer.segment(segment, &mut self.notes);
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut capture = Capture::new();
    let mut sink =
        Explain { decoder: Decoder::new(), analyzer: Analyzer::new(Keep::All), notes: Vec::new() };
    let mut start = 0;
    loop {
        let progress = capture.read(&data[start..], true, &mut sink);
        start += progress.consumed;
        if progress.finished {
            break;
        }
    }
    let (connections, _) = sink.analyzer.finish();
    for connection in connections {
        let report = connection.report(|end| end.to_string(), capture.info().drops);
        let sum: f64 = report.shares.values().sum();
        assert!((sum - 1.0).abs() < 1e-6, "shares sum to {sum}");
        assert!(report.bytes_per_second.bytes_per_second().is_finite());
    }
});
