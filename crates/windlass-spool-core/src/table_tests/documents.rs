//! Documents as they come: one after the other, in time, not too many, and those
//! that the disk does not take.

use super::*;

#[test]
fn documents_of_an_open_job_come_one_after_the_other() {
    let mut fixture = Fixture::plain();
    let id = fixture.opened(ticket("ann"));
    assert_eq!(fixture.phase(id), "open");
    fixture.add(id, false).unwrap();
    fixture.add(id, false).unwrap();
    assert_eq!(fixture.next(0), None);
    fixture.add(id, true).unwrap();
    let NextStep::Job(work) = fixture.table.next(0, fixture.now) else { panic!("it is whole") };
    assert_eq!((work.id, work.documents.len(), work.size), (id, 3, 3_000));
    // The last may say only that it is.
    let id = fixture.opened(held());
    fixture.add(id, false).unwrap();
    fixture.table.add(id, None, true, fixture.now).unwrap();
    fixture.table.made_durable(id);
    assert_eq!(fixture.phase(id), "held");
    // One without any is nothing.
    let id = fixture.opened(ticket("ann"));
    fixture.table.add(id, None, true, fixture.now).unwrap();
    assert_eq!(fixture.phase(id), "aborted");
    assert_eq!(fixture.table.job(id).unwrap().failure.as_deref(), Some("it has no document"));
    recount(&fixture.table);
}

#[test]
fn jobs_without_documents_are_limited() {
    let mut fixture = Fixture::plain();
    let of = |user: String, host: String| Ticket { host: host.into(), ..ticket(&user) };
    let mut open = |user: usize, host: usize| {
        let ticket = of(format!("user {user}"), format!("192.0.2.{host}"));
        fixture.table.admit_open(0, &ticket).map_err(|no| no.to_string())?;
        fixture.table.open(0, ticket, fixture.now);
        Ok::<(), String>(())
    };
    let no = |whose: &str, most: usize| {
        Err(format!("too many jobs wait for their documents: the limit of {whose} is {most}"))
    };
    // One user, then one host, and then all.
    for _ in 0..MAX_OPEN_OF_USER {
        open(0, 0).unwrap();
    }
    assert_eq!(open(0, 1), no("user \"user 0\"", MAX_OPEN_OF_USER));
    for number in MAX_OPEN_OF_USER..MAX_OPEN_OF_HOST {
        open(number, 0).unwrap();
    }
    assert_eq!(open(0, 0), no("host 192.0.2.0", MAX_OPEN_OF_HOST));
    for number in MAX_OPEN_OF_HOST..MAX_OPEN {
        open(number, 1 + number / MAX_OPEN_OF_HOST).unwrap();
    }
    assert_eq!(open(MAX_OPEN, 9), no("the spool", MAX_OPEN));
    // Whole jobs come nevertheless, and there is room when the others are over.
    fixture.job(0);
    fixture.wait(300);
    fixture.table.overdue(fixture.now);
    fixture.table.admit_open(0, &of("user 0".to_owned(), "192.0.2.0".to_owned())).unwrap();
}

#[test]
fn documents_that_do_not_come_in_time_end_their_job() {
    let mut fixture = Fixture::plain();
    assert_eq!(fixture.table.overdue(fixture.now), None);
    let first = fixture.opened(ticket("ann"));
    fixture.wait(200);
    let second = fixture.opened(ticket("ann"));
    assert_eq!(fixture.table.overdue(fixture.now), Some(START.after(SECOND * 300)));
    // Each document begins the time anew.
    fixture.add(first, false).unwrap();
    assert_eq!(fixture.table.overdue(fixture.now), Some(START.after(SECOND * 500)));
    fixture.wait(300);
    fixture.table.overdue(fixture.now);
    assert_eq!([first, second].map(|id| fixture.phase(id)), ["aborted", "aborted"]);
    assert_eq!((fixture.table.overdue(fixture.now), fixture.table.active()), (None, 0));
}

