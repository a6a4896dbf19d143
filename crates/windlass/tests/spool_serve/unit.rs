//! The unit of systemd: what it starts serves, and systemd understands all of it.

use std::fs;
use std::process::Command;

use super::client::print;
use super::server::Spool;
use windlass_testkit::{has, repository, windlass};

fn unit() -> String {
    fs::read_to_string(repository("packaging/systemd/windlass-spool.service")).unwrap()
}

#[test]
fn what_the_unit_starts_serves() {
    let unit = unit();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = start.split(' ');
    assert_eq!(words.next(), Some("/usr/bin/windlass"));
    // The same below a folder of the test's.
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass();
    for word in words {
        match word.strip_prefix('/') {
            Some(path) => command.arg(folder.path().join(path)),
            None => command.arg(word),
        };
    }
    for path in ["etc/windlass", "var/log/windlass"] {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    let config = "[[printer]]\nname = \"a\"\ndevice = \"drop\"\n";
    fs::write(folder.path().join("etc/windlass/spool.toml"), config).unwrap();
    // Its lines go to its log: here they are to be read.
    let log = folder.path().join("var/log/windlass/spool.log");
    std::os::unix::fs::symlink("/dev/stdout", &log).unwrap();
    command.args(["--json", "--listen", "127.0.0.1:0"]);
    let spool = Spool::of(command).unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr));
    print(spool.ipp, "a", "one", b"1");
    spool.wait_counts("a", "completed", 1);
    assert!(folder.path().join("var/lib/windlass/spool/journal.a").exists());
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn systemd_understands_all_of_the_unit() {
    let test = "systemd_understands_all_of_the_unit";
    if !has("systemd-analyze", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass-spool.service");
    // What it starts has to be there.
    let program = windlass().get_program().to_str().unwrap().to_owned();
    fs::write(&path, unit().replace("/usr/bin/windlass", &program)).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_it: Vec<_> = said.lines().filter(|line| line.contains("windlass-spool")).collect();
    assert!(of_it.is_empty(), "{said}");
    assert!(verified.status.success(), "{said}");
}
