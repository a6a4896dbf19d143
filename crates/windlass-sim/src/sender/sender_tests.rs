//! Packet timelines: `>` goes to the sender, `<` comes from it.

use super::*;
use crate::timeline;

/// Full segments of 1,000 bytes, no options but the MSS, ten segments at first.
const PLAIN: SenderSettings = SenderSettings {
    mss: 1_000,
    initial_window: Bytes::new(10_000),
    congestion: Congestion::Reno,
    sack: false,
    window_scale: None,
    receive_window: 8_000,
    ..SenderSettings::new(Bytes::new(1_000_000))
};

fn sender(settings: SenderSettings) -> Sender {
    Sender::new(settings, 3_692, 9_100, 1)
}

fn play(sender: &mut Sender, script: &str) {
    timeline::play(sender, Sender::handle, Sender::poll, Sender::next_time, script);
}

#[test]
fn a_small_transfer_opens_sends_and_closes() {
    let mut small = sender(SenderSettings { bytes: Bytes::new(2_500), ..PLAIN });
    play(
        &mut small,
        "0.000000 < S 0 win 8000 mss 1000
         0.001000 > S. 0 ack 1 win 5000 mss 1000
         0.001000 < . 1 ack 1 win 8000
         0.001000 < P. 1:1001 ack 1 win 8000
         0.001000 < P. 1001:2001 ack 1 win 8000
         0.001000 < FP. 2001:2501 ack 1 win 8000
         0.002000 > . 1 ack 2502 win 5000
         0.002100 > F. 1 ack 2502 win 5000
         0.002100 < . 2502 ack 2 win 8000",
    );
    let (at, ending) = small.ending().unwrap();
    assert_eq!((at.as_nanos(), ending), (2_100_000, Ending::Finished));
    assert_eq!(small.acknowledged(), Bytes::new(2_500));
    assert_eq!(small.delivered().unwrap().as_nanos(), 2_000_000);
}

#[test]
fn a_host_takes_its_time_to_respond_and_between_segments() {
    let mut slow = sender(SenderSettings {
        response: Span::from_micros(13),
        gap: Span::from_micros(7),
        ..PLAIN
    });
    play(
        &mut slow,
        "0.000000 < S 0 win 8000 mss 1000
         0.006540 > S. 0 ack 1 win 2000 mss 1000
         0.006553 < . 1 ack 1 win 8000
         0.006560 < P. 1:1001 ack 1 win 8000
         0.006567 < P. 1001:2001 ack 1 win 8000
         0.120000 > . 1 ack 2001 win 2000
         0.120013 < P. 2001:3001 ack 1 win 8000
         0.120020 < P. 3001:4001 ack 1 win 8000",
    );
    let truth = slow.truth(Timestamp::from_nanos(120_020_000));
    assert_eq!(truth.span(HoldCause::ReceiveWindow), Span::from_micros(113_433));
    assert_eq!(truth.span(HoldCause::Sending), Span::from_micros(47));
    assert_eq!(truth.span(HoldCause::Opening), Span::from_micros(6_540));
}

#[test]
fn a_closed_window_is_probed_after_0_2_then_0_4_then_0_8_seconds() {
    let mut linux = sender(SenderSettings { mss: 1_460, ..PLAIN });
    play(
        &mut linux,
        "0.000000 < S 0 win 8000 mss 1460
         0.000020 > S. 0 ack 1 win 1024 mss 1460
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:1025 ack 1 win 8000
         0.005706 > . 1 ack 1025 win 0
         0.205706 < . 1024 ack 1 win 8000
         0.208483 > . 1 ack 1025 win 0
         0.605706 < . 1024 ack 1 win 8000
         0.608403 > . 1 ack 1025 win 0
         1.405706 < . 1024 ack 1 win 8000
         1.408505 > . 1 ack 1025 win 0
         2.033604 > . 1 ack 1025 win 1024
         2.033604 < P. 1025:2049 ack 1 win 8000",
    );
    let truth = linux.truth(Timestamp::from_nanos(2_033_604_000));
    assert_eq!(truth.most(), Some(HoldCause::ZeroWindow));
    assert!(truth.share(HoldCause::ZeroWindow) > 0.99);
    assert_eq!(linux.counters().probes, 3);
}

