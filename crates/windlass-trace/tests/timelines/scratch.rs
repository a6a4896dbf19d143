use crate::support::transfer::Transfer;
use crate::support::*;
#[test]
fn look() {
    let far = Transfer { bytes: 1_000_000, rtt: 60_000, window: 1 << 20, scale: Some(7), ack_every: 1, ..Transfer::default() };
    for (name, plan) in [
        ("clamp", Transfer { cwnd: (10, 10), ..far.clone() }),
        ("slow", Transfer { cwnd: (2, 1 << 20), ..far.clone() }),
        ("trickle", Transfer { bytes: 200_000, rtt: 100_000, ack_every: 1, writes: Some((1_000, 10_000)), ..Transfer::default() }),
        ("pipe100", Transfer { bytes: 2_000_000, rtt: 10_000, rate: Some(1_000_000), vantage: 100, timestamps: false, ack_every: 1, ..Transfer::default() }),
    ] {
        let (f, _, _) = analyze(&plan.play());
        println!("== {name} {}", windlass_trace::classify::dump(&f[0]));
        for l in windlass_trace::classify::dump_long(&f[0]).lines().take(12) { println!("{l}"); }
    }
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let (f, _, _) = analyze(&all[100..]);
    println!("== mid {}", windlass_trace::classify::dump(&f[0]));
    for l in windlass_trace::classify::dump_long(&f[0]).lines().take(12) { println!("{l}"); }
}
