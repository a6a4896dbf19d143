//! Made-up entries and exits, and their sums.

use super::*;

const READ: Call = Call { machine: 0xc000_003e, number: 0 };
const FUTEX: Call = Call { machine: 0xc000_003e, number: 202 };

fn ms(ms: i64) -> Span {
    Span::from_millis(ms)
}

/// Makes an account of these: the thread, the time in ms, and its action.
fn account(of: &[(u32, i64, ThreadAction)]) -> Account {
    let mut account = Account::begin(Span::ZERO);
    of.iter().for_each(|(thread, at, did)| account.take(*thread, ms(*at), *did));
    account
}

#[test]
fn calls_are_counted_with_their_times_and_errors() {
    let mut account = account(&[
        (7, 0, ThreadAction::Begin { is_process: true }),
        (8, 0, ThreadAction::Begin { is_process: false }),
        (7, 10, ThreadAction::Enter(READ)),
        (8, 11, ThreadAction::Enter(FUTEX)),
        (7, 13, ThreadAction::Leave(None)),
        (7, 20, ThreadAction::Enter(READ)),
        (8, 21, ThreadAction::Leave(Some(110))),
        (7, 21, ThreadAction::Leave(Some(11))),
    ]);
    let total = account.total(ms(100), 10);
    assert_eq!((total.lasted, total.stops), (ms(100), 10));
    let expected = CallTotals {
        returned: 2,
        errors: [(11, 1)].into(),
        time: ms(4),
        of_returned: ms(4),
        unfinished: 0,
    };
    assert_eq!(total.calls[&READ], expected);
    assert_eq!(total.calls[&FUTEX].errors, [(110, 1)].into());
    assert_eq!(total.calls[&FUTEX].time, ms(10));
    assert_eq!(account.traced(), (1, 2));
}

#[test]
fn a_call_over_several_intervals_is_in_each_and_counted_once() {
    let mut account = account(&[(7, 50, ThreadAction::Enter(FUTEX))]);
    let first = account.close(ms(100), 3);
    assert_eq!((first.calls[&FUTEX].time, first.calls[&FUTEX].unfinished), (ms(50), 1));
    assert_eq!((first.calls[&FUTEX].returned, first.stops), (0, 3));
    let second = account.close(ms(200), 3);
    assert_eq!((second.calls[&FUTEX].time, second.stops), (ms(100), 0));
    account.take(7, ms(220), ThreadAction::Leave(None));
    let third = account.close(ms(300), 4);
    let futex = &third.calls[&FUTEX];
    assert_eq!((futex.time, futex.of_returned), (ms(20), ms(170)));
    assert_eq!((futex.returned, futex.unfinished, third.stops), (1, 0, 1));
    // The sum of the intervals is the whole.
    let total = account.total(ms(300), 4);
    assert_eq!((total.lasted, total.stops), (ms(300), 4));
    let futex = &total.calls[&FUTEX];
    assert_eq!((futex.time, futex.of_returned, futex.unfinished), (ms(170), ms(170), 0));
}

#[test]
fn what_never_returns_has_its_time_and_no_count() {
    let mut account = account(&[
        (7, 10, ThreadAction::Enter(FUTEX)),
        (8, 10, ThreadAction::Enter(READ)),
        (8, 30, ThreadAction::End),
        // The thread was in a call before it was traced.
        (9, 40, ThreadAction::Leave(None)),
    ]);
    let total = account.total(ms(100), 0);
    for (call, time) in [(FUTEX, ms(90)), (READ, ms(20))] {
        let counted = &total.calls[&call];
        assert_eq!((counted.returned, counted.unfinished, counted.time), (0, 1, time));
    }
    assert_eq!(total.calls.len(), 2);
    // A second question gets the same answer: nothing is counted twice.
    assert_eq!(account.total(ms(100), 0), total);
}

#[test]
fn a_thread_that_becomes_another_program_takes_its_call_along() {
    // Thread 8 of process 7 calls execve(2), which returns in thread 7, whose own call is over.
    let exec = Call { number: 59, ..READ };
    let mut account = account(&[
        (7, 0, ThreadAction::Enter(FUTEX)),
        (8, 10, ThreadAction::Enter(exec)),
        (7, 14, ThreadAction::Rename { former: 8 }),
        (7, 15, ThreadAction::Leave(None)),
    ]);
    let total = account.total(ms(20), 0);
    assert_eq!((total.calls[&exec].returned, total.calls[&exec].time), (1, ms(5)));
    assert_eq!((total.calls[&FUTEX].unfinished, total.calls[&FUTEX].time), (1, ms(14)));
}

#[test]
fn what_happens_while_an_interval_is_closed_is_no_negative_time() {
    // The time of the entry was taken just after that of the look.
    let mut account = account(&[(7, 101, ThreadAction::Enter(READ))]);
    assert_eq!(account.close(ms(100), 0).calls[&READ].time, Span::ZERO);
    account.take(7, ms(103), ThreadAction::Leave(None));
    assert_eq!(account.close(ms(200), 0).calls[&READ].time, ms(2));
}
