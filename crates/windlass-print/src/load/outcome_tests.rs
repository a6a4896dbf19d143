use proptest::prelude::*;

use super::*;

fn seen(id: i32, state: JobState, number: Option<u64>) -> ReportedJob {
    ReportedJob { id, state, reasons: format!("{}-reason", state.id()), number }
}

#[test]
fn jobs_are_told_apart_by_what_became_of_them() {
    let mut book = Book::default();
    (0..5).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    let mut sweep = book.sweep();
    for (id, state) in [
        (1, JobState::Completed),
        (2, JobState::Aborted),
        (3, JobState::Canceled),
        (4, JobState::Processing),
    ] {
        book.tell(&mut sweep, &seen(id, state, None));
    }
    assert_eq!(book.lowest(), Some(4));
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.aborted, outcomes.canceled), (1, 1, 1));
    // The fifth has vanished, and the server was never away.
    assert_eq!((outcomes.waiting, outcomes.missing, outcomes.unknown), (1, 0, 1));
    assert_eq!(outcomes.acknowledged(), 5);
    assert_eq!(outcomes.completed_bytes, Bytes::new(10));
    let reasons: Vec<_> = outcomes.reasons.iter().map(|it| (it.first_job_id, it.jobs)).collect();
    assert_eq!(reasons, [(2, 1), (3, 1)]);
    // If the server cannot be asked any more, the fourth is unknown, too.
    assert_eq!((book.outcomes(false).waiting, book.outcomes(false).unknown), (0, 2));
}

#[test]
fn what_is_not_found_after_the_server_was_away_is_missing() {
    let mut book = Book { has_history: true, ..Book::default() };
    (0..4).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(1, JobState::Completed, None));
    book.returned();
    // An earlier list proves nothing about the present.
    book.swept(sweep, false, true);
    assert_eq!(book.open(), 3);
    // It gives a number again, and the job that had it is lost.
    book.acknowledged(4, Some(2), 10);
    assert_eq!(book.outcomes(true).missing, 1);
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(2, JobState::Completed, Some(4)));
    book.tell(&mut sweep, &seen(3, JobState::Pending, Some(2)));
    // A job that comes later need not be in the list.
    book.acknowledged(5, Some(9), 10);
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.waiting), (2, 2));
    assert_eq!((outcomes.missing, outcomes.unknown), (2, 0));
}

#[test]
fn a_list_from_before_anybody_saw_that_the_server_was_away_tells_of_losses_too() {
    let mut book = Book { has_history: true, ..Book::default() };
    (0..4).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(2, JobState::Completed, Some(1)));
    book.swept(sweep, false, true);
    // The first may have been forgotten in the normal way, the later ones not.
    assert_eq!(book.outcomes(true).unknown, 3);
    book.returned();
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.missing, outcomes.unknown), (1, 2, 1));
    // Another return changes nothing about them.
    book.returned();
    assert_eq!(book.outcomes(true), outcomes);
}

#[test]
fn a_job_under_way_while_the_server_was_away_is_none_of_those_before() {
    for ids in [[1, 2, 3, 9], [1, 2, 3, 1]] {
        let mut book = Book { has_history: true, ..Book::default() };
        for (number, id) in [(0, ids[0]), (2, ids[1]), (3, ids[2])] {
            book.acknowledged(number, Some(id), 10);
        }
        book.returned();
        book.acknowledged(1, Some(ids[3]), 10);
        for _ in 0..2 {
            let mut sweep = book.sweep();
            book.tell(&mut sweep, &seen(ids[3], JobState::Completed, Some(1)));
            book.swept(sweep, false, true);
        }
        let outcomes = book.outcomes(true);
        assert_eq!((outcomes.completed, outcomes.missing, outcomes.unknown), (1, 3, 0), "{ids:?}");
    }
}

#[test]
fn without_a_history_nobody_tells_whether_a_job_was_done() {
    let mut book = Book::default();
    book.acknowledged(0, Some(1), 10);
    book.acknowledged(1, Some(2), 10);
    let sweep = book.sweep();
    // An event may come, so the job is not lost yet.
    book.swept(sweep, true, true);
    assert_eq!(book.open(), 2);
    book.event(&seen(1, JobState::Completed, None));
    book.returned();
    let sweep = book.sweep();
    book.swept(sweep, true, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.missing, outcomes.unknown), (1, 0, 1));
}

