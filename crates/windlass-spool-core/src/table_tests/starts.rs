//! Restarts: jobs stay where they were, printers are found by name, and no number is used twice.

use super::*;

#[test]
fn no_number_is_given_twice() {
    let mut fixture =
        Fixture::new(vec![printer("a")], Rules { history: History::Last(0), ..Rules::default() });
    let mut last = 0;
    for _ in 0..5 {
        let id = fixture.job(0);
        assert!(id > last);
        last = id;
        fixture.delivers(0);
        fixture.restarted(vec![printer("a")]);
        assert_eq!(fixture.table.known(None, 0).count(), 0);
    }
    assert_eq!(fixture.journal.len(), 1);
}

#[test]
fn after_the_last_number_comes_the_first_that_is_free() {
    let mut fixture = Fixture::plain();
    let first = fixture.job(0);
    fixture.table.next = PRINTER_KEY - 1;
    assert_eq!(fixture.job(0), PRINTER_KEY - 1);
    assert_eq!(fixture.job(0), first + 1);
    fixture.restarted(vec![printer("a"), printer("b")]);
    // A number of a job in the spool is skipped, whatever was given before the start.
    assert_eq!(fixture.job(0), first + 2);
    assert_eq!(fixture.table.live(Some(0), 0).count(), 4);
}

#[test]
fn a_crash_finds_jobs_where_they_were() {
    let mut fixture = Fixture::plain();
    let printing = fixture.job(0);
    fixture.next(0);
    let waiting = fixture.job(0);
    let mut hold = held();
    hold.priority = 70;
    let held = fixture.filed(0, hold.clone());
    let open = fixture.opened(hold);
    fixture.add(open, false).unwrap();
    let done = fixture.job(1);
    fixture.delivers(1);
    let canceled = fixture.job(1);
    fixture.next(1);
    assert_eq!(fixture.table.cancel(canceled, fixture.now), Ok(true));
    fixture.wait(1_000);
    assert_eq!(fixture.restarted(vec![printer("a"), printer("b")]), []);
    let ids = [printing, waiting, held, open, done, canceled];
    let phases = ids.map(|id| fixture.phase(id));
    assert_eq!(phases, ["waiting", "waiting", "held", "open", "completed", "canceled"]);
    // Nobody prints what was canceled, and its space is free.
    assert!(fixture.table.job(canceled).unwrap().documents.is_empty());
    assert!(fixture.journal[&canceled].1.is_empty());
    // Its client has the whole time again, and it is still to be held.
    assert_eq!(fixture.table.overdue(fixture.now), Some(fixture.now.after(SECOND * 300)));
    fixture.add(open, true).unwrap();
    assert_eq!(fixture.phase(open), "held");
    assert_eq!(fixture.table.job(open).unwrap().ticket.priority, 70);
    assert_eq!(
        [fixture.delivers(0), fixture.delivers(0), fixture.delivers(0)],
        [Some(1), Some(2), None]
    );
}

#[test]
fn what_a_loss_of_power_left_uncertain_is_held() {
    let mut fixture = Fixture::plain();
    let waiting = fixture.job(0);
    let (open, empty) = (fixture.opened(ticket("ann")), fixture.opened(ticket("ann")));
    fixture.add(open, false).unwrap();
    fixture.log();
    fixture.table = JobTable::new(vec![printer("a"), printer("b")], Rules::default(), fixture.now);
    fixture.table.restore(fixture.kept(), false, fixture.now);
    recount(&fixture.table);
    for id in [open, empty] {
        fixture.add(id, true).unwrap();
    }
    assert_eq!([waiting, open, empty].map(|id| fixture.phase(id)), ["held", "held", "waiting"]);
    assert!(fixture.table.job(waiting).unwrap().failure.is_some());
    fixture.table.release(waiting).unwrap();
    assert_eq!(fixture.delivers(0), Some(waiting));
}

#[test]
fn documents_are_freed_where_they_are_not_kept_any_more() {
    let mut fixture = Fixture::plain();
    fixture.table.rules.keeps_documents = true;
    let id = fixture.job(0);
    fixture.delivers(0);
    fixture.log();
    assert_eq!(fixture.journal[&id].1.len(), 1);
    fixture.table.rules.keeps_documents = false;
    fixture.restarted(vec![printer("a"), printer("b")]);
    assert!(fixture.journal[&id].1.is_empty());
    assert_eq!(fixture.table.job(id).unwrap().size, 1_000);
}