#[test]
fn a_probe_may_carry_a_byte_which_counts_when_it_is_taken() {
    let settings = SenderSettings { probe: Probe::OneByte, ..PLAIN };
    play(
        &mut sender(settings),
        "0.000000 < S 0 win 8000 mss 1000
         0.000020 > S. 0 ack 1 win 1000 mss 1000
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:1001 ack 1 win 8000
         0.000030 > . 1 ack 1001 win 0
         0.200030 < P. 1001:1002 ack 1 win 8000
         0.200040 > . 1 ack 1001 win 0
         0.600030 < P. 1001:1002 ack 1 win 8000
         0.600040 > . 1 ack 1002 win 1000
         0.600040 < P. 1002:2002 ack 1 win 8000",
    );
}

#[test]
fn what_the_window_leaves_waits_for_a_segments_room_or_the_override_timer() {
    // RFC 9293 section 3.8.6.2.1: 300 of 2,000 bytes are silly, 1,000 are not.
    play(
        &mut sender(PLAIN),
        "0.000000 < S 0 win 8000 mss 1000
         0.000020 > S. 0 ack 1 win 2000 mss 1000
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:1001 ack 1 win 8000
         0.000020 < P. 1001:2001 ack 1 win 8000
         0.000100 > . 1 ack 2001 win 300
         0.200100 < P. 2001:2301 ack 1 win 8000
         0.200200 > . 1 ack 2301 win 1000
         0.200200 < P. 2301:3301 ack 1 win 8000",
    );
    let what_fits =
        SenderSettings { segmenting: PartialSegmentPolicy::WhatFits, nagle: false, ..PLAIN };
    play(
        &mut sender(what_fits),
        "0.000000 < S 0 win 8000 mss 1000
         0.000020 > S. 0 ack 1 win 1300 mss 1000
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:1001 ack 1 win 8000
         0.000020 < P. 1001:1301 ack 1 win 8000",
    );
}

#[test]
fn a_send_buffer_of_2048_sends_1460_and_588_and_waits() {
    let mut bsd = sender(SenderSettings::bsd_4_2(Bytes::new(100_000)));
    play(
        &mut bsd,
        "0.000000 < S 0 win 2048 mss 1460
         0.000020 > S. 0 ack 1 win 6144 mss 1460
         0.000020 < . 1 ack 1 win 2048
         0.000020 < P. 1:1461 ack 1 win 2048
         0.000020 < P. 1461:2049 ack 1 win 2048
         0.500020 > . 1 ack 2049 win 6144
         0.500020 < P. 2049:3509 ack 1 win 2048
         0.500020 < P. 3509:4097 ack 1 win 2048",
    );
    let truth = bsd.truth(Timestamp::from_nanos(500_020_000));
    assert_eq!(truth.span(HoldCause::SendBuffer), Span::from_millis(500));
}

#[test]
fn nagle_holds_a_small_segment_while_another_is_under_way() {
    let writes = WritePattern::Paced {
        first: Bytes::new(256),
        piece: Bytes::new(300),
        every: Span::from_millis(50),
    };
    let settings = SenderSettings { writes, ..PLAIN };
    let mut held = sender(settings);
    play(
        &mut held,
        "0.000000 < S 0 win 8000 mss 1000
         0.000020 > S. 0 ack 1 win 8000 mss 1000
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:257 ack 1 win 8000
         0.080000 > . 1 ack 257 win 8000
         0.080000 < P. 257:557 ack 1 win 8000",
    );
    let truth = held.truth(Timestamp::from_nanos(80_000_000));
    assert_eq!(truth.span(HoldCause::Nagle), Span::from_micros(29_980));
    assert_eq!(truth.span(HoldCause::Application), Span::from_micros(50_000));
    play(
        &mut sender(SenderSettings { nagle: false, ..settings }),
        "0.000000 < S 0 win 8000 mss 1000
         0.000020 > S. 0 ack 1 win 8000 mss 1000
         0.000020 < . 1 ack 1 win 8000
         0.000020 < P. 1:257 ack 1 win 8000
         0.050020 < P. 257:557 ack 1 win 8000
         0.100020 < P. 557:857 ack 1 win 8000",
    );
}

#[test]
fn slow_start_doubles_by_what_is_acknowledged() {
    play(
        &mut sender(SenderSettings { initial_window: Bytes::new(2_000), ..PLAIN }),
        "0.000000 < S 0 win 8000 mss 1000
         0.001000 > S. 0 ack 1 win 60000 mss 1000
         0.001000 < . 1 ack 1 win 8000
         0.001000 < P. 1:1001 ack 1 win 8000
         0.001000 < P. 1001:2001 ack 1 win 8000
         0.002000 > . 1 ack 2001 win 60000
         0.002000 < P. 2001:3001 ack 1 win 8000
         0.002000 < P. 3001:4001 ack 1 win 8000
         0.002000 < P. 4001:5001 ack 1 win 8000
         0.002000 < P. 5001:6001 ack 1 win 8000",
    );
}

