use super::*;

fn told(input: &[u8]) -> ForeignFormat {
    match recognise(input, true) {
        Recognition::Yes(foreign) => foreign,
        _ => panic!("{input:02x?}"),
    }
}

#[test]
fn each_magic_number_tells_its_own_format() {
    for (at, &(magic, name, cure)) in BY_MAGIC.iter().enumerate() {
        assert_eq!(told(magic), ForeignFormat { name, cure }, "{magic:02x?}");
        for (other, ..) in &BY_MAGIC[..at] {
            assert!(!magic.starts_with(other), "{other:02x?} hides {magic:02x?}");
        }
        for end in 1..magic.len() {
            let part = recognise(&magic[..end], false);
            assert!(matches!(part, Recognition::More(more) if more > end), "{end} of {magic:02x?}");
        }
    }
}

#[test]
fn an_error_reads_as_a_sentence_and_a_command() {
    let netmon = told(b"GMBU\0\x02\x01\0");
    assert_eq!(netmon.to_string(), "Microsoft Network Monitor 2");
    assert_eq!(
        netmon.advice(Some("traces/slow upload.cap")),
        "Convert it with Wireshark's editcap: `editcap -F pcapng 'traces/slow upload.cap' \
         'traces/slow upload.pcapng'`. Then read 'traces/slow upload.pcapng'."
    );
    assert_eq!(
        netmon.advice(None),
        "Convert it with Wireshark's editcap: `editcap -F pcapng FILE FILE.pcapng`. Then read \
         FILE.pcapng."
    );
    assert_eq!(
        told(b"\xfd7zXZ\0\0\0").advice(Some("upload.pcap.xz")),
        "Unpack it on the way: `xz -dc upload.pcap.xz | windlass explain -`."
    );
    assert_eq!(
        told(b"BZh91AY&SY").advice(None),
        "Unpack it on the way: `bzip2 -dc | windlass explain -`."
    );
    assert_eq!(
        told(b"PK\x03\x04\x14\0\0\0").advice(Some("upload.zip")),
        "Unpack it: `unzip upload.zip`. Then read the capture that comes out."
    );
    let mut etl = vec![0; 100];
    etl[..4].copy_from_slice(&0x1_0000_u32.to_le_bytes());
    etl[72..76].copy_from_slice(&[2, 0, 2, 0xc0]);
    assert_eq!(
        told(&etl).advice(Some("net.etl")),
        "Convert it: `etl2pcapng net.etl net.pcapng`. Then read net.pcapng."
    );
}

#[test]
fn a_conversion_never_writes_over_its_source() {
    for (file, made) in [
        ("a.cap", "a.pcapng"),
        ("a.b/c", "a.b/c.pcapng"),
        ("a.pcapng", "a.pcapng.pcapng"),
        (".cap", ".cap.pcapng"),
        ("x/.cap", "x/.cap.pcapng"),
        ("a.pcap", "a.pcapng"),
    ] {
        assert_eq!(converted(file), made);
    }
}

#[test]
fn names_are_quoted_for_a_shell() {
    for (name, quoted_name) in [
        ("a-b_c/d.cap", "a-b_c/d.cap"),
        ("it's.cap", r"'it'\''s.cap'"),
        ("$(reboot)", "'$(reboot)'"),
        ("-v.cap", "'./-v.cap'"),
        ("mess äge", "'mess äge'"),
    ] {
        assert_eq!(quoted(name), quoted_name);
    }
}
