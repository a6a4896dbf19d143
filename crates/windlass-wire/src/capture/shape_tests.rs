use proptest::prelude::*;

use super::*;

type Check = fn(&[u8], bool) -> ShapeMatch;

const ALL: [Check; 9] = [tar, etl, lanalyzer, netscaler, peek_classic, commview, erf, har, netlog];

/// Returns the result for a whole file, and checks that all prefixes agree with it.
fn whole(check: Check, file: &[u8]) -> ShapeMatch {
    let told = check(file, true);
    for end in 0..file.len() {
        match check(&file[..end], false) {
            ShapeMatch::More(wanted) => assert!(wanted > end, "{wanted} of {end}"),
            early => assert_eq!(early, told, "after {end} bytes"),
        }
    }
    told
}

/// Checks that a file has one shape alone, and that a change at `weak` unmakes it.
fn is_only(check: Check, file: &[u8], weak: &[usize]) {
    for (at, other) in ALL.into_iter().enumerate() {
        let expected =
            if std::ptr::fn_addr_eq(other, check) { ShapeMatch::Yes } else { ShapeMatch::No };
        assert_eq!(whole(other, file), expected, "check {at}");
    }
    for at in weak {
        let mut changed = file.to_vec();
        changed[*at] ^= 0xff;
        assert_eq!(whole(check, &changed), ShapeMatch::No, "byte {at}");
    }
}

#[test]
fn a_tar_archive_is_told_by_its_magic_further_on() {
    let mut file = vec![0; 512];
    file[..6].copy_from_slice(b"a.pcap");
    file[257..262].copy_from_slice(b"ustar");
    is_only(tar, &file, &[257, 261]);
    assert_eq!(whole(tar, &file[..260]), ShapeMatch::No);
    assert_eq!(whole(tar, &[b'a'; 400]), ShapeMatch::No);
}

#[test]
fn a_windows_trace_is_told_by_its_first_event() {
    let mut file = vec![0; 200];
    file[..4].copy_from_slice(&0x1_0000_u32.to_le_bytes());
    file[72..76].copy_from_slice(&[2, 0, 2, 0xc0]);
    is_only(etl, &file, &[0, 3, 72, 74, 75]);
}

#[test]
fn records_of_lanalyzer_follow_each_other() {
    let mut file = vec![0x01, 0x10, 8, 0];
    file.extend(*b"1Trace D");
    file.extend([0x06, 0x10, 2, 0, 0, 0]);
    is_only(lanalyzer, &file, &[0, 1, 3, 13]);
}

#[test]
fn netscaler_says_who_it_is() {
    for words in [&b"NetScaler V20 Performance Data"[..], b"Netscaler V35 Performance Data"] {
        let mut file = vec![0; 300];
        file[20..20 + words.len()].copy_from_slice(words);
        is_only(netscaler, &file, &[21, 40]);
    }
    assert_eq!(whole(netscaler, b"NetScaler Performance Data in a text"), ShapeMatch::No);
}

#[test]
fn classic_peek_files_have_a_header_of_numbers() {
    let mut file = vec![0; 80];
    for version in [5, 7, 0x87] {
        file[0] = version;
        file[2..6].copy_from_slice(&80_u32.to_be_bytes());
        file[10..14].copy_from_slice(&3_000_000_000_u32.to_be_bytes());
        is_only(peek_classic, &file, &[0, 10, 22, 26, 49]);
    }
}

/// A record of `CommView`'s older format.
fn ncf(day: u8, length: u16) -> Vec<u8> {
    let length = length.to_le_bytes();
    let mut record = [&length[..], &length, &[0, 0xe3, 7, 4, day, 14, 26, 7, 1, 0, 0, 0]].concat();
    record.resize(24 + usize::from(u16::from_le_bytes(length)), 0);
    record
}