#[test]
fn the_retransmission_timer_doubles_and_starts_over_from_one_segment() {
    let mut lonely = sender(SenderSettings { initial_window: Bytes::new(2_000), ..PLAIN });
    play(
        &mut lonely,
        "0.000000 < S 0 win 8000 mss 1000
         0.001000 > S. 0 ack 1 win 60000 mss 1000
         0.001000 < . 1 ack 1 win 8000
         0.001000 < P. 1:1001 ack 1 win 8000
         0.001000 < P. 1001:2001 ack 1 win 8000
         0.201000 < P. 1:1001 ack 1 win 8000
         0.601000 < P. 1:1001 ack 1 win 8000
         1.401000 < P. 1:1001 ack 1 win 8000
         1.402000 > . 1 ack 1001 win 60000
         1.402000 < P. 1001:2001 ack 1 win 8000
         1.402000 < P. 2001:3001 ack 1 win 8000
         1.403000 > . 1 ack 3001 win 60000
         1.403000 < P. 3001:4001 ack 1 win 8000
         1.403000 < P. 4001:5001 ack 1 win 8000",
    );
    assert_eq!(lonely.counters().timeouts, 3);
    let truth = lonely.truth(Timestamp::from_nanos(1_403_000_000));
    assert_eq!(truth.most(), Some(HoldCause::Timeout));
    assert!(truth.share(HoldCause::Timeout) > 0.99);
}

#[test]
fn a_syn_leaves_again_and_at_last_no_more() {
    let mut nobody = sender(SenderSettings { retries: 3, ..PLAIN });
    play(
        &mut nobody,
        " 0.000000 < S 0 win 8000 mss 1000
          1.000000 < S 0 win 8000 mss 1000
          3.000000 < S 0 win 8000 mss 1000
          7.000000 < S 0 win 8000 mss 1000
         99.000000 > . 1 ack 1 win 0",
    );
    assert_eq!(
        nobody.ending().map(|(at, ending)| (at.as_nanos(), ending)),
        Some((15_000_000_000, Ending::GaveUp))
    );
}

/// Ten segments leave, of which the first and the third are lost.
const TWO_LOST: &str = "0.000000 < S 0 win 8000 mss 1000
                        0.001000 > S. 0 ack 1 win 60000 mss 1000
                        0.001000 < . 1 ack 1 win 8000
                        0.001000 < P. 1:1001 ack 1 win 8000
                        0.001000 < P. 1001:2001 ack 1 win 8000
                        0.001000 < P. 2001:3001 ack 1 win 8000
                        0.001000 < P. 3001:4001 ack 1 win 8000
                        0.001000 < P. 4001:5001 ack 1 win 8000
                        0.001000 < P. 5001:6001 ack 1 win 8000
                        0.001000 < P. 6001:7001 ack 1 win 8000
                        0.001000 < P. 7001:8001 ack 1 win 8000
                        0.001000 < P. 8001:9001 ack 1 win 8000
                        0.001000 < P. 9001:10001 ack 1 win 8000";

#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    // Limited transmit (RFC 3042) on the first two duplicates, a retransmission
    // on the third, the next loss on the partial ACK (RFC 6582). Meanwhile the
    // flight shrinks to half the window, one for two that arrive (RFC 6937).
    let mut newreno = sender(PLAIN);
    play(
        &mut newreno,
        &format!(
            "{TWO_LOST}
             0.002000 > . 1 ack 1 win 60000
             0.002000 < P. 10001:11001 ack 1 win 8000
             0.002010 > . 1 ack 1 win 60000
             0.002010 < P. 11001:12001 ack 1 win 8000
             0.002020 > . 1 ack 1 win 60000
             0.002020 < P. 1:1001 ack 1 win 8000
             0.002030 > . 1 ack 1 win 60000
             0.002040 > . 1 ack 1 win 60000
             0.002050 > . 1 ack 1 win 60000
             0.002060 > . 1 ack 1 win 60000
             0.002070 > . 1 ack 1 win 60000
             0.002070 < P. 12001:13001 ack 1 win 8000
             0.003000 > . 1 ack 2001 win 60000
             0.003000 < P. 2001:3001 ack 1 win 8000
             0.004000 > . 1 ack 13001 win 60000
             0.004000 < P. 13001:14001 ack 1 win 8000
             0.004000 < P. 14001:15001 ack 1 win 8000
             0.004000 < P. 15001:16001 ack 1 win 8000
             0.004000 < P. 16001:17001 ack 1 win 8000
             0.004000 < P. 17001:18001 ack 1 win 8000"
        ),
    );
    assert_eq!((newreno.counters().fast_retransmits, newreno.counters().retransmissions), (1, 2));
    let truth = newreno.truth(Timestamp::from_nanos(4_000_000));
    assert_eq!(truth.span(HoldCause::FastRecovery), Span::from_micros(1_980));
}

