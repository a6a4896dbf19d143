//! Archives of captures, as tar, zip and their like write them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use windlass_testkit::captures::explained;
use windlass_testkit::schema::fits;
use windlass_testkit::{has, repository, told, windlass};

/// Captures of the corpus whose causes differ, plain and packed, and a text beside them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("day");
    fs::create_dir_all(into.join("printers")).unwrap();
    for name in ["acks-only-window", "no-handshake", "path-capacity-policer.snd"] {
        let file = format!("{name}.pcap.gz");
        fs::copy(repository(&format!("tests/corpus/{file}")), into.join(&file)).unwrap();
    }
    let plain = into.join("printers/a b.pcap");
    let unpack =
        format!("gzip -dc '{0}/no-handshake.pcap.gz' > '{1}'", into.display(), plain.display());
    assert!(Command::new("sh").args(["-c", &unpack]).status().unwrap().success());
    fs::write(into.join("notes.txt"), "nothing of interest\n").unwrap();
    std::os::unix::fs::symlink("no-handshake.pcap.gz", into.join("latest")).unwrap();
    folder
}

/// Makes an archive by a line for the shell.
fn make(folder: &Path, line: &str) {
    let made = Command::new("sh").current_dir(folder).args(["-c", line]).output().unwrap();
    assert!(made.status.success(), "{line}: {}", String::from_utf8_lossy(&made.stderr));
}

/// Names in an order that does not hang on the file system.
const NAMES: &str = "day/notes.txt day/latest day/acks-only-window.pcap.gz \
                     day/no-handshake.pcap.gz day/path-capacity-policer.snd.pcap.gz \
                     'day/printers/a b.pcap'";

fn explain(folder: &Path, args: &[&str]) -> Output {
    windlass().current_dir(folder).arg("explain").args(args).output().unwrap()
}

/// The JSON of an archive, which fits its schema.
fn record(folder: &Path, args: &[&str]) -> Value {
    let (stdout, stderr, code) = told(&explain(folder, &[&["--json"], args].concat()));
    assert_eq!((stderr.as_str(), code), ("", 0), "{args:?}");
    let record = serde_json::from_str(&stdout).unwrap();
    fits("explain-archive", &record);
    record
}

#[test]
fn what_tar_writes_is_explained_as_the_files_are() {
    let folder = folder();
    let at = folder.path();
    make(at, &format!("tar -czf day.tgz {NAMES}"));
    let (text, stderr, code) = told(&explain(at, &["day.tgz"]));
    assert_eq!((stderr.as_str(), code), ("", 0));
    insta::assert_snapshot!("an_archive", text);
    let whole = record(at, &["--all", "day.tgz"]);
    assert_eq!(whole["archive"]["members"], 6);
    assert_eq!(whole["captures"].as_array().unwrap().len(), 4);
    for row in whole["captures"].as_array().unwrap() {
        let capture = &row["capture"];
        let member = capture["member"].as_str().unwrap();
        assert_eq!(capture["file"], format!("day.tgz::{member}"));
        let alone = explained(&at.join(member));
        let named = explained(&at.join(format!("day.tgz::{member}")));
        fits("explain", &named);
        assert_eq!(alone["connections"], named["connections"], "{member}");
        assert_eq!(alone["totals"], row["totals"], "{member}");
        assert_eq!(named["capture"]["packets"], capture["packets"], "{member}");
        assert_eq!(named["capture"]["member"], member);
        let largest = &alone["connections"][0]["verdict"];
        assert_eq!([&row["limit"], &row["because"]], [&largest["limit"], &largest["because"]]);
        // Each connection is in the archive's record, as it is in its own.
        for connection in alone["connections"].as_array().unwrap() {
            let mut there = connection.clone();
            there["file"] = capture["file"].clone();
            there["member"] = member.into();
            assert!(whole["connections"].as_array().unwrap().contains(&there), "{member}");
        }
    }
}