#[test]
fn a_job_may_be_over_before_its_acknowledgement_is_counted() {
    let mut book = Book::default();
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(7, JobState::Aborted, Some(3)));
    book.tell(&mut sweep, &seen(8, JobState::Completed, None));
    book.acknowledged(3, Some(7), 1);
    // Another job's number.
    book.acknowledged(4, Some(9), 1);
    assert_eq!(book.outcomes(true).aborted, 1);
    assert_eq!(book.open(), 1);
}

#[test]
fn jobs_without_a_number_are_known_by_their_names() {
    let mut book = Book::default();
    book.acknowledged(0, None, 5);
    book.acknowledged(1, None, 5);
    assert_eq!(book.lowest(), None);
    let mut sweep = book.sweep();
    // A job that ended before its acknowledgement is counted waits for it.
    book.tell(&mut sweep, &seen(99, JobState::Completed, Some(2)));
    book.tell(&mut sweep, &seen(100, JobState::Completed, Some(0)));
    book.tell(&mut sweep, &seen(101, JobState::Completed, None));
    // The other may still appear.
    book.swept(sweep, false, false);
    assert_eq!(book.open(), 1);
    book.swept(sweep, false, true);
    book.acknowledged(2, None, 5);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.unknown), (2, 1));
}

#[test]
fn a_history_that_is_cut_short_is_no_loss() {
    let mut book = Book { has_history: true, ..Book::default() };
    (0..4).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    book.returned();
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(3, JobState::Completed, None));
    book.swept(sweep, false, true);
    // Those before the first known one may have been forgotten, the last may not.
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.unknown, outcomes.missing), (1, 2, 1));
    // The server's counts cover those.
    book.count(OutcomeCounts { completed: 2, aborted: 1, canceled: 0 });
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.aborted, outcomes.unknown), (2, 1, 0));
    assert_eq!((outcomes.missing, outcomes.completed_bytes), (1, Bytes::new(20)));
    // Others' jobs are counted, too, but the outcomes do not exceed the jobs.
    book.count(OutcomeCounts { completed: 900, aborted: 0, canceled: 0 });
    assert_eq!(book.outcomes(true).acknowledged(), 4);
    let (one, two) =
        (OutcomeCounts { completed: 5, ..OutcomeCounts::default() }, OutcomeCounts::default());
    assert_eq!((one.since(two), two.since(one)), (Some(one), None));
}

#[test]
fn some_jobs_of_many_are_timed() {
    let mut book = Book::default();
    for number in 0..100_000_u64 {
        book.acknowledged(number, Some(number as i32), 1);
        book.event(&seen(number as i32, JobState::Completed, None));
    }
    let timed = book.timed();
    assert!((MAX_TIMED / 2..=MAX_TIMED).contains(&timed.len()), "{}", timed.len());
    assert!(timed.is_sorted() && *timed.last().unwrap() > 90_000, "{timed:?}");
}

/// An event in the life of a book.
#[derive(Clone, Debug)]
enum Step {
    Acknowledged(Option<i32>),
    Told(i32, i32, Option<u64>),
    Swept(bool),
    Event(i32, i32),
    Returned,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::option::of(1..20_i32).prop_map(Step::Acknowledged),
        (1..20_i32, 3..10_i32, prop::option::of(0..30_u64))
            .prop_map(|(id, state, number)| Step::Told(id, state, number)),
        any::<bool>().prop_map(Step::Swept),
        (1..20_i32, 7..10_i32).prop_map(|(id, state)| Step::Event(id, state)),
        Just(Step::Returned),
    ]
}