#[test]
fn sack_repairs_both_losses_in_one_round_trip() {
    let mut sack = sender(SenderSettings { sack: true, ..PLAIN });
    let begin = TWO_LOST.replace("mss 1000", "mss 1000 sackok");
    play(
        &mut sack,
        &format!(
            "{begin}
             0.002000 > . 1 ack 1 win 60000 sack 1001-2001
             0.002000 < P. 10001:11001 ack 1 win 8000
             0.002010 > . 1 ack 1 win 60000 sack 3001-4001 sack 1001-2001
             0.002010 < P. 11001:12001 ack 1 win 8000
             0.002020 > . 1 ack 1 win 60000 sack 3001-5001 sack 1001-2001
             0.002020 < P. 1:1001 ack 1 win 8000
             0.002030 > . 1 ack 1 win 60000 sack 3001-6001 sack 1001-2001
             0.002040 > . 1 ack 1 win 60000 sack 3001-7001 sack 1001-2001
             0.002050 > . 1 ack 1 win 60000 sack 3001-8001 sack 1001-2001
             0.002060 > . 1 ack 1 win 60000 sack 3001-9001 sack 1001-2001
             0.002060 < P. 2001:3001 ack 1 win 8000
             0.002070 > . 1 ack 1 win 60000 sack 3001-10001 sack 1001-2001
             0.002070 < P. 12001:13001 ack 1 win 8000
             0.003000 > . 1 ack 2001 win 60000 sack 3001-10001
             0.003000 < P. 13001:14001 ack 1 win 8000
             0.003050 > . 1 ack 12001 win 60000
             0.003050 < P. 14001:15001 ack 1 win 8000
             0.003050 < P. 15001:16001 ack 1 win 8000
             0.003050 < P. 16001:17001 ack 1 win 8000"
        ),
    );
    assert_eq!(sack.counters().fast_retransmits, 1);
}

#[test]
fn duplicate_acks_mean_nothing_to_a_stack_without_fast_retransmit() {
    play(
        &mut sender(SenderSettings {
            fast_retransmit: false,
            initial_window: Bytes::new(4_000),
            ..PLAIN
        }),
        "0.000000 < S 0 win 8000 mss 1000
         0.001000 > S. 0 ack 1 win 60000 mss 1000
         0.001000 < . 1 ack 1 win 8000
         0.001000 < P. 1:1001 ack 1 win 8000
         0.001000 < P. 1001:2001 ack 1 win 8000
         0.001000 < P. 2001:3001 ack 1 win 8000
         0.001000 < P. 3001:4001 ack 1 win 8000
         0.002000 > . 1 ack 1 win 60000
         0.002010 > . 1 ack 1 win 60000
         0.002020 > . 1 ack 1 win 60000
         0.201000 < P. 1:1001 ack 1 win 8000",
    );
}

#[test]
fn a_window_update_is_no_duplicate_ack() {
    let mut updated = sender(SenderSettings { initial_window: Bytes::new(2_000), ..PLAIN });
    play(
        &mut updated,
        "0.000000 < S 0 win 8000 mss 1000
         0.001000 > S. 0 ack 1 win 2000 mss 1000
         0.001000 < . 1 ack 1 win 8000
         0.001000 < P. 1:1001 ack 1 win 8000
         0.001000 < P. 1001:2001 ack 1 win 8000
         0.002000 > . 1 ack 1 win 3000
         0.002010 > . 1 ack 1 win 4000
         0.002020 > . 1 ack 1 win 5000
         0.002030 > . 1 ack 1 win 6000",
    );
    assert_eq!(updated.counters().fast_retransmits, 0);
}

