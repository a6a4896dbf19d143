//! A capture in other file formats: readable ones, and named ones with the command that converts
//! them.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use windlass_wire::LinkType;

use super::sample::{ethernet, explained, pcap, transfer};
use windlass_testkit::captures::Findings;
use windlass_testkit::{has, told, windlass};

/// A capture of Ethernet, and what is explained of it.
fn sample(folder: &Path) -> Value {
    let file = folder.join("upload.pcap");
    // Whole frames: old formats know no packet of which only a part was kept.
    let packets: Vec<_> = ethernet(&transfer())
        .into_iter()
        .map(|mut packet| {
            packet.data.resize(packet.original_length as usize, 0);
            packet
        })
        .collect();
    std::fs::write(&file, pcap(LinkType::ETHERNET, &packets)).unwrap();
    explained(&file)["connections"].clone()
}

/// Writes the capture in another format, where the tool can.
fn convert(folder: &Path, format: &str, into: &str) -> bool {
    // editcap 4.0 refuses to write ERF; mergecap does it.
    let mut command = Command::new(if format == "erf" { "mergecap" } else { "editcap" });
    command.current_dir(folder).args(["-F", format]);
    if format == "erf" {
        command.args(["-w", into, "upload.pcap"]);
    } else {
        command.args(["upload.pcap", into]);
    }
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns the part that is equal in any format: some lack microseconds.
fn verdict(connections: &Value) -> (Value, Value, Value) {
    let one = &connections[0];
    (one["verdict"]["limit"].clone(), one["verdict"]["because"].clone(), one["bytes"].clone())
}

#[test]
fn snoop_reads_as_pcap_does() {
    let test = "snoop_reads_as_pcap_does";
    if !has("editcap", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let expected = sample(folder.path());
    assert!(convert(folder.path(), "snoop", "upload.snoop"));
    let file = folder.path().join("upload.snoop");
    let record = explained(&file);
    assert_eq!(record["connections"], expected);
    assert_eq!(record["capture"]["format"], "snoop");
    assert_eq!(record["capture"]["link_type"], "Ethernet");
    assert!(record["capture"]["drops"].is_null(), "editcap knows of none");

    // Packed, large enough to be mapped, and through a pipe.
    let bytes = std::fs::read(&file).unwrap();
    let packed = folder.path().join("upload.snoop.gz");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&bytes).unwrap();
    std::fs::write(&packed, packer.finish().unwrap()).unwrap();
    assert_eq!(explained(&packed)["connections"], expected);
    let large = folder.path().join("large.snoop");
    let repeated = [&bytes[..16], &bytes[16..].repeat((5 << 20) / bytes.len() + 1)].concat();
    std::fs::write(&large, &repeated).unwrap();
    let packets = explained(&large)["capture"]["packets"].as_u64().unwrap();
    assert_eq!(packets, 110 * ((5 << 20) / bytes.len() as u64 + 1));
    let mut command = windlass();
    command.args(["explain", "--json", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for part in bytes.chunks(1_000) {
        stdin.write_all(part).unwrap();
    }
    drop(stdin);
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
    let piped: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(piped["connections"], expected);
}

#[test]
fn what_a_snoop_lost_is_told() {
    let test = "what_a_snoop_lost_is_told";
    if !has("editcap", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    assert!(convert(folder.path(), "snoop", "upload.snoop"));
    let file = folder.path().join("upload.snoop");
    let mut bytes = std::fs::read(&file).unwrap();
    // From its hundredth record on it says that 12 packets were lost.
    let (mut at, mut number) = (16, 0);
    while at < bytes.len() {
        number += 1;
        if number >= 100 {
            bytes[at + 15] = 12;
        }
        at += u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(explained(&file)["capture"]["drops"], 12);
    let (stdout, _, code) = told(&windlass().arg("explain").arg(&file).output().unwrap());
    assert_eq!(code, 0);
    assert!(stdout.contains("The capture lost 12 packets, as its file says."), "{stdout}");
}

/// The command between the first two backticks.
fn command_in(message: &str) -> String {
    message.split('`').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn other_formats_are_named_with_the_command_that_converts_them() {
    let test = "other_formats_are_named_with_the_command_that_converts_them";
    if !has("editcap", test) || !has("mergecap", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let expected = sample(folder.path());
    let mut findings = Findings::default();
    for (format, file, said) in [
        ("5views", "upload.5vw", Some("an InfoVista 5View capture")),
        ("commview-ncf", "upload.ncf", Some("a CommView capture")),
        ("commview-ncfx", "upload.ncfx", Some("a CommView capture")),
        ("erf", "upload.erf", Some("an Endace ERF capture")),
        ("k12text", "upload.txt", Some("a K12 text file")),
        ("lanalyzer", "upload.tr1", Some("a Novell LANalyzer capture")),
        ("netmon1", "upload.cap", Some("Microsoft Network Monitor 1")),
        ("netmon2", "a trace's copy.cap", Some("Microsoft Network Monitor 2")),
        ("nettl", "upload.trc0", Some("HP-UX nettl")),
        ("ngsniffer", "upload.enc", Some("a Sniffer capture (Network General, DOS)")),
        ("ngwsniffer_1_1", "upload11.cap", Some("a NetXRay or Sniffer capture (Windows)")),
        ("ngwsniffer_2_0", "upload20.cap", Some("a NetXRay or Sniffer capture (Windows)")),
        ("nokiapcap", "nokia.pcap", Some("Nokia's variant of pcap")),
        ("observer", "upload.bfr", Some("a Viavi Observer capture")),
        ("rh6_1pcap", "redhat.pcap", Some("Red Hat 6.1's variant of pcap")),
        ("suse6_3pcap", "suse.pcap", Some("SuSE 6.3's variant of pcap")),
        ("visual", "upload.vn", Some("a Visual Networks capture")),
        ("modpcap", "modified.pcap", None),
        ("nsecpcap", "nanoseconds.pcap", None),
        ("pcapng", "upload2.pcapng", None),
        ("snoop", "upload.snoop", None),
    ] {
        if !convert(folder.path(), format, file) {
            findings.add(format, "tool", "writes it", "does not");
            continue;
        }
        let mut explain = windlass();
        explain.current_dir(folder.path()).args(["explain", "--json", file]);
        let (stdout, stderr, code) = told(&explain.output().unwrap());
        let Some(said) = said else {
            findings.check(code == 0, format, "exit code", 0, &stderr);
            let record: Value = serde_json::from_str(&stdout).unwrap_or_default();
            let same = record["connections"] == expected;
            findings.check(same, format, "connections", "the same", &record["capture"]);
            continue;
        };
        findings.check(code == 1 && stdout.is_empty(), format, "exit code", 1, code);
        let begins = format!("error: cannot explain {file}: this is {said}, which windlass does");
        findings.check(stderr.starts_with(&begins), format, "message", &begins, &stderr);
        // editcap 4.0 cannot read what it writes in these.
        if matches!(format, "observer" | "commview-ncfx") {
            continue;
        }
        // What the message says works as it stands, and gives the same.
        let command = command_in(&stderr);
        let run = Command::new("sh").current_dir(folder.path()).args(["-c", &command]).output();
        let (_, complaint, code) = told(&run.unwrap());
        findings.check(code == 0, format, "its command", &command, complaint);
        let converted = Path::new(file).with_extension("pcapng");
        let path = folder.path().join(&converted);
        if !path.is_file() {
            findings.add(format, "its command", "makes the file", &command);
            continue;
        }
        let record = explained(&path);
        let (got, wanted) = (verdict(&record["connections"]), verdict(&expected));
        findings.check(
            got == wanted,
            format,
            "what it is then",
            format!("{wanted:?}"),
            format!("{got:?}"),
        );
    }
    findings.assert_none();
}

#[test]
fn what_other_programs_packed_is_read_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let expected = sample(folder.path());
    let program = windlass().get_program().to_owned();
    for (packer, name) in [("xz", "upload.xz"), ("bzip2", "upload.bz2"), ("lz4", "upload.lz4")] {
        if !has(packer, "what_other_programs_packed_is_read_on_the_way") {
            continue;
        }
        let packed = File::create(folder.path().join(name)).unwrap();
        let mut pack = Command::new(packer);
        pack.current_dir(folder.path()).args(["-c", "upload.pcap"]).stdout(packed);
        assert!(pack.status().unwrap().success());
        let mut explain = windlass();
        explain.current_dir(folder.path()).args(["explain", name]);
        let (_, stderr, code) = told(&explain.output().unwrap());
        assert_eq!(code, 1);
        assert!(stderr.contains(&format!("this is packed with {packer}, which")), "{stderr}");
        // The command as it stands, but for where windlass is.
        let program = program.to_str().unwrap();
        let line = command_in(&stderr)
            .replace("windlass explain -", &format!("{program} explain --json -"));
        let run = Command::new("sh").current_dir(folder.path()).args(["-c", &line]).output();
        let (stdout, stderr, code) = told(&run.unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        let record: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(record["connections"], expected, "{line}");
    }
}

#[test]
fn archives_and_others_are_named_by_their_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut etl = vec![0; 4_096];
    etl[..4].copy_from_slice(&0x1_0000_u32.to_le_bytes());
    etl[72..76].copy_from_slice(&[2, 0, 2, 0xc0]);
    let mut findings = Findings::default();
    for (name, bytes, said, tip) in [
        ("trace.etl", etl, "a Windows event trace (ETL)", "`etl2pcapng trace.etl trace.pcapng`"),
        (
            "a.pcap.xz",
            b"\xfd7zXZ\0\0\x04".to_vec(),
            "packed with xz",
            "`xz -dc a.pcap.xz | windlass explain -`",
        ),
        (
            "a.pcap.bz2",
            b"BZh91AY&SY".to_vec(),
            "packed with bzip2",
            "`bzip2 -dc a.pcap.bz2 | windlass explain -`",
        ),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "a 7z archive", "`7z x a.7z`"),
        ("a.rar", b"Rar!\x1a\x07\x01\0".to_vec(), "a rar archive", "`unrar x a.rar`"),
        ("a.ar", b"!<arch>\nx".to_vec(), "an ar archive", "`ar x a.ar`"),
        ("a.pkt", b"\x7fver\0\0\0\x10".to_vec(), "an EtherPeek, AiroPeek", "`editcap -F pcapng"),
        ("a.blf", b"LOGG\x90\0\0\0\x01".to_vec(), "a Vector log (BLF)", "`editcap -F pcapng"),
        ("a.ipt", b"iptrace 2.0....".to_vec(), "AIX iptrace", "`editcap -F pcapng"),
        ("a.har", b"{ \"log\": {\"version\": \"1.2\"}}".to_vec(), "a HAR file", "windlass capture"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let mut explain = windlass();
        explain.current_dir(folder.path()).args(["explain", name]);
        let (_, stderr, code) = told(&explain.output().unwrap());
        findings.check(code == 1, name, "exit code", 1, code);
        let begins = format!("error: cannot explain {name}: this is {said}");
        findings.check(stderr.starts_with(&begins), name, "message", &begins, &stderr);
        findings.check(stderr.contains(tip), name, "advice", tip, &stderr);
    }
    findings.assert_none();
    // A stream has no name that a command could take.
    let mut command = windlass();
    command.args(["explain", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"GMBU\0\x02\x01\0").unwrap();
    let (_, stderr, _) = told(&child.wait_with_output().unwrap());
    assert!(stderr.contains("`editcap -F pcapng FILE FILE.pcapng`"), "{stderr}");
}