#[test]
fn each_form_of_an_archive_gives_the_same() {
    let folder = folder();
    let at = folder.path();
    let python = "import sys, zipfile\n\
                  with zipfile.ZipFile('python.zip', 'w', zipfile.ZIP_DEFLATED) as out:\n\
                  \x20   for name in sys.argv[1:]: out.write(name)\n";
    fs::write(at.join("make.py"), python).unwrap();
    make(at, &format!("tar -cf plain.tar {NAMES}"));
    let mut made = vec!["plain.tar"];
    for (tool, file, line) in [
        ("gzip", "gzip.tgz", "gzip -c plain.tar > gzip.tgz".to_owned()),
        ("zstd", "zstd.tar.zst", "zstd -q plain.tar -o zstd.tar.zst".to_owned()),
        ("tar", "pax.tar", format!("tar --format=pax -cf pax.tar {NAMES}")),
        ("tar", "v7.tar", format!("tar --format=v7 -cf v7.tar {NAMES}")),
        ("bsdtar", "bsd.tar", format!("bsdtar -cf bsd.tar {NAMES}")),
        ("python3", "python.zip", format!("python3 make.py {NAMES}")),
        ("zip", "info.zip", format!("zip -qy info.zip {NAMES}")),
        ("7z", "seven.zip", format!("7z a -snl -tzip seven.zip {NAMES}")),
    ] {
        if has(tool, "each_form_of_an_archive_gives_the_same") {
            make(at, &line);
            made.push(file);
        }
    }
    let expected = record(at, &["plain.tar"]);
    for file in &made[1..] {
        let got = record(at, &[file]);
        let renamed = |value: &Value| -> Value {
            let text = value.to_string().replace(&format!("{file}::"), "plain.tar::");
            serde_json::from_str(&text).unwrap()
        };
        // Python follows a link, which adds a capture; its members come in the same order.
        if *file == "python.zip" {
            assert_eq!(got["archive"]["captures"], 5, "{file}");
            continue;
        }
        assert_eq!(got["archive"]["captures"], 4, "{file}");
        let mut captures = renamed(&got["captures"]);
        let mut wanted = expected["captures"].clone();
        for list in [&mut captures, &mut wanted] {
            let name = |row: &Value| row["capture"]["file"].as_str().unwrap().to_owned();
            list.as_array_mut().unwrap().sort_by_key(name);
        }
        assert_eq!(captures, wanted, "{file}");
        assert_eq!(got["totals"], expected["totals"], "{file}");
    }
}

/// Runs windlass with these bytes at standard input.
fn piped(args: &[&str], bytes: &[u8]) -> (String, String, i32) {
    let mut child = windlass()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut pipe, bytes) = (child.stdin.take().unwrap(), bytes.to_vec());
    // Who has an answer early reads no further.
    let writer = std::thread::spawn(move || _ = pipe.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    told(&output)
}

#[test]
fn a_tar_is_read_from_a_pipe_and_a_zip_is_not() {
    let folder = folder();
    let at = folder.path();
    make(at, &format!("tar -czf day.tgz {NAMES}"));
    let tgz = fs::read(at.join("day.tgz")).unwrap();
    let (stdout, stderr, code) = piped(&["explain", "--json", "-"], &tgz);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let piped_record: Value = serde_json::from_str(&stdout).unwrap();
    fits("explain-archive", &piped_record);
    let of_file = record(at, &["day.tgz"]);
    assert_eq!(piped_record["totals"], of_file["totals"]);
    assert_eq!(piped_record["archive"]["file"], "standard input");
    // One member of it, for a command that goes over it twice.
    let member = "-::day/no-handshake.pcap.gz";
    let (shown, stderr, code) = piped(&["show", "--", member], &tgz);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let named = format!("{}::day/no-handshake.pcap.gz", at.join("day.tgz").display());
    let (of_file, _, _) = told(&windlass().args(["show", &named]).output().unwrap());
    let packets = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(packets(&shown), packets(&of_file));
    assert!(shown.lines().count() > 10);

    let (stdout, stderr, code) = piped(&["explain", "-"], b"PK\x03\x04\x14\0\0\0\x08\0");
    assert_eq!((stdout.as_str(), code), ("", 2));
    let told = "error: cannot explain standard input: it is a zip archive, whose list of members \
                is at its end\n\n  tip: Save it to a file, and name that file. A tar can be read \
                from a pipe.\n";
    assert_eq!(stderr, told);
}