#[test]
fn records_of_commview_are_dated() {
    is_only(commview, &[ncf(6, 60), ncf(6, 99)].concat(), &[1, 4, 6, 7, 8, 15, 84 + 7]);
    is_only(commview, &ncf(31, 60), &[8]);
    let ncfx = |length: u32| {
        let mut record = length.to_le_bytes().to_vec();
        record.extend([0xe3, 7, 4, 6, 14, 26, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        record.resize(20 + length as usize, 0);
        record
    };
    is_only(commview, &[ncfx(60), ncfx(80)].concat(), &[2, 5, 6, 9, 14, 15]);
    assert_eq!(whole(commview, &ncf(6, 60)[..70]), ShapeMatch::No, "no second record, no end");
}

/// A record of an Ethernet frame, with so many extension headers.
fn ethernet(seconds: u32, length: u16, extensions: u16) -> Vec<u8> {
    let whole = 16 + 8 * extensions + 2 + length;
    let mut record = vec![0x77; 4];
    record.extend(seconds.to_le_bytes());
    record.extend([if extensions > 0 { 0x82 } else { 2 }, 4]);
    record.extend(whole.to_be_bytes());
    record.extend([0, 0]);
    record.extend(length.to_be_bytes());
    record.resize(whole.into(), 0x55);
    record
}

#[test]
fn records_of_erf_follow_each_other_in_time() {
    let now = 1_554_560_767;
    let records = |seconds: &[u32]| -> Vec<u8> {
        seconds.iter().flat_map(|seconds| ethernet(*seconds, 60, 0)).collect()
    };
    let file = records(&[now, now, now + 1, now + 2, now + 3]);
    is_only(erf, &file, &[7, 8, 10, 78 + 7, 78 + 8]);
    // A card's interfaces do not agree to the second; padding has no time.
    let pad = [&[0; 8][..], &[48, 0, 0, 24, 0, 0, 0, 0], &[0; 8]].concat();
    let odd = [ethernet(now, 60, 2), pad.clone(), ethernet(now - 1, 60, 0), ethernet(now, 999, 1)]
        .concat();
    is_only(erf, &odd, &[]);
    // Padding without end is waited for no longer than that.
    let pads = [ethernet(now, 60, 0), pad.repeat(100)].concat();
    assert_eq!(whole(erf, &pads), ShapeMatch::No);
    // A file of one record, and of three that is cut.
    is_only(erf, &ethernet(now, 60, 0), &[8, 10]);
    assert_eq!(whole(erf, &records(&[now; 4])[..240]), ShapeMatch::Yes);
    assert_eq!(whole(erf, &records(&[now; 4])[..170]), ShapeMatch::No);
    assert_eq!(whole(erf, &records(&[now, now + 40_000_000, now, now])), ShapeMatch::No);
    assert_eq!(whole(erf, &records(&[now, now - 9, now, now])), ShapeMatch::No);
    assert_eq!(whole(erf, b""), ShapeMatch::No);
}

#[test]
fn json_is_told_by_its_first_member() {
    is_only(har, b"{\"log\": {\"version\": \"1.2\"}}", &[0, 3]);
    is_only(har, b"\xef\xbb\xbf {\r\n   \"log\" :{", &[0]);
    is_only(netlog, b"{\"constants\": {\"activeFieldTrialGroups\":[]", &[0, 3]);
    for other in [&b"{"[..], b"[{\"log\":1}]", b"{\"logs\": 1}", b"{}", b"  "] {
        assert_eq!(
            (whole(har, other), whole(netlog, other)),
            (ShapeMatch::No, ShapeMatch::No),
            "{other:?}"
        );
    }
}

#[test]
fn text_of_tcpdump_has_none_of_these_shapes() {
    let line = b"1554560767.303114 IP 192.0.2.1.51698 > 192.0.2.2.9100: Flags [S], seq 1, win 9\n";
    let date = b"2019-04-06 14:26:07.303114 IP 192.0.2.1.51698 > 192.0.2.2.9100: Flags [.]\n";
    for text in [&line[..], date] {
        let text = text.repeat(40);
        for check in ALL {
            assert_eq!(check(&text, true), ShapeMatch::No);
            // No more is waited for than tells text.
            assert!(check(&text[..SAMPLE], false) == ShapeMatch::No);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_told_alike_in_parts(
        start in prop::sample::select(vec![
            &b""[..], b"\x07\0", b"\x01\x10\x04\0", b"\0\x04\0\0", b"{\"log", b"a\0",
            b"\x3c\0\x3c\0\0\xe3\x07\x04\x06\x0e", b"\x77\x77\x77\x77\x7f\xb6\xa8\x5c\x02\x04\0\x12",
        ]),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let file = [start, &noise].concat();
        for check in ALL {
            whole(check, &file);
        }
    }
}
