//! Tests with a disk that stalls. Threads that do not need the disk do not wait. No client is told
//! that a job is safe before it is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use windlass_spool_core::{Device, JobId, PrinterSettings, Refusal, Rules, Ticket};

use super::account::AccountSettings;
use super::commands::CommandSettings;
use super::device_logins::DeviceLogins;
use super::spooler::intake::Intake;
use super::spooler::{Spooler, SpoolerSettings};
use super::store::tests::slow::{StallKind, Valve, opened};
use super::store::{Durability, Settings};
use super::table::{FiledDocument, JobTable};

/// Time after which a test that hangs fails.
const STUCK: Duration = Duration::from_secs(60);

/// Opens a spool with a stopped printer.
fn spool(durability: Durability) -> (Arc<Spooler>, Arc<Valve>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Settings { durability, most: None };
    let settings = SpoolerSettings {
        printers: vec![PrinterSettings {
            is_stopped: true,
            ..PrinterSettings::new("a", Device::Drop)
        }],
        rules: Rules::default(),
        store,
        max_document: None,
        observer: None,
        commands: CommandSettings::default(),
        converts: false,
        device_logins: DeviceLogins::default(),
        account: AccountSettings::default(),
    };
    let (kept, valve) = opened(folder.path(), store).unwrap();
    (Spooler::over(kept, settings, |_| {}).unwrap(), valve, folder)
}

fn received(spooler: &Arc<Spooler>, data: &[u8]) -> Result<FiledDocument, Refusal> {
    let mut intake = Intake::new(spooler, Some(data.len() as u64));
    intake.append(data)?;
    intake.finish("document")
}

fn filed(spooler: &Arc<Spooler>, data: &[u8]) -> Result<JobId, Refusal> {
    let document = received(spooler, data)?;
    let ticket = Ticket::new("report", "ann", "192.0.2.1");
    spooler.file(spooler.admit(0)?, ticket, vec![document])
}

/// Runs `work` in another thread.
fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(work()));
    receiver
}

fn content(spooler: &Spooler, id: JobId) -> Vec<u8> {
    let document = spooler.look(|table| table.job(id).unwrap().documents[0].document.clone());
    let mut bytes = Vec::new();
    document.reader().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_document_that_the_disk_takes_slowly_holds_up_nobody_else() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let (spooler, valve, _folder) = spool(durability);
        let first = filed(&spooler, b"before").unwrap();
        valve.turn(StallKind::Documents);
        let large = vec![7; 1 << 20];
        let coming = {
            let (spooler, large) = (Arc::clone(&spooler), large.clone());
            elsewhere(move || filed(&spooler, &large))
        };
        valve.until_waiting(1);
        // Meanwhile, jobs are listed, read, held and released, and others arrive.
        let others = {
            let spooler = Arc::clone(&spooler);
            elsewhere(move || {
                let held = spooler.change(|table| table.hold(first));
                held.unwrap().unwrap();
                (spooler.look(JobTable::active), content(&spooler, first))
            })
        };
        assert_eq!(others.recv_timeout(STUCK), Ok((1, b"before".to_vec())));
        assert!(coming.try_recv().is_err(), "its data is nowhere yet");
        valve.turn(StallKind::Nothing);
        let id = coming.recv_timeout(STUCK).unwrap().unwrap();
        assert!(content(&spooler, id) == large);
    }
}

#[test]
fn nobody_is_told_that_a_job_is_safe_before_the_disk_has_it() {
    let (spooler, valve, _folder) = spool(Durability::Fsync);
    valve.turn(StallKind::Syncs);
    let (sender, told) = channel();
    for number in 0..8_u8 {
        let (spooler, sender) = (Arc::clone(&spooler), sender.clone());
        thread::spawn(move || sender.send((number, filed(&spooler, &[number; 10_000]))));
    }
    valve.until_waiting(1);
    // Readers of the job table do not wait. All jobs are there as soon as their threads have run.
    let looked = {
        let spooler = Arc::clone(&spooler);
        elsewhere(move || {
            while spooler.look(JobTable::active) < 8 {
                thread::yield_now();
            }
        })
    };
    assert_eq!(looked.recv_timeout(STUCK), Ok(()));
    assert_eq!(told.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
    valve.turn(StallKind::Nothing);
    for _ in 0..8 {
        let (number, id) = told.recv_timeout(STUCK).unwrap();
        assert!(content(&spooler, id.unwrap()) == [number; 10_000]);
    }
}
