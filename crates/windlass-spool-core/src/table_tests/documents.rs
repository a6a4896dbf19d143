//! Documents as they come: one after the other, in time, not too many, and those
//! that the disk does not take.

use super::*;

#[test]
fn documents_of_an_open_job_come_one_after_the_other() {
    let mut desk = Desk::plain();
    let id = desk.opened(ticket("ann"));
    assert_eq!(desk.phase(id), "open");
    desk.add(id, false).unwrap();
    desk.add(id, false).unwrap();
    assert_eq!(desk.next(0), None);
    desk.add(id, true).unwrap();
    let Next::Job(work) = desk.table.next(0, desk.now) else { panic!("it is whole") };
    assert_eq!((work.id, work.documents.len(), work.size), (id, 3, 3_000));
    // The last may say only that it is.
    let id = desk.opened(held());
    desk.add(id, false).unwrap();
    desk.table.add(id, None, true, desk.now).unwrap();
    desk.table.settled(id);
    assert_eq!(desk.phase(id), "held");
    // One without any is nothing.
    let id = desk.opened(ticket("ann"));
    desk.table.add(id, None, true, desk.now).unwrap();
    assert_eq!(desk.phase(id), "aborted");
    assert_eq!(desk.table.job(id).unwrap().failure.as_deref(), Some("it has no document"));
    recount(&desk.table);
}

#[test]
fn jobs_without_documents_are_limited() {
    let mut desk = Desk::plain();
    for _ in 0..MOST_OPEN {
        desk.table.admit_open(0).unwrap();
        desk.table.open(0, ticket("ann"), desk.now);
    }
    let no = desk.table.admit_open(0).unwrap_err();
    let words = "too many jobs: the spool, of those that wait for documents, keeps 10000 at a time";
    assert_eq!(no.to_string(), words);
    // Whole jobs come nevertheless, and there is room when the others are over.
    desk.job(0);
    desk.wait(300);
    desk.table.overdue(desk.now);
    desk.table.admit_open(0).unwrap();
}

#[test]
fn documents_that_do_not_come_in_time_end_their_job() {
    let mut desk = Desk::plain();
    assert_eq!(desk.table.overdue(desk.now), None);
    let first = desk.opened(ticket("ann"));
    desk.wait(200);
    let second = desk.opened(ticket("ann"));
    assert_eq!(desk.table.overdue(desk.now), Some(START.after(SECOND * 300)));
    // Each document begins the time anew.
    desk.add(first, false).unwrap();
    assert_eq!(desk.table.overdue(desk.now), Some(START.after(SECOND * 500)));
    desk.wait(300);
    desk.table.overdue(desk.now);
    assert_eq!([first, second].map(|id| desk.phase(id)), ["aborted", "aborted"]);
    assert_eq!((desk.table.overdue(desk.now), desk.table.active()), (None, 0));
}

#[test]
fn a_job_has_so_many_documents_and_names_as_the_journal_has_room_for() {
    let mut desk = Desk::plain();
    let id = desk.opened(ticket("ann"));
    let document = Filed { name: "n".repeat(255).into(), ..desk.document(1) };
    for _ in 0..MOST_DOCUMENTS {
        desk.table.add(id, Some(document.clone()), false, desk.now).unwrap();
        desk.table.settled(id);
    }
    let more = desk.table.add(id, Some(document.clone()), true, desk.now);
    assert_eq!(more, Err(Refusal::TooManyDocuments { id }));
    let names = &desk.table.job(id).unwrap().documents;
    assert_eq!(names.iter().filter(|one| !one.name.is_empty()).count(), MOST_NAMES / 255);
    let longest = MOST_RECORD;
    desk.log();
    assert!(desk.journal[&id].0.len() < longest / 2);
    desk.table.add(id, None, true, desk.now).unwrap();
    assert_eq!(desk.phase(id), "waiting");
    // LPR files all at once.
    desk.table.admit(0).unwrap();
    let id = desk.table.file(0, ticket("ann"), vec![document; 999], desk.now);
    desk.log();
    assert!(desk.journal[&id].0.len() < longest / 2);
}

#[test]
fn a_job_that_the_disk_does_not_take_was_never_there() {
    let mut desk = Desk::plain();
    let id = desk.filed(0, ticket("ann"));
    desk.table.lost(id);
    assert_eq!((desk.phase(id).as_str(), desk.table.active()), ("forgotten", 0));
    // It was in the list, and somebody canceled it before it was lost.
    let id = desk.filed(0, ticket("ann"));
    assert_eq!(desk.table.cancel(id, desk.now), Ok(false));
    desk.table.lost(id);
    assert_eq!((desk.phase(id).as_str(), desk.table.active()), ("forgotten", 0));
    let open = desk.opened(ticket("ann"));
    desk.table.lost(open);
    recount(&desk.table);
    desk.log();
    assert_eq!(desk.journal.keys().copied().collect::<Vec<_>>(), [0]);
    assert_eq!(desk.table.printers()[0].counts.refused, 3);
}

#[test]
fn a_document_that_the_disk_does_not_take_can_come_again() {
    let mut desk = Desk::plain();
    let id = desk.opened(ticket("ann"));
    desk.add(id, false).unwrap();
    desk.wait(1_000);
    let document = desk.document(500);
    desk.table.add(id, Some(document), true, desk.now).unwrap();
    assert_eq!((desk.phase(id).as_str(), desk.next(0)), ("waiting", None));
    desk.table.withdraw(id, true, desk.now);
    recount(&desk.table);
    let job = desk.table.job(id).unwrap();
    assert_eq!((job.size, job.count), (1_000, 1));
    // It has its time again.
    assert_eq!(desk.table.overdue(desk.now), Some(desk.now.after(SECOND * 300)));
    desk.add(id, true).unwrap();
    assert_eq!(desk.delivers(0), Some(id));
    assert_eq!(desk.table.printers()[0].counts.bytes_in, 2_000);
    // While one is not safe another does not come.
    let id = desk.opened(ticket("ann"));
    let document = desk.document(500);
    desk.table.add(id, Some(document), false, desk.now).unwrap();
    let no = desk.add(id, true).unwrap_err();
    assert_eq!(no.status(), Status::NOT_POSSIBLE);
    // One that was canceled meanwhile is not opened again.
    assert_eq!(desk.table.cancel(id, desk.now), Ok(false));
    desk.table.withdraw(id, true, desk.now);
    assert_eq!(desk.phase(id), "canceled");
    recount(&desk.table);
}
