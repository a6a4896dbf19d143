//! The laws against the figures of the documents they come from.

use super::*;
use proptest::prelude::*;

fn close(measured: f64, documented: f64, tolerance: f64) {
    let off = (measured - documented).abs() / documented;
    assert!(off <= tolerance, "{measured} is {off:.4} off {documented}");
}

#[test]
fn the_first_print_server() {
    // 2,920 bytes per 117,695 µs; the document rounds 8.4965 × 2,920 to 24,801.
    let rate = window_rate(Bytes::new(2_920), Span::from_micros(117_695));
    close(rate.bytes_per_second(), 24_801.0, 0.001);
}

#[test]
fn the_imagen_printer_needs_a_buffer_as_large_as_its_window() {
    let needed = |window, held| send_buffer_for(Bytes::new(window), Bytes::new(held)).get();
    assert_eq!(needed(6_144, 2_048), 6_144);
    assert_eq!(needed(6_144, 4_096), 8_192, "less than twice is no change");
    assert_eq!(needed(0, 0), 2);
    assert_eq!(needed(1 << 30, 4_096), 1 << 20);
    assert_eq!(needed(1 << 30, 1 << 20), 4 << 20);
    assert_eq!(needed(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn the_imagen_printer() {
    let rate = send_buffer_rate(Bytes::new(2_048), Span::from_millis(500));
    close(rate.bytes_per_second(), 4_096.0, 0.0);
    close(rate.bits_per_second(), 32_000.0, 0.03);
}

#[test]
fn both_set_ups_of_the_sweep_paper() {
    let first = bandwidth_delay_product(Rate::from_bits_per_second(1e9), Span::from_micros(2_550));
    let second = bandwidth_delay_product(Rate::from_bits_per_second(1e8), Span::from_micros(2_450));
    close(first.get() as f64, 319_000.0, 0.001);
    close(second.get() as f64, 31_000.0, 0.02);
}

#[test]
fn about_six_to_ten_streams_fill_a_gigabit() {
    let capacity = Rate::from_bits_per_second(1e9);
    let (window, rtt) = (Bytes::new(56_000), Span::from_micros(2_550));
    assert!(streams_rate(capacity, 5, window, rtt) < capacity);
    assert_eq!(streams_rate(capacity, 10, window, rtt), capacity);
}

#[test]
fn streams_are_counted_up_to_a_full_path() {
    let capacity = Rate::from_bits_per_second(1e9);
    let rtt = Span::from_micros(2_550);
    assert_eq!(streams_for(capacity, Bytes::new(56_000), rtt), Some(6));
    assert_eq!(streams_for(capacity, Bytes::new(318_750), rtt), Some(1));
    assert_eq!(streams_for(capacity, Bytes::ZERO, rtt), None);
}

#[test]
fn a_full_ethernet_carries_what_stevens_says() {
    // Vol. 1, 24.8: 1,155,063 bytes/s on 10 Mb/s half duplex, an ACK per two
    // segments.
    let ten = Rate::from_bits_per_second(1e7);
    let shared = line_rate(ten, 1_460, 40, Framing::ETHERNET, Some(2));
    close(shared.bytes_per_second(), 1_155_063.0, 0.000_1);
    let duplex = line_rate(Rate::from_bits_per_second(1e9), 1_448, 52, Framing::ETHERNET, None);
    close(duplex.bits_per_second(), 941.5e6, 0.000_5);
}

#[test]
fn loss_bounds_a_long_path() {
    let (mss, rtt) = (Bytes::new(1_460), Span::from_millis(100));
    let rate = mathis_rate(mss, rtt, 0.01).unwrap();
    close(rate.bytes_per_second(), 178_813.0, 0.001);
    close(mathis_loss(mss, rtt, rate).unwrap(), 0.01, 1e-9);
    assert_eq!(mathis_rate(mss, rtt, 0.0), None);
    let slower = pftk_rate(mss, rtt, 0.01, Span::from_millis(300), 2, None).unwrap();
    assert!(slower < rate);
    let capped = pftk_rate(mss, rtt, 0.01, Span::from_millis(300), 2, Some(Bytes::new(2_920)));
    close(capped.unwrap().bytes_per_second(), 29_200.0, 1e-9);
}

#[test]
fn slow_start_doubles_each_round() {
    // 10 + 20 + 40 + 80 segments in four rounds.
    let time = slow_start_time(Bytes::new(150), Bytes::new(10), 2.0, Span::from_millis(100));
    assert_eq!(time, Span::from_millis(400));
    assert_eq!(slow_start_time(Bytes::new(1), Bytes::ZERO, 2.0, Span::ZERO), Span::MAX);
}

proptest! {
    #[test]
    fn the_window_law_holds_both_ways(window in 1_u64..1 << 40, micros in 1_i64..10_000_000) {
        let cycle = Span::from_micros(micros);
        let back = window_for(window_rate(Bytes::new(window), cycle), cycle).get();
        prop_assert!(back.abs_diff(window) <= 1 + window / 1_000_000_000);
    }

    #[test]
    fn the_pftk_law_holds_both_ways(exponent in -8.0_f64..0.0, millis in 1_i64..2_000) {
        let (mss, rtt, timeout) = (Bytes::new(1_460), Span::from_millis(millis), Span::from_millis(300));
        let loss = 10_f64.powf(exponent);
        let rate = pftk_rate(mss, rtt, loss, timeout, 2, None).unwrap();
        let back = pftk_loss(mss, rtt, rate, timeout, 2).unwrap();
        prop_assert!((back / loss - 1.0).abs() < 1e-6, "{loss} came back as {back}");
    }

    #[test]
    fn no_law_gives_more_than_the_line(streams in 0_u32..1_000, window in 0_u64..1 << 40) {
        let line = Rate::from_bits_per_second(1e9);
        let rate = streams_rate(line, streams, Bytes::new(window), Span::from_millis(1));
        prop_assert!(rate <= line);
    }
}
