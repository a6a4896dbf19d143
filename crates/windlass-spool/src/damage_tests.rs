//! Tests of documents that the disk returns damaged: the job is aborted, and no device gets any of
//! its data.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use windlass_spool_core::{
    Device, Ending, Event, History, JobId, Phase, PrinterSettings, Rules, Ticket,
};

use super::account::AccountSettings;
use super::commands::CommandSettings;
use super::device_logins::DeviceLogins;
use super::spooler::intake::Intake;
use super::spooler::{Spooler, SpoolerSettings};
use super::store::tests::opened as opened_on;
use super::store::tests::simulated::{Chance, ServerEnd, SimulatedDisk};
use super::store::{Durability, Settings};
use super::table::now;

/// Time after which a test that hangs fails.
const STUCK: Duration = Duration::from_secs(60);

const JOBS: usize = 12;

fn data(job: usize) -> Vec<u8> {
    let mut state = job as u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..5_000 + job * 7_000).map(|_| next()).collect()
}

fn settings(device: Device) -> SpoolerSettings {
    let printer = PrinterSettings::new("a", device);
    SpoolerSettings {
        printers: vec![PrinterSettings { is_stopped: true, ..printer }],
        rules: Rules { history: History::All, ..Rules::default() },
        store: Settings { durability: Durability::Cache, most: None },
        max_document: None,
        observer: None,
        commands: CommandSettings::default(),
        converts: false,
        device_logins: DeviceLogins::default(),
        account: AccountSettings::default(),
    }
}

fn opened(folder: &Path, device: &Path) -> (Arc<Spooler>, Receiver<Event>) {
    let settings = settings(Device::File(device.to_owned()));
    let (sender, heard) = channel();
    let spooler = Spooler::open(folder, settings, move |event| drop(sender.send(event)));
    (spooler.unwrap(), heard)
}

fn filed(spooler: &Arc<Spooler>, job: usize) -> JobId {
    let documents = data(job)
        .chunks(4_500 + job * 3_500)
        .map(|data| {
            let mut intake = Intake::new(spooler, None);
            intake.append(data).unwrap();
            intake.finish("part").unwrap()
        })
        .collect();
    let ticket = Ticket::new("report", "ann", "192.0.2.1");
    spooler.file(spooler.admit(0).unwrap(), ticket, documents).unwrap()
}

/// Returns the position of some bytes in a folder's only segment.
fn place(folder: &Path, bytes: &[u8]) -> u64 {
    let mut all = Vec::new();
    fs::File::open(folder.join("data.00000")).unwrap().read_to_end(&mut all).unwrap();
    all.windows(bytes.len()).position(|window| window == bytes).unwrap() as u64
}

#[test]
fn what_is_damaged_is_given_up_and_no_device_has_anything_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, out) = (folder.path().join("spool"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let (spooler, _) = opened(&spool, &out);
    let ids: Vec<JobId> = (0..JOBS).map(|job| filed(&spooler, job)).collect();
    drop(spooler);
    let segment = fs::OpenOptions::new().write(true).open(spool.join("data.00000")).unwrap();
    // Damages one bit of a job, and a page in the second document of another.
    let bytes = data(3);
    let at = place(&spool, &bytes[..4_500]) + 4_000;
    segment.write_all_at(&[bytes[4_000] ^ 0x10], at).unwrap();
    let bytes = data(7);
    let second = &bytes[4_500 + 7 * 3_500..];
    segment.write_all_at(&[0; 4_096], place(&spool, &second[..4_096])).unwrap();

    let (spooler, heard) = opened(&spool, &out);
    spooler.begin().unwrap();
    spooler.change(|table| table.start(0, now())).unwrap();
    let mut said = Vec::new();
    let is_over = |id: &JobId| spooler.look(|table| table.job(*id).unwrap().is_over());
    while !ids.iter().all(is_over) {
        said.extend(heard.recv_timeout(Duration::from_millis(10)));
    }
    while said.len() < 2 {
        said.push(heard.recv_timeout(STUCK).unwrap());
    }
    for (job, id) in ids.iter().enumerate() {
        let (phase, why) = spooler.look(|table| {
            let job = table.job(*id).unwrap();
            (job.phase, job.failure.clone())
        });
        let Phase::Over { how, .. } = phase else { panic!("{phase:?}") };
        let file = out.join(format!("a-{id:08}"));
        if job == 3 || job == 7 {
            assert_eq!(how, Ending::Aborted);
            let which = if job == 3 { "document 1 of 2" } else { "document 2 of 2" };
            assert!(why.unwrap().contains(which));
            assert!(!file.exists());
        } else {
            assert_eq!((how, why), (Ending::Completed, None));
            assert!(fs::read(file).unwrap() == data(job), "job {job}");
        }
    }
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[0],
        "printer a: job 4: document 1 of 2 is damaged in the spool (its checksum does not match); \
         nothing was printed: aborted"
    );
    assert!(said[1].starts_with("printer a: job 8: document 2 of 2 is damaged"), "{}", said[1]);
    // The failure is not counted against the printer.
    assert_eq!(spooler.look(|table| table.printers()[0].counts.failures), 0);
    spooler.end();
}

#[test]
fn a_start_after_a_loss_of_power_tells_what_is_damaged() {
    let disk = SimulatedDisk::new(1 << 30);
    let settings = || settings(Device::Drop);
    let spooler = Spooler::over(opened_on(&disk), settings(), |_| {}).unwrap();
    let ids: Vec<JobId> = (0..JOBS).map(|job| filed(&spooler, job)).collect();
    // The machine stops; a page of one document has not reached the disk.
    let next = disk.restart(ServerEnd::Process, &mut Chance(1));
    next.restart_machine();
    let bytes = data(5);
    let segment = next.content("data.00000");
    let at = segment.windows(4_096).position(|window| window == &bytes[..4_096]).unwrap();
    next.damage("data.00000", at..at + 4_096, 0);
    drop(spooler);
    let (sender, heard) = channel();
    let spooler =
        Spooler::over(opened_on(&next), settings(), move |event| drop(sender.send(event)));
    let spooler = spooler.unwrap();
    assert!(spooler.recovery().uncertain);
    let said: Vec<String> = heard.try_iter().map(|event| event.to_string()).collect();
    assert!(said.len() == 1 && said[0].starts_with("printer a: job 6: its document is damaged"));
    for (job, id) in ids.iter().enumerate() {
        let phase = spooler.look(|table| table.job(*id).unwrap().phase);
        match phase {
            Phase::Over { how, .. } => assert_eq!((job, how), (5, Ending::Aborted)),
            // An intact job is held as well: it may have been printed.
            other => assert!(job != 5 && other == Phase::Held, "job {job}: {other:?}"),
        }
    }
}
