//! Output to files and commands of this host: owner, permissions, and untouched files of others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::client::print;
use super::server::{Spool, open_to_all, wait_for};
use windlass_testkit::{is_root, skipped};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A spool with these printers.
fn spool(folder: &Path, printers: &str) -> Spool {
    let config = folder.join("spool.toml");
    fs::write(&config, printers).unwrap();
    Spool::start(&folder.join("spool"), &["--config", config.to_str().unwrap()])
}

#[test]
fn files_with_print_data_are_nobody_elses_unless_a_mode_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("out")).unwrap();
    let printers = format!(
        "durability = \"fsync\"\n\
         [[printer]]\nname = \"a\"\ndevice = \"file:{out}\"\n\
         [[printer]]\nname = \"b\"\ndevice = \"file:{out}\"\nmode = \"0640\"\n\
         [[printer]]\nname = \"c\"\ndevice = \"file:{plain}\"\n",
        out = at("out").display(),
        plain = at("plain").display(),
    );
    let spool = spool(folder.path(), &printers);
    for printer in ["a", "b", "c"] {
        print(spool.ipp, printer, "one", b"data");
        spool.wait_counts(printer, "completed", 1);
    }
    for (path, rights) in [("out/a-00000001", 0o600), ("out/b-00000002", 0o640), ("plain", 0o600)] {
        assert_eq!(fs::read(at(path)).unwrap(), b"data", "{path}");
        assert_eq!(mode(&at(path)), rights, "{path}");
    }
    assert_eq!(mode(&at("spool")), 0o700);
    for entry in fs::read_dir(at("spool")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(spool.stop().code, Some(0));
}

/// In a folder that others may write to, they may put links where files will be.
#[test]
fn links_that_others_made_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("out")).unwrap();
    open_to_all(&at("out"));
    fs::write(at("victim"), "untouched").unwrap();
    for name in ["a-00000001", ".a-00000001.part", "plain"] {
        symlink(at("victim"), at("out").join(name)).unwrap();
    }
    let out = at("out").display().to_string();
    let printers = format!(
        "[[printer]]\nname = \"a\"\ndevice = \"file:{out}/\"\n\
         [[printer]]\nname = \"b\"\ndevice = \"file:{out}/plain\"\non-error = \"abort-job\"\n"
    );
    let spool = spool(folder.path(), &printers);
    print(spool.ipp, "a", "one", b"data");
    spool.wait_counts("a", "completed", 1);
    print(spool.ipp, "b", "two", b"data");
    spool.wait_counts("b", "aborted", 1);
    spool.says("it is a symbolic link in a folder that others may write to, and is not followed");
    assert_eq!(fs::read_to_string(at("victim")).unwrap(), "untouched");
    let job = fs::symlink_metadata(at("out").join("a-00000001")).unwrap();
    assert!(job.is_file() && job.len() == 4);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn commands_run_as_somebody_who_may_little() {
    let test = "commands_run_as_somebody_who_may_little";
    if !is_root() {
        return skipped(test, "only root can run commands as others");
    }
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let at = |name: &str| folder.path().join(name);
    let command = |name: &str| format!("exec:cat > {}", at(name).display());
    let printers = format!(
        "[commands]\nuser = \"nobody\"\ntime = \"1s\"\n\
         [[printer]]\nname = \"a\"\ndevice = \"{}\"\n\
         [[printer]]\nname = \"b\"\ndevice = \"{}\"\nuser = \"root\"\n\
         [[printer]]\nname = \"c\"\ndevice = \"exec:cat {}/journal-0\"\non-error = \"abort-job\"\n\
         [[printer]]\nname = \"d\"\ndevice = \"exec:sleep 3022\"\non-error = \"abort-job\"\n",
        command("a"),
        command("b"),
        at("spool").display(),
    );
    let spool = spool(folder.path(), &printers);
    assert_eq!(spool.lines()[0]["rights"]["commands"], "nobody, root");
    for printer in ["a", "b"] {
        print(spool.ipp, printer, "one", b"data");
        spool.wait_counts(printer, "completed", 1);
    }
    let owner = |name: &str| fs::metadata(at(name)).unwrap().uid();
    assert_ne!(owner("a"), 0);
    assert_eq!(owner("b"), 0);
    assert_eq!([mode(&at("a")), mode(&at("b"))], [0o600; 2]);
    // It may not read what others print.
    print(spool.ipp, "c", "two", b"data");
    spool.wait_counts("c", "aborted", 1);
    print(spool.ipp, "d", "three", b"data");
    spool.wait_counts("d", "aborted", 1);
    let failed = spool.events_once("device-failed", 2);
    assert!(failed[0].contains("Permission denied"), "{failed:?}");
    assert!(failed[1].contains("took longer than 1s and was ended"), "{failed:?}");
    wait_for("the end of its command", || {
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
        !lines.into_iter().any(|line| line == b"sleep\x003022\0")
    });
    assert_eq!(spool.stop().code, Some(0));
}

