//! Facts about the path in an opening.

use windlass_base::Cause;

use crate::support::is_mostly;
use crate::support::script::Timeline;

/// A window of four segments over 40 ms; the SYN-ACK of the first SYN was lost, and its second one
/// comes 20 ms behind the third SYN.
fn opened_again(echo: u32) -> Timeline {
    Timeline::new().t(&format!(
        "0 > S 0 win 64240 mss 1460 ts 100 0
         0.5 > S 0 win 64240 mss 1460 ts 600 0
         1.0 > S 0 win 64240 mss 1460 ts 1100 0
         1.020 < S. 0 ack 1 win 5840 mss 1460 ts 7000 {echo}
         1.0201 > . 1 ack 1 win 64240 ts 1120 7000"
    ))
}

#[test]
fn an_answer_to_another_syn_measures_no_path() {
    let flight = "1.0202 > . 1:1449 ts 1120 7000
        1.0203 > . 1449:2897 ts 1120 7000
        1.0204 > . 2897:4345 ts 1120 7000
        1.0205 > P. 4345:5793 ts 1120 7000
        1.0602 < . 1 ack 2897 win 5792 ts 7040 1120
        1.0604 < . 1 ack 5793 ts 7040 1120
";
    let report = |echo| opened_again(echo).rounds(20, 0.0403, 5_792, flight).report();
    is_mostly(&report(100), Cause::WindowPathRtt, 0.9);
    let rtt = |echo| report(echo).rtt_seconds.map(|rtt| rtt.min.as_seconds());
    assert!(rtt(100).is_some_and(|rtt| rtt > 0.039), "{:?}", rtt(100));
    // If the SYN-ACK answers the last SYN, the handshake measures the path.
    assert!(rtt(1100).is_some_and(|rtt| rtt < 0.021), "{:?}", rtt(1100));
}
