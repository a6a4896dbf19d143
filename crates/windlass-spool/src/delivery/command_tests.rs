#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use windlass_print::{Access, Login, Monitor, Tls};
use windlass_spool_core::{
    Device, DeviceOffer, FiledDocument, NextStep, PrinterSettings, Rules, Ticket,
};

use super::*;
use crate::commands::CommandSettings;
use crate::store::{Durability, Settings, Store};
use crate::table::{Job, JobTable, now};

/// Returns a job of `bytes` bytes.
fn work(bytes: usize) -> Job {
    let settings = Settings { durability: Durability::Memory, most: None };
    let (store, _) = Store::open(Path::new("/nowhere"), settings).unwrap();
    let mut draft = store.draft();
    draft.append(&vec![b'x'; bytes]).unwrap();
    let mut ticket = Ticket::new("a\0b; touch /nowhere", "ann", "192.0.2.1");
    ticket.format = "text/plain".into();
    let documents = vec![FiledDocument { document: draft.finish().unwrap(), name: "one".into() }];
    let printers = vec![PrinterSettings::new("a", Device::Drop)];
    let mut table = JobTable::new(printers, Rules::default(), now());
    table.admit(0).unwrap();
    let id = table.file(0, ticket, documents, now());
    table.made_durable(id);
    let NextStep::Job(mut job) = table.next(0, now()) else { panic!("it is whole") };
    job.id = 7;
    job
}

/// Runs a command, and stops it once the file `stop` is written.
fn done(command: &str, bytes: usize, stop: Option<&Path>) -> Result<(), String> {
    let settings = CommandSettings::default();
    done_within(command, bytes, stop, &settings).map_err(|outcome| match outcome {
        Outcome::Failed(why) => why,
        other => panic!("{other:?}"),
    })
}

/// Runs a command with these settings, as the user of this test.
fn done_within(
    command: &str,
    bytes: usize,
    stop: Option<&Path>,
    commands: &CommandSettings,
) -> Result<(), Outcome> {
    let (work, monitor) = (work(bytes), Monitor::default());
    let printer = PrinterSettings::new("a", Device::Drop);
    let access = Access { tls: Tls::default().into(), login: Login::new("", None) };
    let delivery = Delivery {
        printer: &printer,
        work: &work,
        monitor: &monitor,
        patience: windlass_print::Limit::new(None),
        creates_jobs: false,
        printed: &|_| {},
        is_wanted: &|| true,
        document_size: &std::sync::atomic::AtomicU64::new(0),
        commands,
        filters: None,
        offer: &DeviceOffer::default(),
        access: &access,
        is_synced: false,
        progressed: &|_| {},
        may_end: &|| true,
    };
    thread::scope(|scope| {
        if let Some(stop) = stop {
            let monitor = &monitor;
            scope.spawn(move || {
                let is_written =
                    || std::fs::read_to_string(stop).is_ok_and(|text| text.ends_with('\n'));
                let until = Instant::now() + Duration::from_secs(60);
                while !is_written() && Instant::now() < until {
                    thread::sleep(Duration::from_millis(1));
                }
                monitor.stop();
            });
        }
        run(&delivery, command, &mut vec![0; 64 << 10])
    })
}

#[test]
fn a_command_gets_the_data_and_what_is_known_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let command = format!(
        "cat > {at}/data; printf '%s|%s|%s' \"$WINDLASS_JOB_ID\" \"$WINDLASS_JOB_NAME\" \
         \"$WINDLASS_JOB_BYTES\" > {at}/known"
    );
    assert_eq!(done(&command, 300_000, None), Ok(()));
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), vec![b'x'; 300_000]);
    let known = std::fs::read_to_string(folder.path().join("known")).unwrap();
    assert_eq!(known, "7|ab; touch /nowhere|300000");
    // A command that read enough succeeds; a command that fails says why.
    assert_eq!(done("true", 3_000_000, None), Ok(()));
    let no = done("echo first >&2; echo no toner >&2; exit 3", 10, None).unwrap_err();
    assert!(no.ends_with("ended with exit status: 3; it says \"no toner\""), "{no}");
}

#[test]
fn what_a_command_says_without_end_is_not_kept() {
    let command = "head -c 60000000 /dev/zero | tr '\\0' 'y' >&2; echo >&2; echo sorry >&2; exit 1";
    let no = done(command, 10, None).unwrap_err();
    assert!(no.ends_with("; it says \"sorry\""), "{}", no.len());
    assert!(no.len() < 1_000, "{}", no.len());
}

#[test]
fn a_command_that_is_broken_off_leaves_nobody_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    // The command reads nothing, and has a child that would go on.
    let command = format!("sleep 3017 & echo $! > {at}/child; sleep 3018; true");
    let child = folder.path().join("child");
    let no = done(&command, 3_000_000, Some(&child)).unwrap_err();
    assert!(no.contains("signal: 9"), "{no}");
    is_soon_gone(&child);
}

/// Waits until the process is gone whose number is in a file.
fn is_soon_gone(child: &Path) {
    let child = std::fs::read_to_string(child).unwrap();
    for _ in 0..6_000 {
        if is_gone(child.trim()) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("its child goes on");
}

#[test]
fn what_a_command_leaves_behind_does_not_keep_its_printer() {
    // The child holds the standard input open and reads nothing.
    assert_eq!(done("exec 3<&0; sleep 3019 <&3 & exit 0", 3_000_000, None), Ok(()));
    // A child that holds no file of the job ends with the job.
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    assert_eq!(done(&format!("sleep 3020 & echo $! > {at}/child"), 10, None), Ok(()));
    is_soon_gone(&folder.path().join("child"));
}

#[test]
fn a_command_ends_at_its_limits_and_gets_nothing_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let short = CommandSettings { time: Duration::from_millis(100), ..CommandSettings::default() };
    let command = format!("sleep 3021 & echo $! > {at}/child; wait");
    let Err(Outcome::Failed(why)) = done_within(&command, 10, None, &short) else { panic!() };
    assert!(why.ends_with("took longer than 100ms and was ended"), "{why}");
    is_soon_gone(&folder.path().join("child"));
    let little = CommandSettings { output: 1_000, ..CommandSettings::default() };
    let Err(Outcome::Failed(why)) =
        done_within(&format!("cat > {at}/output"), 100_000, None, &little)
    else {
        panic!("it wrote all")
    };
    assert!(why.contains("ended with"), "{why}");
    assert_eq!(std::fs::metadata(folder.path().join("output")).unwrap().len(), 1_000);
    assert_eq!(done(&format!("env > {at}/env; pwd >> {at}/env"), 10, None), Ok(()));
    let known = std::fs::read_to_string(folder.path().join("env")).unwrap();
    let names: Vec<&str> = known.lines().map(|line| line.split('=').next().unwrap()).collect();
    let own = ["PATH", "HOME", "SHELL", "LANG", "PWD", "SHLVL", "_", "OLDPWD", "/"];
    for name in names {
        assert!(own.contains(&name) || name.starts_with("WINDLASS_"), "{known}");
    }
    assert!(known.ends_with("\n/\n"), "{known}");
}

#[test]
fn a_command_can_refuse_a_job_for_good() {
    let usual = CommandSettings::default();
    let refused = done_within("echo no such format >&2; exit 65", 10, None, &usual);
    let Err(Outcome::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.ends_with("ended with exit status: 65; it says \"no such format\""), "{why}");
}

/// Returns whether a process is gone, or is a zombie.
fn is_gone(id: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit(')').next().unwrap().trim().starts_with(['Z', 'X']),
        Err(_) => true,
    }
}