/// Returns a field of the kernel's status of a process.
fn status(spool: &Spool, name: &str) -> String {
    let path = format!("/proc/{}/status", spool.child.id());
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":"));
    line.unwrap().split_whitespace().next().unwrap().to_owned()
}

fn rights(spool: &Spool) -> String {
    spool.lines()[0]["rights"]["server"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_that_root_starts_gives_up_what_it_needs_not() {
    let test = "a_server_that_root_starts_gives_up_what_it_needs_not";
    if !is_root() {
        return skipped(test, "only root has rights to give up");
    }
    let capabilities = |numbers: &[u32]| {
        format!("{:016x}", numbers.iter().map(|number| 1_u64 << number).sum::<u64>())
    };
    // By their numbers in capabilities.h.
    let (override_, fowner, kill, setgid, setuid, bind) = (1, 3, 5, 6, 7, 10);
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let at = |name: &str| folder.path().join(name);
    let spool = Spool::start(&at("one"), &["--printer", "a=drop"]);
    assert!(rights(&spool).starts_with("runs as root and keeps these rights of root: "));
    for set in ["CapEff", "CapPrm", "CapBnd"] {
        assert_eq!(status(&spool, set), capabilities(&[override_, fowner, bind]), "{set}");
    }
    assert_eq!(status(&spool, "NoNewPrivs"), "1");
    print(spool.ipp, "a", "one", b"data");
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
    // Another user takes up what root has left, and its commands are a third one's.
    let out = at("out");
    fs::create_dir(&out).unwrap();
    open_to_all(&out);
    let stopped = ["--printer", "a=drop", "--printer", "b=drop", "--stopped"];
    let spool = Spool::start(&at("two"), &stopped);
    for printer in ["a", "b"] {
        print(spool.ipp, printer, "one", b"data");
    }
    assert_eq!(spool.stop().code, Some(0));
    let (command, file) =
        (format!("a=exec:id -u > {}", at("id").display()), format!("b=file:{}", out.display()));
    let printers = ["--printer", &command, "--printer", &file];
    let spool = Spool::start(&at("two"), &[&printers[..], &["--user", "nobody"]].concat());
    assert!(rights(&spool).starts_with("runs as nobody and keeps these rights of root: "));
    assert_eq!(status(&spool, "CapEff"), capabilities(&[kill, setgid, setuid, bind]));
    for printer in ["a", "b"] {
        spool.wait_counts(printer, "completed", 1);
    }
    let user = status(&spool, "Uid");
    assert_ne!(user, "0");
    assert_eq!(fs::metadata(out.join("b-00000002")).unwrap().uid().to_string(), user);
    assert_eq!(fs::metadata(at("two")).unwrap().uid().to_string(), user);
    let id = fs::read_to_string(at("id")).unwrap();
    assert!(!["0", &user].contains(&id.trim()), "{id}");
    assert_eq!(spool.stop().code, Some(0));
}
