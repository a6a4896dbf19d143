//! What a start finds: jobs where they were, printers by their names, and numbers
//! that are not given twice.

use super::*;

#[test]
fn no_number_is_given_twice() {
    let mut desk =
        Desk::new(vec![printer("a")], Rules { history: History::Last(0), ..Rules::default() });
    let mut last = 0;
    for _ in 0..5 {
        let id = desk.job(0);
        assert!(id > last);
        last = id;
        desk.delivers(0);
        desk.restarted(vec![printer("a")]);
        assert_eq!(desk.table.known(None, 0).count(), 0);
    }
    assert_eq!(desk.journal.len(), 1);
}

#[test]
fn after_the_last_number_comes_the_first_that_is_free() {
    let mut desk = Desk::plain();
    let first = desk.job(0);
    desk.table.next = PRINTER_KEY - 1;
    assert_eq!(desk.job(0), PRINTER_KEY - 1);
    assert_eq!(desk.job(0), first + 1);
    desk.restarted(vec![printer("a"), printer("b")]);
    // What is in the spool is skipped, whatever was given before the start.
    assert_eq!(desk.job(0), first + 2);
    assert_eq!(desk.table.live(Some(0), 0).count(), 4);
}

#[test]
fn a_crash_finds_jobs_where_they_were() {
    let mut desk = Desk::plain();
    let printing = desk.job(0);
    desk.next(0);
    let waiting = desk.job(0);
    let mut hold = held();
    hold.priority = 70;
    let held = desk.filed(0, hold.clone());
    let open = desk.opened(hold);
    desk.add(open, false).unwrap();
    let done = desk.job(1);
    desk.delivers(1);
    let canceled = desk.job(1);
    desk.next(1);
    assert_eq!(desk.table.cancel(canceled, desk.now), Ok(true));
    desk.wait(1_000);
    assert_eq!(desk.restarted(vec![printer("a"), printer("b")]), []);
    let ids = [printing, waiting, held, open, done, canceled];
    let phases = ids.map(|id| desk.phase(id));
    assert_eq!(phases, ["waiting", "waiting", "held", "open", "completed", "canceled"]);
    // Nobody prints what was canceled, and its space is free.
    assert!(desk.table.job(canceled).unwrap().documents.is_empty());
    assert!(desk.journal[&canceled].1.is_empty());
    // Its client has the whole time again, and it is still to be held.
    assert_eq!(desk.table.overdue(desk.now), Some(desk.now.after(SECOND * 300)));
    desk.add(open, true).unwrap();
    assert_eq!(desk.phase(open), "held");
    assert_eq!(desk.table.job(open).unwrap().ticket.priority, 70);
    assert_eq!([desk.delivers(0), desk.delivers(0), desk.delivers(0)], [Some(1), Some(2), None]);
}

#[test]
fn what_a_loss_of_power_left_uncertain_is_held() {
    let mut desk = Desk::plain();
    let waiting = desk.job(0);
    let (open, empty) = (desk.opened(ticket("ann")), desk.opened(ticket("ann")));
    desk.add(open, false).unwrap();
    desk.log();
    desk.table = JobTable::new(vec![printer("a"), printer("b")], Rules::default(), desk.now);
    desk.table.restore(desk.kept(), false, desk.now);
    recount(&desk.table);
    for id in [open, empty] {
        desk.add(id, true).unwrap();
    }
    assert_eq!([waiting, open, empty].map(|id| desk.phase(id)), ["held", "held", "waiting"]);
    assert!(desk.table.job(waiting).unwrap().failure.is_some());
    desk.table.release(waiting).unwrap();
    assert_eq!(desk.delivers(0), Some(waiting));
}

#[test]
fn documents_are_freed_where_they_are_not_kept_any_more() {
    let mut desk = Desk::plain();
    desk.table.rules.keeps_documents = true;
    let id = desk.job(0);
    desk.delivers(0);
    desk.log();
    assert_eq!(desk.journal[&id].1.len(), 1);
    desk.table.rules.keeps_documents = false;
    desk.restarted(vec![printer("a"), printer("b")]);
    assert!(desk.journal[&id].1.is_empty());
    assert_eq!(desk.table.job(id).unwrap().size, 1_000);
}

#[test]
fn printers_are_known_by_their_names() {
    let mut desk = Desk::plain();
    let ids = [desk.job(0), desk.job(1)];
    desk.table.stop(1, "toner", desk.now);
    desk.table.accept(1, false, desk.now);
    for order in [["b", "a"], ["a", "b"], ["b", "a"]] {
        desk.restarted(order.map(printer).to_vec());
        let place = desk.table.place("b").unwrap();
        let b = &desk.table.printers()[place];
        assert_eq!((b.stopped.as_deref(), b.is_accepting), (Some("toner"), false));
        assert_eq!(b.live, BTreeSet::from([ids[1]]));
        let a = &desk.table.printers()[1 - place];
        assert_eq!((a.stopped.as_deref(), a.is_accepting), (None, true));
        assert_eq!(a.live, BTreeSet::from([ids[0]]));
    }
    // A start alone changes nothing more.
    let journal = desk.kept().len();
    desk.restarted(vec![printer("b"), printer("a")]);
    assert_eq!(desk.kept().len(), journal);
}

#[test]
fn jobs_of_a_printer_that_is_gone_come_back_with_it() {
    let mut desk = Desk::plain();
    let (kept, lone) = (desk.job(0), desk.job(1));
    let strays = desk.restarted(vec![printer("a")]);
    assert_eq!(strays, [Stray::Printer { id: lone, name: "b".to_owned() }]);
    assert_eq!((desk.phase(lone).as_str(), desk.table.active()), ("forgotten", 1));
    // Its number is not another's meanwhile.
    desk.table.next = lone;
    assert!(desk.job(0) > lone);
    assert_eq!(desk.restarted(vec![printer("a"), printer("b")]), []);
    assert_eq!(desk.delivers(1), Some(lone));
    assert_eq!(desk.delivers(0), Some(kept));
}

#[test]
fn a_record_that_cannot_be_read_is_left_alone() {
    let mut desk = Desk::plain();
    let id = desk.job(0);
    desk.log();
    let good = desk.journal[&id].0.clone();
    for (key, record) in [(7, vec![9, 9, 9]), (8, Vec::new()), (PRINTER_KEY + 1, good.clone())] {
        desk.journal.insert(key, (record, Vec::new()));
    }
    // A record of a document that is not there.
    desk.journal.insert(9, (good, Vec::new()));
    let strays = desk.restarted(vec![printer("a"), printer("b")]);
    let keys: Vec<_> = strays
        .iter()
        .map(|stray| match stray {
            Stray::Unreadable { key, .. } => *key,
            Stray::Printer { .. } => 0,
        })
        .collect();
    assert_eq!(keys, [7, 8, 9, PRINTER_KEY + 1]);
    assert_eq!(desk.journal.len(), 6);
    assert_eq!((desk.job(0), desk.table.active()), (1_025, 2));
}
