//! Jobs of which a device may have printed a part.

use super::*;
use crate::event::Event;
use crate::message::job_message;
use crate::printer::OnPartial;
use crate::standing::{DeviceProgress, DeviceStall, PartialPrint, StallSign};

/// A part of the usual job.
pub(super) fn part(bytes: u64) -> PartialPrint {
    PartialPrint { bytes, of: 1_000, is_reported: false }
}

fn breaks(partial: PartialPrint) -> Outcome {
    Outcome::Partial("the connection broke".to_owned(), partial)
}

#[test]
fn a_policy_says_what_becomes_of_a_job_that_may_be_printed_in_part() {
    let reported = PartialPrint { is_reported: true, ..part(400) };
    let (retry, abort) = (OnError::Retry, OnError::Abort);
    let table = [
        (None, retry, part(400), "held"),
        (None, retry, reported, "waiting"),
        (None, abort, part(400), "aborted"),
        (None, OnError::Stop, part(400), "held"),
        (None, OnError::Stop, reported, "waiting"),
        (Some(OnPartial::Retry), retry, part(400), "waiting"),
        (Some(OnPartial::Retry), abort, part(400), "waiting"),
        (Some(OnPartial::Hold), abort, reported, "held"),
        (Some(OnPartial::Abort), retry, reported, "aborted"),
    ];
    for (on_partial, on_error, partial, phase) in table {
        let settings = PrinterSettings { on_partial, on_error, ..printer("a") };
        let mut fixture = Fixture::new(vec![settings], Rules::default());
        let (id, behind) = (fixture.job(0), fixture.job(0));
        fixture.next(0);
        fixture.table.begins(0);
        fixture.finish(0, breaks(partial));
        let what = format!("{on_partial:?} {on_error:?} {partial:?}");
        assert_eq!(fixture.phase(id), phase, "{what}");
        let job = fixture.table.job(id).unwrap();
        assert_eq!(
            job.failure.as_deref(),
            Some("the connection broke; the device may have printed up to 400 B of 1,000 B"),
        );
        assert_eq!((job.broken_off, job.attempts), (400, 1));
        let is_stopped = fixture.table.printers()[0].stopped.is_some();
        assert_eq!(is_stopped, on_error == OnError::Stop && phase != "aborted", "{what}");
        recount(&fixture.table);
        // The jobs behind it wait as after any failure, and have their turn.
        fixture.table.start(0, fixture.now);
        let next = if phase == "waiting" { id } else { behind };
        assert_eq!(fixture.delivers(0), Some(next), "{what}");
        if phase == "held" {
            fixture.table.release(id).unwrap();
            assert_eq!(fixture.delivers(0), Some(id));
        }
    }
}

#[test]
fn a_job_that_was_broken_off_by_its_user_says_what_may_be_on_paper() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.table.begins(0);
    fixture.table.cancel(id, fixture.now).unwrap();
    fixture.finish(0, breaks(part(400)));
    assert_eq!(fixture.phase(id), "canceled");
    let said = fixture.table.job(id).unwrap().failure.clone();
    assert_eq!(said.as_deref(), Some("the device may have printed up to 400 B of 1,000 B"));
    // One that its device cancels is canceled, and no failure of the device.
    let id = fixture.job(0);
    fixture.next(0);
    fixture.finish(0, Outcome::Canceled("canceled at the device".to_owned()));
    assert_eq!(fixture.phase(id), "canceled");
    assert_eq!(fixture.table.printers()[0].counts.failures, 0);
    recount(&fixture.table);
}

#[test]
fn attempts_end_a_job_that_is_retried_and_none_that_is_held() {
    let rules = Rules { max_attempts: Some(1), ..Rules::default() };
    for (on_partial, phase) in [(None, "held"), (Some(OnPartial::Retry), "aborted")] {
        let mut fixture = Fixture::new(vec![PrinterSettings { on_partial, ..printer("a") }], rules);
        let id = fixture.job(0);
        fixture.next(0);
        fixture.finish(0, breaks(part(1)));
        assert_eq!(fixture.phase(id), phase);
    }
}

