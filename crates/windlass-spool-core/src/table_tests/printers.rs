//! Printers that come, change and go, and what a start finds of that.

use super::*;
use crate::table::{ChangeKind, Leftover, PrinterChange};

fn at(name: &str, device: &str) -> PrinterSettings {
    PrinterSettings::new(name, device.parse().unwrap())
}

fn names(table: &JobTable) -> Vec<&str> {
    table.listed().map(|one| one.settings.name.as_str()).collect()
}

fn lines(changes: &[PrinterChange]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn new_settings_add_change_and_remove_printers_and_keep_jobs() {
    let mut fixture = Fixture::plain();
    let (of_a, of_b) = (fixture.job(0), fixture.job(1));
    let told = vec![at("c", "drop"), at("a", "socket://192.0.2.9")];
    let changes = fixture.table.reload(told.clone(), fixture.now);
    assert_eq!(
        lines(&changes),
        ["printer c: added", "printer a: changed (device)", "printer b: removed, 1 jobs kept"]
    );
    recount(&fixture.table);
    assert_eq!(names(&fixture.table), ["c", "a"]);
    assert_eq!(fixture.table.default_place(), Ok(2));
    assert_eq!(fixture.table.reload(told, fixture.now), []);
    // The job of the one that is gone waits, and nobody may send more.
    assert_eq!((fixture.next(1), fixture.phase(of_b).as_str()), (None, "waiting"));
    assert!(fixture.table.admit(1).is_err());
    assert_eq!(fixture.delivers(0), Some(of_a));
    // It is back, and goes on.
    let changes = fixture.table.reload(vec![at("b", "drop")], fixture.now);
    let [b, c, a] = ["b", "c", "a"].map(ToOwned::to_owned);
    assert_eq!(changes[0], PrinterChange { name: b, what: ChangeKind::Added });
    assert_eq!(changes[1], PrinterChange { name: c, what: ChangeKind::Removed(0) });
    assert_eq!(changes[2], PrinterChange { name: a, what: ChangeKind::Removed(0) });
    assert!(fixture.table.orders().wake.contains(&1));
    assert_eq!(fixture.delivers(1), Some(of_b));
    recount(&fixture.table);
}

#[test]
fn a_device_that_is_another_is_tried_at_once() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.table.orders();
    // While the old one has the job, and with the policy to give it up.
    let mut other = at("a", "socket://192.0.2.9");
    other.on_error = OnError::Abort;
    fixture.table.set_printer(other, fixture.now).unwrap();
    assert_eq!(fixture.table.orders().break_off, [0]);
    fixture.fails(0);
    assert_eq!(fixture.phase(id), "waiting");
    assert_eq!(fixture.next(0), Some(id));
    fixture.fails(0);
    assert_eq!(fixture.phase(id), "aborted");
}

#[test]
fn the_last_word_on_a_printer_counts() {
    let mut fixture = Fixture::plain();
    let settings = || vec![printer("a"), printer("b")];
    let now = fixture.now;
    // At run time: one more, one changed, one removed.
    fixture.table.set_printer(at("more", "socket://192.0.2.9"), now).unwrap();
    fixture.table.set_printer(at("a", "socket://192.0.2.8"), now).unwrap();
    fixture.table.remove_printer(1, Leftover::Keep, now).unwrap();
    fixture.table.set_default(2);
    let device = |table: &JobTable, name: &str| {
        table.printers()[table.place(name).unwrap()].settings.device.to_string()
    };
    // It outlives a start and settings that say what they said.
    for _ in 0..2 {
        assert_eq!(names(&fixture.table), ["a", "more"]);
        assert_eq!(device(&fixture.table, "a"), "socket://192.0.2.8:9100");
        assert_eq!(device(&fixture.table, "more"), "socket://192.0.2.9:9100");
        let default = fixture.table.default_place().unwrap();
        assert_eq!(fixture.table.printers()[default].settings.name, "more");
        assert_eq!(fixture.table.reload(settings(), now), []);
        assert_eq!(fixture.restarted(settings()), []);
    }
    // Settings that say something else of a printer count again: while it runs,
    let changed = vec![at("a", "socket://192.0.2.7"), printer("b")];
    let changes = fixture.table.reload(changed.clone(), now);
    assert_eq!(lines(&changes), ["printer a: changed (device)"]);
    assert_eq!(device(&fixture.table, "a"), "socket://192.0.2.7:9100");
    fixture.restarted(changed);
    assert_eq!(names(&fixture.table), ["a", "more"]);
    // and at a start, which says so.
    let changed = vec![at("a", "socket://192.0.2.7"), at("b", "socket://192.0.2.6")];
    let orphans = fixture.restarted(changed.clone());
    assert_eq!(orphans, [Orphan::Overruled { name: "b".to_owned() }]);
    assert_eq!(names(&fixture.table), ["a", "b", "more"]);
    assert_eq!(fixture.restarted(changed), []);
    // One that the settings had and have no more is gone, however it was changed since.
    fixture.table.set_printer(at("b", "drop"), now).unwrap();
    let orphans = fixture.restarted(vec![at("a", "socket://192.0.2.7")]);
    assert_eq!(orphans, [Orphan::Overruled { name: "b".to_owned() }]);
    assert_eq!(names(&fixture.table), ["a", "more"]);
    // The one that was added is removed for good.
    let place = fixture.table.place("more").unwrap();
    fixture.table.remove_printer(place, Leftover::Keep, now).unwrap();
    fixture.restarted(vec![at("a", "socket://192.0.2.7")]);
    assert_eq!(names(&fixture.table), ["a"]);
    assert_eq!(fixture.table.default_place(), Ok(0));
}

