//! Values: accepted forms, refused forms, and formatted values read back.

use proptest::prelude::*;

use super::*;

#[test]
fn sizes_in_1000s_and_1024s() {
    let read = |text| bytes(text).map(Bytes::get);
    for (text, expected) in [
        ("2920", 2_920),
        ("2,920 B", 2_920),
        ("2920B", 2_920),
        ("56kB", 56_000),
        ("56KB", 56_000),
        ("64k", 65_536),
        ("64K", 65_536),
        ("64KiB", 65_536),
        ("1.5MB", 1_500_000),
        ("1M", 1_048_576),
        ("1GiB", 1_073_741_824),
    ] {
        assert_eq!(read(text), Ok(expected), "{text}");
    }
    for text in [
        "",
        "k",
        "-1",
        "1,5",
        "12,34",
        "1kbit",
        "64 kilo",
        "1e3",
        "nan",
        "0",
        "9999999GB",
        "1.46",
        "64kb",
        "8b",
    ] {
        assert!(bytes(text).is_err(), "{text}");
    }
    assert_eq!(bytes("many").unwrap_err(), format!("write a size as {BYTES_HELP}"));
}

#[test]
fn a_bare_time_is_seconds() {
    for (text, nanos) in [
        ("117695us", 117_695_000),
        ("117,695µs", 117_695_000),
        ("117695 μs", 117_695_000),
        ("2.55ms", 2_550_000),
        (".5s", 500_000_000),
        ("7ns", 7),
        ("2min", 120_000_000_000),
        ("2m", 120_000_000_000),
        ("5", 5_000_000_000),
        ("0.25", 250_000_000),
        ("1h", 3_600_000_000_000),
    ] {
        assert_eq!(span(text).map(Span::as_nanos), Ok(nanos), "{text}");
    }
    for text in ["", "s", "5sec", "0", "0s", "0.1ns", "-1s", "241h", "864001", "99999999999h"] {
        assert!(span(text).is_err(), "{text}");
    }
}

#[test]
fn files_name_the_unit_of_times_and_rates() {
    for text in ["117695", "5", "0.5", "5.", " 5 "] {
        assert!(span_with_unit(text).is_err(), "{text}");
    }
    for text in ["5", "10M", "1g", "5."] {
        assert!(rate_with_unit(text).is_err(), "{text}");
    }
    assert_eq!(span_with_unit("117.667 ms "), span("117.667ms"));
    for text in ["100 mbit", "798 kB/s", "56kbps"] {
        assert_eq!(rate_with_unit(text), rate(text));
        assert!(rate(text).is_ok(), "{text}");
    }
}

#[test]
fn rates_tell_bits_from_bytes() {
    for (text, expected) in [
        ("10MB/s", 1e7),
        ("10MBps", 1e7),
        ("1MiB/s", 1_048_576.0),
        ("100mbit", 1.25e7),
        ("100Mbit/s", 1.25e7),
        ("1gbit", 1.25e8),
        ("1Gb/s", 1.25e8),
        ("1Gbps", 1.25e8),
        ("56kbps", 7e3),
        ("24801 B/s", 24_801.0),
        ("8bit/s", 1.0),
        ("8", 1.0),
        ("10M", 1.25e6),
        ("1.5g", 1.875e8),
    ] {
        assert_eq!(rate(text).map(Rate::bytes_per_second), Ok(expected), "{text}");
    }
    for text in
        ["", "0", "M", "10MB", "10mb", "1gb", "1 gigabit", "0bit", "99999GB/s", "/s", "1xb/s"]
    {
        assert!(rate(text).is_err(), "{text}");
    }
}

#[test]
fn shares_are_not_guessed() {
    assert_eq!(share("0.037"), Ok(0.037));
    assert!((share("3.7%").unwrap() - 0.037).abs() < 1e-15);
    assert_eq!(share("100 %"), Ok(1.0));
    assert_eq!(share("3.7").unwrap_err(), "write 3.7% for a percentage, or a share below 1");
    for text in ["0", "0%", "101%", "1", "x", "5‰"] {
        assert!(share(text).is_err(), "{text}");
    }
}

#[test]
fn packet_ranges_include_both_ends() {
    let range = |first, last| Ok(PacketRange { first, last });
    assert_eq!(packets("10..20"), range(10, Some(20)));
    assert_eq!(packets("10.."), range(10, None));
    assert_eq!(packets("..20"), range(1, Some(20)));
    assert_eq!(packets("7"), range(7, Some(7)));
    assert!(packets("10..20").unwrap().contains(20));
    assert!(!packets("10..20").unwrap().contains(21));
    assert_eq!(packets("9..3").unwrap_err(), "the range ends before it begins: write 3..9");
    for text in ["", "..", "0..5", "a..b", "1-5", "+1", "1..2..3"] {
        assert!(packets(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(size in 1_u64..1_000_000_000_000_000) {
        prop_assert_eq!(bytes(&Bytes::new(size).to_string()), Ok(Bytes::new(size)));
    }

    #[test]
    fn an_exact_time_reads_back(nanos in 1_i64..864_000_000_000_000) {
        let text = crate::figures::ExactSpan(Span::from_nanos(nanos)).to_string();
        // A time in seconds has 15 digits, as many as a float holds.
        prop_assert!((span(&text).unwrap().as_nanos() - nanos).abs() <= 1, "{}", text);
    }

    #[test]
    fn a_printed_rate_reads_back_to_three_figures(exponent in 0.0_f64..12.0) {
        let given = Rate::from_bytes_per_second(10_f64.powf(exponent));
        for text in [given.to_string(), given.in_bits().to_string()] {
            let back = rate(&text).unwrap().bytes_per_second() / given.bytes_per_second();
            prop_assert!((back - 1.0).abs() < 0.006, "{} is {}", text, back);
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,12}|[0-9.,_]{0,8}[kKMGibBµsmn%/p]{0,5}") {
        let _ = (bytes(&text), span(&text), rate(&text), share(&text), packets(&text));
    }
}