#[test]
fn a_pause_longer_than_the_timeout_starts_over_with_the_first_window() {
    let writes = WritePattern::Bursts { bytes: Bytes::new(4_000), pause: Span::from_millis(2_000) };
    let settings = SenderSettings {
        writes,
        initial_window: Bytes::new(2_000),
        bytes: Bytes::new(8_000),
        ..PLAIN
    };
    let script = |first: &str| {
        format!(
            "0.000000 < S 0 win 8000 mss 1000
             0.001000 > S. 0 ack 1 win 60000 mss 1000
             0.001000 < . 1 ack 1 win 8000
             0.001000 < P. 1:1001 ack 1 win 8000
             0.001000 < P. 1001:2001 ack 1 win 8000
             0.002000 > . 1 ack 2001 win 60000
             0.002000 < P. 2001:3001 ack 1 win 8000
             0.002000 < P. 3001:4001 ack 1 win 8000
             0.003000 > . 1 ack 4001 win 60000
             2.001000 < P. 4001:5001 ack 1 win 8000
             2.001000 < P. 5001:6001 ack 1 win 8000
             {first}"
        )
    };
    play(&mut sender(settings), &script("2.001500 > . 1 ack 1 win 0"));
    play(
        &mut sender(SenderSettings { restarts_after_idle: false, ..settings }),
        &script(
            "2.001000 < P. 6001:7001 ack 1 win 8000
             2.001000 < FP. 7001:8001 ack 1 win 8000",
        ),
    );
}

#[test]
fn the_program_that_has_gone_answers_with_resets() {
    // The end of the H-PS1U's trace.
    let gone = SenderSettings { bytes: Bytes::new(61), leave: LeavePolicy::Gone, ..PLAIN };
    play(
        &mut sender(gone),
        "0.000000 < S 0 win 8000 mss 1000
         0.000010 > S. 0 ack 1 win 2920 mss 1460
         0.000010 < . 1 ack 1 win 8000
         0.000010 < FP. 1:62 ack 1 win 8000
         0.007769 > . 1 ack 63 win 2920
         0.007769 < R 63 win 0
         0.008378 > F. 1 ack 63 win 2920
         0.008378 < R 63 win 0",
    );
}

#[test]
fn a_reset_ends_it() {
    let mut reset = sender(PLAIN);
    play(
        &mut reset,
        "0.000000 < S 0 win 8000 mss 1000
         0.000010 > R. 0 ack 1 win 0",
    );
    assert_eq!(reset.ending().map(|(_, ending)| ending), Some(Ending::Reset));
    assert_eq!(reset.next_time(), None);
}

#[test]
fn an_lpr_job_is_the_conversation_of_the_h_ps1us_trace() {
    let method = Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly };
    let settings = SenderSettings {
        method,
        think: Span::from_micros(173),
        mss: 1_460,
        ..SenderSettings { bytes: Bytes::new(1_212), ..PLAIN }
    };
    let mut job = sender(settings);
    let receive = "\u{2}raw\n";
    let data = "\u{3}1212 dfA001linux.example.net\n";
    let control = "\u{2}60 cfA001linux.example.net\n";
    let file = "Hlinux.example\nPwindlass\nJnul\nldfA001linux.example\nNnul.raw\n\0";
    play(
        &mut job,
        &format!(
            "0.000000 < S 0 win 8000 mss 1460
             0.000100 > S. 0 ack 1 win 2920 mss 1460
             0.000100 < . 1 ack 1 win 8000
             0.000273 < P. 1:6 ack 1 win 8000 {receive:?}
             0.001000 > P. 1:2 ack 6 win 2920
             0.001000 < . 6 ack 2 win 8000
             0.001173 < P. 6:36 ack 2 win 8000 {data:?}
             0.002000 > P. 2:3 ack 36 win 2920
             0.002000 < . 36 ack 3 win 8000
             0.002173 < P. 36:1249 ack 3 win 8000
             0.119440 > P. 3:4 ack 1249 win 2920
             0.119440 < . 1249 ack 4 win 8000
             0.119613 < P. 1249:1277 ack 4 win 8000 {control:?}
             0.130000 > P. 4:5 ack 1277 win 2920
             0.130000 < . 1277 ack 5 win 8000
             0.130173 < P. 1277:1338 ack 5 win 8000 {file:?}
             0.137000 > P. 5:6 ack 1338 win 2920
             0.137000 < F. 1338 ack 6 win 8000"
        ),
    );
    assert_eq!(job.delivered().unwrap().as_nanos(), 137_000_000);
    let truth = job.truth(Timestamp::from_nanos(137_000_000));
    assert_eq!(truth.most(), Some(HoldCause::Application));
}

#[test]
fn a_server_that_refuses_ends_the_job() {
    let method = Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly };
    play(
        &mut sender(SenderSettings { method, ..PLAIN }),
        r#"0.000000 < S 0 win 8000 mss 1000
           0.000100 > S. 0 ack 1 win 2920 mss 1460
           0.000100 < . 1 ack 1 win 8000
           0.000100 < P. 1:6 ack 1 win 8000 "\u{2}raw\n"
           0.001000 > F. 1 ack 6 win 2920
           0.001000 < F. 6 ack 2 win 8000"#,
    );
}
