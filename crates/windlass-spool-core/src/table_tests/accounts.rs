//! Jobs that are over are known until they are logged, and count against quotas once.

use proptest::prelude::*;
use windlass_wire::pages::Pages;

use super::*;
use crate::account::Account;
use crate::quota::{Quota, UncountedPolicy};

fn quota(printer: Option<&str>, user: Option<&str>) -> Quota {
    Quota {
        printer: printer.map(str::to_owned),
        user: user.map(str::to_owned),
        period: SECOND * 2_400,
        pages: Some(10),
        bytes: None,
        jobs: None,
    }
}

fn accounting(history: History, quotas: Vec<Quota>) -> Fixture {
    let rules = Rules { history, ..Rules::default() };
    let mut fixture = Fixture::new(vec![printer("a"), printer("b")], rules);
    fixture.table.account(quotas);
    fixture
}

impl Fixture {
    /// A job of so many pages, delivered.
    fn prints(&mut self, place: usize, user: &str, pages: u64) -> JobId {
        let id = self.filed(place, ticket(user));
        self.table.made_durable(id);
        assert_eq!(self.next(place), Some(id));
        self.table.counted(place, Pages::Counted(pages));
        self.finish(place, Outcome::Delivered);
        id
    }

    /// The accounts that the table has, where the journal has all that changed.
    fn accounts(&mut self) -> Vec<Account> {
        self.log();
        std::iter::from_fn(|| self.table.next_account()).collect()
    }

    /// These are in the page log.
    fn logs(&mut self, accounts: &[Account]) {
        let last = accounts.last().unwrap().ending;
        let gone =
            self.table.logged(last, vec![LogPosition { path: "log".to_owned(), bytes: last }]);
        self.log();
        self.journal.retain(|key, _| !gone.contains(key));
    }

    /// Restarts the server after a crash.
    fn starts(&mut self, quotas: Vec<Quota>) {
        self.log();
        let printers = vec![printer("a"), printer("b")];
        self.table = JobTable::new(printers, *self.table.rules(), self.now);
        self.table.account(quotas);
        self.table.restore(self.kept(), true, self.now);
        self.log();
    }

    fn may(&self, place: usize, user: &str) -> bool {
        self.table.may_print(place, user, 0, self.now).is_ok()
    }
}

fn jobs(accounts: &[Account]) -> Vec<JobId> {
    accounts.iter().map(|one| one.job).collect()
}

#[test]
fn what_is_over_is_in_the_journal_until_it_is_logged() {
    for history in [History::Last(0), History::Last(1), History::All] {
        let mut fixture = accounting(history, Vec::new());
        let first = fixture.prints(0, "ann", 2);
        let held = fixture.filed(0, held());
        fixture.table.made_durable(held);
        fixture.table.cancel(held, fixture.now).unwrap();
        assert_eq!(jobs(&fixture.accounts()), [first, held]);
        // So it is after a crash.
        fixture.starts(Vec::new());
        let accounts = fixture.accounts();
        assert_eq!(jobs(&accounts), [first, held]);
        assert!(fixture.accounts().is_empty(), "each is told once");
        assert!([first, held].iter().all(|id| fixture.journal.contains_key(id)));
        let restarted = fixture.table.restart(first);
        assert!(restarted.is_err(), "{restarted:?}");
        fixture.logs(&accounts);
        assert_eq!(accounts[0].pages, Some(Pages::Counted(2)));
        assert_eq!((accounts[0].ending, accounts[1].ending), (1, 2));
        assert_eq!((accounts[0].impressions(), accounts[1].impressions()), (Some(2), Some(0)));
        let kept = match history {
            History::All => 2,
            History::Last(most) => most,
        };
        assert_eq!(fixture.table.known(None, 0).count(), kept);
        assert_eq!(fixture.journal.range(1..PRINTER_KEY).count(), kept);
        fixture.starts(Vec::new());
        assert!(fixture.accounts().is_empty());
        assert_eq!(fixture.table.known(None, 0).count(), kept);
        assert_eq!(fixture.table.written()[0].bytes, 2);
        // The next ending has a number of its own.
        fixture.prints(0, "ann", 1);
        let accounts = fixture.accounts();
        assert_eq!(accounts[0].ending, 3);
        fixture.logs(&accounts);
        recount(&fixture.table);
    }
}

#[test]
fn a_job_that_ended_with_the_server_is_logged() {
    let mut fixture = accounting(History::All, Vec::new());
    let canceled = fixture.job(0);
    fixture.next(0);
    fixture.table.cancel(canceled, fixture.now).unwrap();
    fixture.starts(Vec::new());
    let mut accounts = fixture.accounts();
    assert_eq!(jobs(&accounts), [canceled]);
    let purged = fixture.prints(1, "ann", 1);
    fixture.table.purge(0..2);
    accounts.extend(fixture.accounts());
    assert_eq!(jobs(&accounts), [canceled, purged]);
    fixture.logs(&accounts);
    assert_eq!(fixture.table.known(None, 0).count(), 0);
}

