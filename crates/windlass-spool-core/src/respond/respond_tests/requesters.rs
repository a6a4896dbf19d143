//! Answers by the rights of the requester.

use std::sync::Arc;

use super::*;
use crate::requester::ANONYMOUS;

/// A fixture with a held job of ann's, and one who asks.
fn asked_by(user: Option<&str>, rights: Rights, can_log_in: bool) -> (Fixture, i32) {
    let mut fixture = Fixture::new();
    let held = vec![one("job-hold-until", key("indefinite"))];
    let request = fixture.request(Operation::PRINT_JOB, A, vec![], held);
    let id = fixture.answer(&request).number(GroupTag::JOB, "job-id").unwrap();
    let user = user.map(Arc::from);
    fixture.requester = Requester { user, rights, can_log_in, ..USER.clone() };
    (fixture, id)
}

/// Returns the status of an operation on that job, requested in ann's name.
fn status_of(fixture: &mut Fixture, operation: Operation, id: i32) -> Status {
    let request = fixture.request(operation, A, vec![one("job-id", int(id))], vec![]);
    Status(fixture.answer(&request).code)
}

#[test]
fn a_known_user_counts_more_than_the_name_that_is_said() {
    let (mut fixture, id) = asked_by(Some("bob"), Rights::USER, true);
    assert_eq!(status_of(&mut fixture, Operation::CANCEL_JOB, id), Status::NOT_AUTHORIZED);
    assert_eq!(status_of(&mut fixture, Operation::GET_JOB_ATTRIBUTES, id), Status::OK);
    let request = fixture.request(Operation::PRINT_JOB, A, vec![], vec![]);
    let own = fixture.answer(&request).number(GroupTag::JOB, "job-id").unwrap();
    let job = fixture.table.job(JobId::try_from(own).unwrap()).unwrap();
    assert_eq!(&*job.ticket.user, "bob");
    let (mut fixture, id) = asked_by(Some("ann"), Rights::USER, true);
    assert_eq!(status_of(&mut fixture, Operation::CANCEL_JOB, id), Status::OK);
}

#[test]
fn nobody_owns_what_nobody_is_known_for() {
    let (mut fixture, id) = asked_by(None, Rights::USER, false);
    assert_eq!(status_of(&mut fixture, Operation::CANCEL_JOB, id), Status::NOT_AUTHORIZED);
    let request = fixture.request(Operation::CREATE_JOB, A, vec![], vec![]);
    let own = fixture.answer(&request).number(GroupTag::JOB, "job-id").unwrap();
    let job = fixture.table.job(JobId::try_from(own).unwrap()).unwrap();
    assert_eq!(&*job.ticket.user, ANONYMOUS);
    // Its document may come, but who is nobody cancels nobody's job.
    assert_eq!(status_of(&mut fixture, Operation::CLOSE_JOB, own), Status::OK);
    assert_eq!(status_of(&mut fixture, Operation::CANCEL_JOB, own), Status::NOT_AUTHORIZED);
    for operation in [Operation::CANCEL_MY_JOBS, Operation::GET_JOBS] {
        let mine = vec![one("my-jobs", Value::Boolean(true))];
        let request = fixture.request(operation, A, mine, vec![]);
        let status = Status(fixture.answer(&request).code);
        assert_eq!(status, Status::NOT_AUTHORIZED, "{operation}");
    }
}

#[test]
fn who_could_say_who_he_is_is_asked_for_it() {
    let (mut fixture, id) = asked_by(None, Rights::NONE, true);
    for operation in
        [Operation::CANCEL_JOB, Operation::GET_JOB_ATTRIBUTES, Operation::GET_PRINTER_ATTRIBUTES]
    {
        assert_eq!(status_of(&mut fixture, operation, id), Status::NOT_AUTHENTICATED);
    }
    let (mut fixture, id) = asked_by(None, Rights::USER, true);
    assert_eq!(status_of(&mut fixture, Operation::CANCEL_JOB, id), Status::NOT_AUTHENTICATED);
    assert_eq!(status_of(&mut fixture, Operation::PURGE_JOBS, id), Status::NOT_AUTHENTICATED);
    let (mut fixture, id) = asked_by(Some("bob"), Rights::USER, true);
    assert_eq!(status_of(&mut fixture, Operation::PURGE_JOBS, id), Status::FORBIDDEN);
}

#[test]
fn who_may_not_see_others_jobs_sees_his_own() {
    let own_alone = Rights { print: true, own: true, ..Rights::NONE };
    let (mut fixture, id) = asked_by(Some("bob"), own_alone, false);
    let attributes = Operation::GET_JOB_ATTRIBUTES;
    assert_eq!(status_of(&mut fixture, attributes, id), Status::NOT_AUTHORIZED);
    let request = fixture.request(Operation::PRINT_JOB, A, vec![], vec![]);
    let own = fixture.answer(&request).number(GroupTag::JOB, "job-id").unwrap();
    assert_eq!(status_of(&mut fixture, attributes, own), Status::OK);
    let request = fixture.request(Operation::GET_JOBS, A, vec![], vec![]);
    let answer = fixture.answer(&request);
    let listed = answer.groups.iter().filter(|group| group.tag == GroupTag::JOB);
    let ids: Vec<_> = listed.filter_map(|group| group.number("job-id")).collect();
    assert_eq!(ids, [own]);
}

#[test]
fn an_operator_s_reason_is_told_and_a_hold_of_the_operation_is_obeyed() {
    let mut fixture = Fixture::new();
    let until = vec![one("job-hold-until", key("indefinite"))];
    fixture.ask(Operation::CREATE_JOB, A, until);
    assert!(fixture.table.job(1).unwrap().ticket.hold.is_some());
    fixture.requester = ADMIN.clone();
    let why = vec![one("printer-state-message", Value::chars(CharKind::Text, "moved to 2.14"))];
    fixture.ask(Operation::CUPS_REJECT_JOBS, A, why);
    let answer = fixture.request(Operation::GET_PRINTER_ATTRIBUTES, A, vec![], vec![]);
    let said = fixture.answer(&answer);
    let message = said.text(GroupTag::PRINTER, "printer-state-message").unwrap();
    assert_eq!(message, "the printer rejects jobs: moved to 2.14");
    fixture.ask(Operation::CUPS_ACCEPT_JOBS, A, vec![]);
    assert_eq!(fixture.table.printers()[0].message(fixture.now), "");
}