#[test]
fn printers_are_known_by_their_names() {
    let mut fixture = Fixture::plain();
    let ids = [fixture.job(0), fixture.job(1)];
    fixture.table.stop(1, "toner", fixture.now);
    fixture.table.reject(1, "the lab is closed", fixture.now);
    for order in [["b", "a"], ["a", "b"], ["b", "a"]] {
        fixture.restarted(order.map(printer).to_vec());
        let place = fixture.table.place("b").unwrap();
        let b = &fixture.table.printers()[place];
        assert_eq!((b.stopped.as_deref(), b.is_accepting), (Some("toner"), false));
        assert_eq!(b.rejecting.as_deref(), Some("the lab is closed"));
        assert_eq!(b.live, BTreeSet::from([ids[1]]));
        let a = &fixture.table.printers()[1 - place];
        assert_eq!((a.stopped.as_deref(), a.is_accepting), (None, true));
        assert_eq!(a.live, BTreeSet::from([ids[0]]));
    }
    // A start alone changes nothing more.
    let journal = fixture.kept().len();
    fixture.restarted(vec![printer("b"), printer("a")]);
    assert_eq!(fixture.kept().len(), journal);
}

#[test]
fn jobs_of_a_printer_that_is_gone_come_back_with_it() {
    let mut fixture = Fixture::plain();
    let (kept, lone) = (fixture.job(0), fixture.job(1));
    let orphans = fixture.restarted(vec![printer("a")]);
    assert_eq!(orphans, [Orphan::Printer { name: "b".to_owned(), jobs: 1 }]);
    // It is seen where it is, and nobody prints it.
    assert_eq!((fixture.phase(lone).as_str(), fixture.table.active()), ("waiting", 2));
    let place = fixture.table.known_place("b").unwrap();
    assert!(fixture.table.place("b").is_err() && fixture.next(place).is_none());
    assert_eq!(fixture.table.admit(place), Err(Refusal::NoPrinter("b".to_owned())));
    // Its number is not another's meanwhile.
    fixture.table.next = lone;
    assert!(fixture.job(0) > lone);
    assert_eq!(fixture.restarted(vec![printer("a"), printer("b")]), []);
    assert_eq!(fixture.delivers(1), Some(lone));
    assert_eq!(fixture.delivers(0), Some(kept));
}

#[test]
fn a_record_that_cannot_be_read_is_left_alone() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.log();
    let good = fixture.journal[&id].0.clone();
    for (key, record) in [(7, vec![9, 9, 9]), (8, Vec::new()), (PRINTER_KEY + 1, good.clone())] {
        fixture.journal.insert(key, (record, Vec::new()));
    }
    // A record of a document that is not there.
    fixture.journal.insert(9, (good, Vec::new()));
    let orphans = fixture.restarted(vec![printer("a"), printer("b")]);
    let keys: Vec<_> = orphans
        .iter()
        .map(|orphan| match orphan {
            Orphan::Unreadable { key, .. } => *key,
            Orphan::Printer { .. } | Orphan::Overruled { .. } => 0,
        })
        .collect();
    assert_eq!(keys, [PRINTER_KEY + 1, 7, 8, 9]);
    assert_eq!(fixture.journal.len(), 6);
    assert_eq!((fixture.job(0), fixture.table.active()), (1_025, 2));
}

#[test]
fn the_record_of_a_job_has_these_bytes() {
    let mut fixture = Fixture::plain();
    let mut ticket = held();
    (ticket.priority, ticket.template) = (70, Box::from([1, 2, 200]));
    (ticket.copies, ticket.is_collated) = (3, true);
    let id = fixture.opened(ticket);
    fixture.add(id, false).unwrap();
    fixture.add(id, true).unwrap();
    fixture.table.release(id).unwrap();
    fixture.next(0);
    fixture.table.progressed(0, 4);
    fixture.table.counted(0, windlass_wire::pages::Pages::Counted(300));
    fixture.fails(0);
    fixture.log();
    let (record, documents) = &fixture.journal[&id];
    assert_eq!(documents, &[1_000, 1_000]);
    let expected = [
        &b"\0\x01a\x06report\x03ann\x09192.0.2.1\x0fapplication/pdf\x46\0\x03\x01"[..],
        b"\x03\x01\x02\xc8\x02\xc0\x84\x3d\x01\xc0\x84\x3d",
        b"\x02\x0a1000 bytes\x0a1000 bytes\xd0\x0f\x02\x01\x04\x01\x08no paper\0",
        b"\x01\0\xac\x02\0\0\0\0",
    ];
    assert_eq!(record.escape_ascii().to_string(), expected.concat().escape_ascii().to_string());
}

#[test]
fn numbers_of_jobs_go_on_after_an_end_in_order() {
    let mut fixture = Fixture::plain();
    assert_eq!((fixture.job(0), fixture.job(0)), (1, 2));
    fixture.table.give_numbers_back();
    fixture.restarted(vec![printer("a"), printer("b")]);
    assert_eq!(fixture.job(0), 3);
    // After a kill some are left out, and none is given twice.
    fixture.restarted(vec![printer("a"), printer("b")]);
    assert_eq!(fixture.job(0), 1_027);
}