proptest! {
    /// Each acknowledged job counts once, whatever a server reports.
    #[test]
    fn each_job_counts_once(steps in prop::collection::vec(step(), 0..200)) {
        let (mut book, mut number, mut sweep) = (Book::default(), 0, None);
        for step in steps {
            match step {
                Step::Acknowledged(id) => {
                    book.acknowledged(number, id, 1);
                    number += 1;
                }
                Step::Told(id, state, own) => {
                    let state = JobState::new(state).unwrap();
                    if sweep.is_none() {
                        sweep = Some(book.sweep());
                    }
                    if let Some(sweep) = &mut sweep {
                        book.tell(sweep, &seen(id, state, own));
                    }
                }
                Step::Swept(events) => {
                    if let Some(sweep) = sweep.take() {
                        book.swept(sweep, events, events);
                    }
                }
                Step::Event(id, state) => {
                    book.event(&seen(id, JobState::new(state).unwrap(), None));
                }
                Step::Returned => book.returned(),
            }
            for can in [true, false] {
                let outcomes = book.outcomes(can);
                prop_assert_eq!(outcomes.acknowledged(), number);
                prop_assert_eq!(outcomes.completed_bytes.get(), outcomes.completed);
            }
        }
    }
}

#[test]
fn without_a_history_a_job_that_left_the_queue_was_processed() {
    let mut book = Book::default();
    book.acknowledged(0, Some(1), 10);
    book.acknowledged(1, Some(2), 20);
    book.event(&seen(1, JobState::Completed, None));
    let sweep = book.sweep();
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.unknown, outcomes.forgotten), (1, 1, 1));
    assert_eq!((outcomes.processed(), outcomes.lost_sight()), ((2, Bytes::new(30)), 0));
    // For a job from before an absence this is unknown.
    book.acknowledged(2, Some(3), 10);
    book.returned();
    let sweep = book.sweep();
    book.swept(sweep, false, true);
    assert_eq!((book.outcomes(true).forgotten, book.outcomes(true).lost_sight()), (1, 1));
}

#[test]
fn a_job_that_is_gone_from_a_stopped_queue_is_missing() {
    // Even jobs are of the first queue, which runs.
    let mut book = Book::default();
    book.acknowledged(0, Some(1), 10);
    book.acknowledged(1, Some(2), 10);
    book.look_at_queues(&[false, true]);
    // The second came before its queue was known to be stopped.
    (2..6).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    book.look_at_queues(&[false, true]);
    book.returned();
    // A number is given again, and the queue may be started by then.
    book.look_at_queues(&[false, false]);
    book.acknowledged(6, Some(4), 10);
    assert_eq!(book.outcomes(true).missing, 1);
    book.look_at_queues(&[false, true]);
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(4, JobState::Pending, Some(6)));
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    // The last one is unknown, because its queue ran for a while.
    assert_eq!((outcomes.missing, outcomes.waiting, outcomes.lost_sight()), (1, 1, 5));

    let mut book = Book::default();
    book.look_at_queues(&[true]);
    (0..3).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    book.returned();
    book.look_at_queues(&[true]);
    let mut sweep = book.sweep();
    book.tell(&mut sweep, &seen(2, JobState::Pending, None));
    book.swept(sweep, true, false);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.missing, outcomes.waiting, outcomes.unknown), (2, 1, 0));
}

#[test]
fn a_job_without_a_line_in_the_log_of_a_killed_cupsd_is_missing() {
    let mut book = Book { log_tells: true, ..Book::default() };
    (0..3).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    book.event(&seen(1, JobState::Completed, None));
    book.returned();
    book.event(&seen(2, JobState::Completed, None));
    // It was acknowledged before, but counted late.
    book.acknowledged(3, Some(4), 10);
    let sweep = book.sweep();
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.completed, outcomes.missing, outcomes.unknown), (2, 2, 0));
}

#[test]
fn a_document_that_is_there_still_is_of_a_lost_job() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("d00002-001"), "").unwrap();
    let documents = Documents::open(folder.path());
    let mut book = Book { documents, ..Book::default() };
    (0..3).for_each(|number| book.acknowledged(number, Some(number as i32 + 1), 10));
    book.returned();
    let sweep = book.sweep();
    book.swept(sweep, false, true);
    let outcomes = book.outcomes(true);
    assert_eq!((outcomes.missing, outcomes.forgotten, outcomes.lost_sight()), (1, 2, 0));
}