#[test]
fn who_accounts_for_nothing_keeps_nothing() {
    let mut fixture =
        Fixture::new(vec![printer("a")], Rules { history: History::Last(0), ..Rules::default() });
    fixture.prints(0, "ann", 3);
    assert!(!fixture.table.has_ended() && fixture.accounts().is_empty());
    assert_eq!(fixture.table.known(None, 0).count(), 0);
    assert_eq!(fixture.table.printers()[0].counts.pages, 3);
}

#[test]
fn a_quota_counts_each_job_once() {
    let quotas = || vec![quota(Some("a"), None), quota(None, Some("bob"))];
    let mut fixture = accounting(History::Last(0), quotas());
    fixture.prints(0, "ann", 9);
    assert!(fixture.may(0, "ann"));
    // A job counts before it is logged, and only once after.
    fixture.prints(0, "ann", 1);
    assert!(!fixture.may(0, "ann"));
    let accounts = fixture.accounts();
    assert!(!fixture.may(0, "ann"));
    fixture.logs(&accounts);
    assert!(!fixture.may(0, "ann"));
    assert!(fixture.may(1, "ann"), "on the other printer");
    assert!(fixture.may(0, "bob"), "another user");
    let no = fixture.table.may_print(0, "ann", 0, fixture.now).unwrap_err();
    assert_eq!(no.to_string(), "\"ann\" has reached a quota: 10 of 10 pages in 2400 s");
    assert_eq!(no.status(), Status::ACCOUNT_LIMIT_REACHED);
    // On all printers together.
    fixture.prints(0, "bob", 6);
    fixture.prints(1, "bob", 5);
    assert!(!fixture.may(1, "bob"));
    let accounts = fixture.accounts();
    let mut before = fixture.journal.clone();
    fixture.logs(&accounts);
    fixture.starts(quotas());
    assert!(!fixture.may(0, "ann") && !fixture.may(1, "bob") && fixture.may(0, "eve"));
    // A crash between the usage records and the last record repeats the confirmation.
    let users = fixture.journal.range(change::USAGE_KEY..).map(|(key, one)| (*key, one.clone()));
    before.extend(users);
    fixture.journal = before;
    fixture.starts(quotas());
    assert_eq!(fixture.accounts(), accounts);
    fixture.logs(&accounts);
    let whose = fixture.table.accounts.usage(change::USAGE_KEY + 1).unwrap();
    assert_eq!(whose.1.parts.iter().map(|(_, used)| used.pages).sum::<u64>(), 6, "{whose:?}");
    // It is forgotten.
    fixture.wait(2_400);
    assert!(fixture.may(0, "ann") && fixture.may(1, "bob"));
}

#[test]
fn copies_count_before_they_are_logged_as_after() {
    let mut fixture = accounting(History::Last(0), vec![quota(Some("a"), None)]);
    let id = fixture.filed(0, Ticket { copies: 3, ..ticket("ann") });
    fixture.table.made_durable(id);
    fixture.next(0);
    fixture.table.counted(0, Pages::Counted(4));
    assert!(fixture.may(0, "ann"));
    fixture.finish(0, Outcome::Delivered);
    let accounts = fixture.accounts();
    assert_eq!(accounts[0].charged(), 12);
    assert!(!fixture.may(0, "ann"));
    fixture.logs(&accounts);
    assert!(!fixture.may(0, "ann"));
}

#[test]
fn what_waits_counts_as_jobs_and_bytes() {
    let mut quota = quota(Some("a"), None);
    (quota.pages, quota.jobs) = (None, Some(2));
    let mut fixture = accounting(History::All, vec![quota.clone()]);
    fixture.job(0);
    assert!(fixture.may(0, "ann"));
    fixture.job(0);
    assert!(!fixture.may(0, "ann"));
    assert!(fixture.may(0, "bob") && fixture.may(1, "ann"));
    (quota.jobs, quota.bytes) = (None, Some(2_001));
    fixture.table.set_quotas(vec![quota]);
    assert!(fixture.may(0, "ann"));
    fixture.job(0);
    assert!(!fixture.may(0, "ann"));
}

#[test]
fn a_document_that_is_longer_than_what_is_left_is_refused() {
    let mut quota = quota(None, Some("ann"));
    (quota.pages, quota.bytes) = (None, Some(2_500));
    let mut fixture = accounting(History::All, vec![quota]);
    fixture.job(0);
    let left = |fixture: &Fixture| fixture.table.byte_allowance(1, "ann", fixture.now);
    assert_eq!(left(&fixture).takes(1_500), Ok(()));
    let no = left(&fixture).takes(1_501).unwrap_err();
    assert!(no.to_string().contains("longer than the 1500 bytes that are left"), "{no}");
    assert_eq!(fixture.table.may_print(1, "ann", 1_500, fixture.now), Ok(()));
    assert!(fixture.table.may_print(1, "ann", 1_501, fixture.now).is_err());
    assert_eq!(fixture.table.byte_allowance(1, "bob", fixture.now).takes(u64::MAX), Ok(()));
}