#[test]
fn jobs_are_moved() {
    let mut fixture = Fixture::plain();
    let held = fixture.filed(0, held());
    fixture.table.made_durable(held);
    let (printing, waiting, open) = (fixture.job(0), fixture.job(0), fixture.opened(ticket("ann")));
    fixture.next(0);
    fixture.table.orders();
    assert!(fixture.table.move_job(waiting, 0, fixture.now).is_err());
    fixture.table.move_all(0, 1, fixture.now).unwrap();
    assert_eq!(fixture.table.orders().break_off, [0]);
    recount(&fixture.table);
    // The device has its job still. What it does not deliver goes to the other printer.
    assert_eq!(fixture.table.job(printing).unwrap().printer, 0);
    fixture.finish(0, Outcome::Failed("it was broken off".to_owned()));
    recount(&fixture.table);
    assert!(fixture.table.printers()[0].live.is_empty());
    assert_eq!((fixture.delivers(1), fixture.delivers(1)), (Some(printing), Some(waiting)));
    fixture.add(open, true).unwrap();
    assert_eq!((fixture.delivers(1), fixture.phase(held).as_str()), (Some(open), "held"));
    // One that was delivered meanwhile stays where it was.
    let late = fixture.job(1);
    fixture.next(1);
    fixture.table.move_job(late, 0, fixture.now).unwrap();
    fixture.finish(1, Outcome::Delivered);
    assert_eq!((fixture.phase(late).as_str(), fixture.next(0)), ("completed", None));
    assert!(fixture.table.move_job(late, 0, fixture.now).is_err());
    // One that is about to be over goes nowhere, nor does one that goes end here.
    let ending = fixture.job(1);
    fixture.next(1);
    assert!(fixture.table.may_end(1));
    let refused = fixture.table.move_job(ending, 0, fixture.now).unwrap_err().to_string();
    assert!(refused.ends_with("the device has the whole job already"), "{refused}");
    fixture.table.move_all(1, 0, fixture.now).unwrap();
    assert!(fixture.table.cancel(ending, fixture.now).is_err());
    fixture.finish(1, Outcome::Delivered);
    assert_eq!((fixture.phase(ending).as_str(), fixture.next(0)), ("completed", None));
    let leaving = fixture.job(1);
    fixture.next(1);
    fixture.table.move_job(leaving, 0, fixture.now).unwrap();
    assert!(!fixture.table.may_end(1));
    fixture.fails(1);
    assert_eq!(fixture.delivers(0), Some(leaving));
    let canceled = fixture.job(1);
    fixture.next(1);
    fixture.table.cancel(canceled, fixture.now).unwrap();
    assert!(!fixture.table.may_end(1));
    fixture.fails(1);
    // A start finds what was to be moved where it was to go.
    let crashed = fixture.job(1);
    fixture.next(1);
    fixture.table.move_job(crashed, 0, fixture.now).unwrap();
    fixture.restarted(vec![printer("a"), printer("b")]);
    assert_eq!(fixture.delivers(0), Some(crashed));
    // Nobody moves jobs where none are taken.
    let id = fixture.job(1);
    fixture.table.accept(0, false, fixture.now);
    let refused = fixture.table.move_job(id, 0, fixture.now);
    assert_eq!(refused, Err(Refusal::NotAccepting("a".to_owned())));
}

#[test]
fn jobs_of_a_removed_printer_are_kept_canceled_or_moved() {
    for (leftover, phase) in [
        (Leftover::Keep, "waiting"),
        (Leftover::Cancel, "canceled"),
        (Leftover::Move(1), "waiting"),
    ] {
        let mut fixture = Fixture::plain();
        let id = fixture.job(0);
        fixture.table.remove_printer(0, leftover, fixture.now).unwrap();
        recount(&fixture.table);
        assert_eq!(fixture.phase(id), phase);
        let moved = leftover == Leftover::Move(1);
        assert_eq!(fixture.next(1), moved.then_some(id));
        // A kept job can be moved later, and canceled.
        if leftover == Leftover::Keep {
            fixture.restarted(vec![printer("a"), printer("b")]);
            assert_eq!(names(&fixture.table), ["b"]);
            let place = fixture.table.known_place("a").unwrap();
            fixture.table.move_all(place, 1, fixture.now).unwrap();
            assert_eq!(fixture.delivers(1), Some(id));
        }
    }
}
