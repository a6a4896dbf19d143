//! Classes of printers: jobs go round those that are idle.

use super::*;

/// Three printers, and a class of them.
fn pool() -> Fixture {
    let names = ["a", "b", "c"];
    let mut printers: Vec<_> = names.iter().map(|name| printer(name)).collect();
    printers.push(PrinterSettings::class("pool", names.map(str::to_owned).to_vec()));
    Fixture::new(printers, Rules::default())
}

const POOL: usize = 3;

#[test]
fn jobs_go_round_the_members_that_are_idle() {
    let mut fixture = pool();
    fixture.table.orders();
    let mut told = Vec::new();
    for _ in 0..5 {
        let id = fixture.job(POOL);
        let wake = fixture.table.orders().wake;
        assert_eq!(wake.len(), 1);
        assert_eq!(fixture.delivers(wake[0]), Some(id));
        told.extend(wake);
    }
    assert_eq!(told, [0, 1, 2, 0, 1]);
    // The class itself prints nothing, and has the jobs.
    let class = fixture.job(POOL);
    assert_eq!(fixture.next(POOL), None);
    assert_eq!(fixture.table.orders().wake, [2]);
    // Members at work, stopped, or that take no jobs are passed over.
    assert_eq!(fixture.next(2), Some(class));
    assert_eq!(fixture.table.condition(&fixture.table.printers()[POOL]).words(), "processing");
    recount(&fixture.table);
    fixture.table.stop(0, "toner", fixture.now);
    fixture.job(POOL);
    assert_eq!(fixture.table.orders().wake, [1]);
    fixture.table.accept(1, false, fixture.now);
    assert_eq!(fixture.next(1), None);
    // None is idle: who is done takes the next.
    let last = fixture.job(POOL);
    fixture.finish(2, Outcome::Delivered);
    assert_eq!((fixture.delivers(2), fixture.delivers(2)), (Some(last - 1), Some(last)));
    assert_eq!(fixture.table.printers()[POOL].counts.completed, 8);
}

#[test]
fn a_member_that_fails_keeps_nobody_waiting() {
    let mut fixture = pool();
    let id = fixture.job(POOL);
    assert_eq!(fixture.next(0), Some(id));
    fixture.table.orders();
    fixture.fails(0);
    recount(&fixture.table);
    // The next one is told, and takes it; the one that failed waits.
    assert_eq!(fixture.table.orders().wake, [1]);
    assert_eq!((fixture.next(0), fixture.next(1)), (None, Some(id)));
    fixture.finish(1, Outcome::Delivered);
    assert_eq!(fixture.phase(id), "completed");
    let more = fixture.job(POOL);
    assert_eq!(fixture.table.orders().wake, [2]);
    // If all other members are gone, the failed one tries again.
    for place in [1, 2] {
        fixture.table.stop(place, "toner", fixture.now);
    }
    assert!(matches!(fixture.table.ready(0, fixture.now), NextStep::At(_)));
    fixture.wait(2);
    assert_eq!(fixture.delivers(0), Some(more));
}

#[test]
fn own_jobs_and_those_of_the_class_go_by_their_urgency() {
    let mut fixture = pool();
    let low = fixture.filed(0, Ticket { priority: 10, ..ticket("ann") });
    fixture.table.made_durable(low);
    let of_class = fixture.job(POOL);
    let own = fixture.job(0);
    assert_eq!([(); 3].map(|()| fixture.delivers(0).unwrap()), [of_class, own, low]);
    // A class that is stopped gives none.
    fixture.table.stop(POOL, "for a while", fixture.now);
    let held_back = fixture.job(POOL);
    assert_eq!(fixture.next(0), None);
    fixture.table.orders();
    fixture.table.start(POOL, fixture.now);
    assert_eq!(fixture.table.orders().wake, [0, 1, 2]);
    // A class's job is canceled at the member that has it.
    assert_eq!(fixture.next(1), Some(held_back));
    assert_eq!(fixture.table.cancel(held_back, fixture.now), Ok(true));
    assert_eq!(fixture.table.orders().break_off, [1]);
    fixture.finish(1, Outcome::Interrupted);
    assert_eq!(fixture.phase(held_back), "canceled");
    recount(&fixture.table);
}

#[test]
fn a_class_changes_while_it_has_jobs() {
    let mut fixture = pool();
    let now = fixture.now;
    let id = fixture.job(POOL);
    fixture.next(0);
    // The member that has the job leaves.
    let members = vec!["b".to_owned(), "nobody".to_owned(), "b".to_owned()];
    let class = PrinterSettings::class("pool", members);
    fixture.table.set_printer(class, now).unwrap();
    let names = |table: &JobTable| {
        let class = &table.printers()[POOL];
        table.members(class).map(|one| one.settings.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture.table), ["b"]);
    fixture.fails(0);
    assert_eq!(fixture.phase(id), "waiting");
    fixture.restarted(pool().table.printers().iter().map(|one| one.settings.clone()).collect());
    assert_eq!(names(&fixture.table), ["b"]);
    assert_eq!((fixture.next(0), fixture.next(1)), (None, Some(id)));
    fixture.finish(1, Outcome::Delivered);
    // Without members jobs wait, and can be moved.
    fixture.table.remove_printer(1, Leftover::Keep, now).unwrap();
    let id = fixture.job(POOL);
    assert_eq!(fixture.next(0), None);
    fixture.table.move_job(id, 0, now).unwrap();
    assert_eq!(fixture.delivers(0), Some(id));
    recount(&fixture.table);
}

#[test]
fn what_a_member_is_about_to_end_is_its_own_after_a_crash() {
    let mut fixture = pool();
    let (ends, prints) = (fixture.job(POOL), fixture.job(POOL));
    assert_eq!((fixture.next(0), fixture.next(1)), (Some(ends), Some(prints)));
    assert!(fixture.table.may_end(0));
    fixture.restarted(pool().table.printers().iter().map(|one| one.settings.clone()).collect());
    // Another would do again what the first may have done already.
    let printer = |id| fixture.table.job(id).unwrap().printer;
    assert_eq!((printer(ends), printer(prints)), (0, POOL));
    // One that did not end after all is its class's again.
    assert_eq!(fixture.next(1), Some(prints));
    assert!(fixture.table.may_end(1));
    fixture.fails(1);
    fixture.restarted(pool().table.printers().iter().map(|one| one.settings.clone()).collect());
    assert_eq!(fixture.table.job(prints).unwrap().printer, POOL);
    assert_eq!((fixture.delivers(0), fixture.delivers(2)), (Some(ends), Some(prints)));
}