#[test]
fn a_command_of_one_capture_wants_it_named() {
    let folder = folder();
    let at = folder.path();
    make(at, &format!("tar -czf day.tgz {NAMES}"));
    for (args, doing) in [
        (&["show", "day.tgz"][..], "show"),
        (&["device", "learn", "day.tgz"], "learn from"),
        (&["report", "day.tgz", "-o", "out.html"], "report on"),
        (&["explain", "day.tgz", "--annotate", "out.pcapng"], "explain"),
    ] {
        let output = windlass().current_dir(at).args(args).output().unwrap();
        let (_, stderr, code) = told(&output);
        let wrong = format!(
            "error: cannot {doing} day.tgz: it is an archive of several captures, such \
             as day/acks-only-window.pcap.gz and day/no-handshake.pcap.gz\n\n  tip: Name one of \
             them: day.tgz::day/acks-only-window.pcap.gz. `windlass explain day.tgz` explains \
             all.\n"
        );
        assert_eq!((stderr, code), (wrong, 2), "{args:?}");
    }
    let (_, stderr, code) = told(&explain(at, &["day.tgz", "--connection", "2"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("each of its captures may have a connection 2"), "{stderr}");
    let (_, stderr, code) = told(&explain(at, &["day.tgz::day/other.pcap"]));
    assert_eq!(code, 1);
    assert!(stderr.contains("the archive has no such member"), "{stderr}");
    assert!(stderr.contains("List its members: `tar -tf day.tgz`."), "{stderr}");
    let member = "day.tgz::day/printers/a b.pcap";
    let annotated = explain(at, &[member, "--annotate", "out.pcapng"]);
    assert_eq!(told(&annotated).2, 0);
    // The archive is not what is written.
    let (_, stderr, code) = told(&explain(at, &[member, "--annotate", "day.tgz"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("it is the capture that is being read"), "{stderr}");
    let again = explained(&at.join("out.pcapng"));
    let alone = explained(&at.join("day/printers/a b.pcap"));
    assert_eq!(again["totals"], alone["totals"]);
}

#[test]
fn what_came_before_the_damage_is_explained() {
    let folder = folder();
    let at = folder.path();
    make(at, &format!("tar -cf day.tar {NAMES}"));
    let whole = fs::read(at.join("day.tar")).unwrap();
    let header = whole.windows(16).rposition(|it| it == b"day/printers/a b").unwrap();
    let mut wrong = whole.clone();
    wrong[header + 1] = b'A';
    fs::write(at.join("wrong.tar"), wrong).unwrap();
    let (stdout, stderr, code) = told(&explain(at, &["wrong.tar", "--json"]));
    let told = format!(
        "error: cannot explain wrong.tar: the archive is damaged at byte {header}, after member \
         5: the tar archive is damaged: what should be a header has a wrong checksum\n\n  tip: \
         Everything before the damage was explained. Check that the archive was copied \
         completely.\n"
    );
    assert_eq!((stderr, code), (told, 1));
    let record: Value = serde_json::from_str(&stdout).unwrap();
    fits("explain-archive", &record);
    assert_eq!(record["captures"].as_array().unwrap().len(), 3);
    assert_eq!(record["archive"]["damage"]["offset"], header);
}

#[test]
fn names_that_mean_harm_are_printed_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::copy(repository("tests/corpus/no-handshake.pcap.gz"), at.join("a")).unwrap();
    if !has("python3", "names_that_mean_harm_are_printed_and_no_more") {
        return;
    }
    let python = "import tarfile\n\
                  data = open('a', 'rb').read()\n\
                  import io\n\
                  with tarfile.open('evil.tar', 'w') as out:\n\
                  \x20   for name in ['../../etc/passwd', '/etc/shadow', 'a\\x1b[31mred\\nline']:\n\
                  \x20       info = tarfile.TarInfo(name)\n\
                  \x20       info.size = len(data)\n\
                  \x20       out.addfile(info, io.BytesIO(data))\n";
    fs::write(at.join("make.py"), python).unwrap();
    make(at, "python3 make.py");
    let (text, stderr, code) = told(&explain(at, &["evil.tar", "--details"]));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(!text.contains('\x1b') && text.contains(r"a\u{1b}[31mred\nline"), "{text}");
    assert!(text.contains("evil.tar::../../etc/passwd") && text.contains("evil.tar::/etc/shadow"));
    let files: Vec<_> = fs::read_dir(at).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
}
