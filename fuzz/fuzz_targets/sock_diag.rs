//! Any bytes are read as the kernel's messages about sockets, without panic and to an end, and two
//! such answers make rows whose shares are shares. The first byte of the input says where the
//! first answer ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_base::Span;
use windlass_host::connections::table::{Snapshot, Table};
use windlass_sys::sock_diag::{Socket, each};

/// The least that a message of a socket has: its header, and what stands before the attributes.
const LEAST: usize = 16 + 72;

fn sockets(answer: &[u8]) -> Vec<Socket> {
    let mut sockets = Vec::new();
    // An answer that says that it was refused is one.
    let _ = each(answer, &mut |socket| sockets.push(socket));
    assert!(sockets.len() <= answer.len() / LEAST);
    sockets
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, answers)) = input.split_first() else { return };
    let (one, two) = answers.split_at(answers.len() * usize::from(*cut) / 256);
    let (one, two) = (sockets(one), sockets(two));
    let mut table = Table::new(Span::from_millis(10_000));
    let look = |at: i64, sockets: &[Socket], gone: &[Socket]| Snapshot {
        at: Span::from_millis(at),
        is_whole: true,
        sockets: sockets.to_vec(),
        gone: gone.iter().map(|socket| (Span::from_millis(at), *socket)).collect(),
        ..Snapshot::default()
    };
    for look in [look(0, &one, &[]), look(1_000, &two, &[]), look(1_700, &[], &two)] {
        for connection in table.look(&look, true).connections {
            let sum: f64 = connection.shares.values().sum();
            assert!(connection.shares.is_empty() || (sum - 1.0).abs() < 1e-6, "{connection:?}");
            assert!(connection.now.is_none_or(|now| (0.0..=1.0).contains(&now.share)));
            assert!(connection.seconds >= Span::ZERO);
        }
    }
});