#[test]
fn a_job_has_so_many_documents_and_names_as_the_journal_has_room_for() {
    let mut fixture = Fixture::plain();
    let id = fixture.opened(ticket("ann"));
    let document = FiledDocument { name: "n".repeat(255).into(), ..fixture.document(1) };
    for _ in 0..MAX_DOCUMENTS {
        fixture.table.add(id, Some(document.clone()), false, fixture.now).unwrap();
        fixture.table.made_durable(id);
    }
    let more = fixture.table.add(id, Some(document.clone()), true, fixture.now);
    assert_eq!(more, Err(Refusal::TooManyDocuments { id }));
    let names = &fixture.table.job(id).unwrap().documents;
    assert_eq!(names.iter().filter(|one| !one.name.is_empty()).count(), MAX_NAMES / 255);
    let longest = MAX_RECORD;
    fixture.log();
    assert!(fixture.journal[&id].0.len() < longest / 2);
    fixture.table.add(id, None, true, fixture.now).unwrap();
    assert_eq!(fixture.phase(id), "waiting");
    // LPR files all at once.
    fixture.table.admit(0).unwrap();
    let id = fixture.table.file(0, ticket("ann"), vec![document; 999], fixture.now);
    fixture.log();
    assert!(fixture.journal[&id].0.len() < longest / 2);
}

#[test]
fn a_job_that_the_disk_does_not_take_was_never_there() {
    let mut fixture = Fixture::plain();
    let id = fixture.filed(0, ticket("ann"));
    fixture.table.lost(id);
    assert_eq!((fixture.phase(id).as_str(), fixture.table.active()), ("forgotten", 0));
    // It was in the list, and somebody canceled it before it was lost.
    let id = fixture.filed(0, ticket("ann"));
    assert_eq!(fixture.table.cancel(id, fixture.now), Ok(false));
    fixture.table.lost(id);
    assert_eq!((fixture.phase(id).as_str(), fixture.table.active()), ("forgotten", 0));
    let open = fixture.opened(ticket("ann"));
    fixture.table.lost(open);
    recount(&fixture.table);
    fixture.log();
    assert_eq!(fixture.journal.keys().copied().collect::<Vec<_>>(), [0]);
    assert_eq!(fixture.table.printers()[0].counts.refused, 3);
}

#[test]
fn a_document_that_the_disk_does_not_take_can_come_again() {
    let mut fixture = Fixture::plain();
    let id = fixture.opened(ticket("ann"));
    fixture.add(id, false).unwrap();
    fixture.wait(1_000);
    let document = fixture.document(500);
    fixture.table.add(id, Some(document), true, fixture.now).unwrap();
    assert_eq!((fixture.phase(id).as_str(), fixture.next(0)), ("waiting", None));
    fixture.table.withdraw(id, true, fixture.now);
    recount(&fixture.table);
    let job = fixture.table.job(id).unwrap();
    assert_eq!((job.size, job.count), (1_000, 1));
    // It has its time again.
    assert_eq!(fixture.table.overdue(fixture.now), Some(fixture.now.after(SECOND * 300)));
    fixture.add(id, true).unwrap();
    assert_eq!(fixture.delivers(0), Some(id));
    assert_eq!(fixture.table.printers()[0].counts.bytes_in, 2_000);
    // While one is not safe another does not come.
    let id = fixture.opened(ticket("ann"));
    let document = fixture.document(500);
    fixture.table.add(id, Some(document), false, fixture.now).unwrap();
    let no = fixture.add(id, true).unwrap_err();
    assert_eq!(no.status(), Status::NOT_POSSIBLE);
    // One that was canceled meanwhile is not opened again.
    assert_eq!(fixture.table.cancel(id, fixture.now), Ok(false));
    fixture.table.withdraw(id, true, fixture.now);
    assert_eq!(fixture.phase(id), "canceled");
    recount(&fixture.table);
}

#[test]
fn a_job_whose_documents_are_damaged_is_given_up_and_its_printer_goes_on() {
    let mut fixture = Fixture::plain();
    let (damaged, next) = (fixture.job(0), fixture.job(0));
    assert_eq!(fixture.next(0), Some(damaged));
    fixture.finish(0, Outcome::Damaged("its document is damaged".to_owned()));
    assert_eq!(fixture.phase(damaged), "aborted");
    let job = fixture.table.job(damaged).unwrap();
    assert_eq!(job.failure.as_deref(), Some("its document is damaged"));
    let printer = &fixture.table.printers()[0];
    assert_eq!((printer.counts.failures, printer.counts.aborted), (0, 1));
    assert!(printer.trouble.is_none() && printer.stopped.is_none());
    assert_eq!(fixture.delivers(0), Some(next), "at once");
    recount(&fixture.table);
}