#[test]
fn pages_that_cannot_be_counted_follow_the_policy() {
    let encrypted = Pages::Unknown(windlass_wire::pages::UnknownReason::Encrypted);
    let mut fixture = accounting(History::All, vec![quota(Some("a"), None)]);
    let id = fixture.prints(0, "ann", 1);
    let job = fixture.table.job(id).unwrap().clone();
    assert_eq!(fixture.table.refuses_uncounted(&job, encrypted), None);
    let rules = Rules { uncounted: UncountedPolicy::Refuse, ..*fixture.table.rules() };
    fixture.table.set_rules(rules);
    assert_eq!(fixture.table.refuses_uncounted(&job, Pages::Counted(99)), None);
    let why = fixture.table.refuses_uncounted(&job, encrypted).unwrap();
    let words = "its pages cannot be counted (it is encrypted), but \"ann\" has a page quota";
    assert_eq!(why, words);
    let elsewhere = fixture.prints(1, "ann", 1);
    let job = fixture.table.job(elsewhere).unwrap().clone();
    assert_eq!(fixture.table.refuses_uncounted(&job, encrypted), None, "no limit there");
}

/// Event in the life of accounted jobs.
#[derive(Clone, Copy, Debug)]
enum AccountEvent {
    Prints(usize),
    Cancels { is_durable: bool },
    Restarts(usize),
    Purges,
    Tells,
    Logs(usize),
    Crashes,
}

fn happening() -> impl Strategy<Value = AccountEvent> {
    prop_oneof![
        4 => (0..2_usize).prop_map(AccountEvent::Prints),
        2 => any::<bool>().prop_map(|is_durable| AccountEvent::Cancels { is_durable }),
        2 => (0..99_usize).prop_map(AccountEvent::Restarts),
        1 => Just(AccountEvent::Purges),
        4 => Just(AccountEvent::Tells),
        3 => (0..9_usize).prop_map(AccountEvent::Logs),
        1 => Just(AccountEvent::Crashes),
    ]
}

proptest! {
    #[test]
    fn each_ending_is_told_once_and_kept_until_it_is_logged(
        history in prop_oneof![Just(History::All), (0..4_usize).prop_map(History::Last)],
        keeps_documents in any::<bool>(),
        steps in prop::collection::vec(happening(), 0..80),
    ) {
        let mut fixture = accounting(history, Vec::new());
        let rules = Rules { keeps_documents, ..*fixture.table.rules() };
        fixture.table.set_rules(rules);
        // The jobs of endings in their order; how many of them are told since the start, and
        // how many are logged.
        let (mut ended, mut told, mut logged) = (Vec::new(), 0, 0);
        let mut begun = Vec::new();
        for step in steps.into_iter().chain([AccountEvent::Tells, AccountEvent::Logs(999)]) {
            match step {
                AccountEvent::Prints(place) => {
                    let id = fixture.prints(place, "ann", 1);
                    begun.push(id);
                    ended.push(id);
                }
                AccountEvent::Cancels { is_durable } => {
                    let id = fixture.filed(0, held());
                    // One that is not kept yet has no end that anybody is told of.
                    if is_durable {
                        fixture.table.made_durable(id);
                        fixture.table.cancel(id, fixture.now).unwrap();
                        ended.push(id);
                    } else {
                        fixture.table.lost(id);
                    }
                }
                AccountEvent::Restarts(which) => {
                    let id = begun.get(which % begun.len().max(1)).copied().unwrap_or(1);
                    let place = fixture.table.job(id).map(|job| job.printer);
                    if fixture.table.restart(id).is_ok() {
                        let unlogged = &ended[logged..];
                        prop_assert!(!unlogged.contains(&id), "{id} is not logged");
                        prop_assert_eq!(fixture.delivers(place.unwrap()), Some(id));
                        ended.push(id);
                    }
                }
                AccountEvent::Purges => fixture.table.purge(0..2),
                AccountEvent::Tells => {
                    let accounts = fixture.accounts();
                    prop_assert_eq!(jobs(&accounts), &ended[told..]);
                    let first = told as u64 + 1;
                    prop_assert!(accounts.iter().map(|one| one.ending).eq(first..=ended.len() as u64));
                    told = ended.len();
                    recount(&fixture.table);
                }
                AccountEvent::Logs(some) if logged < told => {
                    logged = told.min(logged + some + 1);
                    let gone = fixture.table.logged(logged as u64, Vec::new());
                    fixture.log();
                    fixture.journal.retain(|key, _| !gone.contains(key));
                }
                AccountEvent::Logs(_) => {}
                AccountEvent::Crashes => {
                    fixture.starts(Vec::new());
                    told = logged;
                }
            }
            fixture.log();
            let kept = |id: &JobId| fixture.journal.contains_key(id);
            prop_assert!(ended[logged..].iter().all(kept), "a start knows how they ended");
        }
        prop_assert_eq!(logged, ended.len());
        let jobs = fixture.journal.keys().filter(|key| **key != 0 && **key < PRINTER_KEY);
        prop_assert!(jobs.eq(fixture.table.jobs.keys()));
    }
}