#[test]
fn a_start_knows_of_a_job_that_its_device_had_begun_to_take() {
    for (on_partial, phase) in
        [(None, "held"), (Some(OnPartial::Retry), "waiting"), (Some(OnPartial::Abort), "aborted")]
    {
        let printers = || vec![PrinterSettings { on_partial, ..printer("a") }];
        let mut fixture = Fixture::new(printers(), Rules::default());
        let id = fixture.job(0);
        fixture.next(0);
        fixture.restarted(printers());
        assert_eq!(fixture.phase(id), "waiting", "its device had nothing of it");
        fixture.next(0);
        fixture.table.begins(0);
        fixture.restarted(printers());
        assert_eq!(fixture.phase(id), phase);
        let failure = fixture.table.job(id).unwrap().failure.as_deref();
        assert_eq!(failure.is_some(), phase != "waiting", "{failure:?}");
        // The result survives the next start, too.
        fixture.restarted(printers());
        assert_eq!(fixture.phase(id), phase);
        // One that failed without a part of it waits after a start.
        let id = fixture.job(0);
        fixture.table.prefer(id, 100).unwrap();
        assert_eq!(fixture.next(0), Some(id));
        fixture.table.begins(0);
        fixture.fails(0);
        fixture.restarted(printers());
        assert_eq!(fixture.phase(id), "waiting");
    }
}

#[test]
fn other_settings_break_nothing_off_and_another_device_does() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.table.orders();
    let patient = PrinterSettings { patience: Some(SECOND), ..printer("a") };
    fixture.table.set_printer(patient, fixture.now).unwrap();
    let orders = fixture.table.orders();
    assert_eq!((orders.told, orders.break_off), (vec![0], vec![]));
    fixture.finish(0, breaks(part(1)));
    assert_eq!(fixture.phase(id), "held", "its device is the same");
    let id = fixture.job(0);
    fixture.table.start(0, fixture.now);
    assert_eq!(fixture.next(0), Some(id));
    let elsewhere = Device::Target("socket://192.0.2.9".parse::<Device>().map(target).unwrap());
    let moved = PrinterSettings { device: elsewhere, ..printer("a") };
    fixture.table.set_printer(moved, fixture.now).unwrap();
    assert_eq!(fixture.table.orders().break_off, [0]);
    fixture.finish(0, breaks(part(1)));
    assert_eq!(fixture.phase(id), "waiting", "it goes to the other device at once");
    recount(&fixture.table);
}

fn target(device: Device) -> windlass_wire::target::Target {
    let Device::Target(target) = device else { panic!("{device}") };
    target
}

#[test]
fn a_printer_says_how_its_device_stands_now() {
    let mut fixture = Fixture::plain();
    let said = |fixture: &Fixture| fixture.table.printers()[0].message(fixture.now);
    let is_failing = |fixture: &Fixture| fixture.table.printers()[0].is_failing();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.fails(0);
    assert_eq!(said(&fixture), "the device fails: no paper; retry in 1 s");
    fixture.wait(1);
    fixture.next(0);
    assert_eq!(said(&fixture), "the device is retried now with job 1: it failed once");
    assert!(is_failing(&fixture));
    fixture.table.stands(0, DeviceProgress::Moving);
    assert_eq!((said(&fixture).as_str(), is_failing(&fixture)), ("", false));
    let stall = DeviceStall {
        since: fixture.now,
        acknowledged: 200,
        of: 1_000,
        sign: StallSign::ClosedWindow,
    };
    fixture.table.stands(0, DeviceProgress::Stalled(stall));
    fixture.wait(75);
    let message = said(&fixture);
    assert!(
        message
            .starts_with("the device has taken no data of job 1 for 75 s, after 200 B of 1,000 B"),
        "{message}"
    );
    let job = fixture.table.job(id).unwrap();
    assert_eq!(job_message(job, &fixture.table.printers()[0], fixture.now), message);
    // The log has it once, and once that it is over.
    let stalled = fixture.table.stall_events(fixture.now);
    let printer = "a".to_owned();
    assert_eq!(stalled, [Event::Stalled { printer: printer.clone(), what: message }]);
    assert_eq!(fixture.table.stall_events(fixture.now), []);
    fixture.finish(0, Outcome::Delivered);
    assert_eq!(fixture.table.stall_events(fixture.now), [Event::Moves { printer }]);
    assert_eq!(fixture.table.stall_events(fixture.now), []);
    assert_eq!((said(&fixture).as_str(), is_failing(&fixture)), ("", false));
    assert!(fixture.table.printers()[0].stall().is_none());
}
