//! Jobs that are over are known until they are logged, and count against quotas once.

use windlass_wire::pages::Pages;

use super::*;
use crate::account::Account;
use crate::quota::Quota;

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

    fn unlogged(&self) -> Vec<JobId> {
        self.table.unlogged(99).iter().map(|one| one.job).collect()
    }

    /// All that is over is in the page log.
    fn logs(&mut self) -> Vec<Account> {
        let accounts = self.table.unlogged(99);
        let written = Written { path: "log".to_owned(), bytes: self.table.accounts.last };
        self.table.logged(&accounts, vec![written]);
        self.log();
        accounts
    }

    /// The same after a crash.
    fn starts(&mut self, quotas: Vec<Quota>) {
        self.log();
        let printers = vec![printer("a"), printer("b")];
        self.table = JobTable::new(printers, *self.table.rules(), self.now);
        self.table.account(quotas);
        self.table.restore(self.kept(), true, self.now);
        self.log();
    }

    fn may(&self, place: usize, user: &str) -> bool {
        self.table.within_quota(place, user, self.now).is_ok()
    }
}

#[test]
fn what_is_over_is_known_until_it_is_logged() {
    for history in [History::Last(0), History::Last(1), History::All] {
        let mut fixture = accounting(history, Vec::new());
        let first = fixture.prints(0, "ann", 2);
        let held = fixture.filed(0, held());
        fixture.table.made_durable(held);
        fixture.table.cancel(held, fixture.now).unwrap();
        assert_eq!(fixture.unlogged(), [first, held]);
        // So it is after a crash.
        fixture.starts(Vec::new());
        assert_eq!(fixture.unlogged(), [first, held]);
        let restarted = fixture.table.restart(first);
        assert!(restarted.is_err(), "{restarted:?}");
        let accounts = fixture.logs();
        assert_eq!(accounts[0].pages, Some(Pages::Counted(2)));
        assert_eq!((accounts[0].ending, accounts[1].ending), (1, 2));
        assert_eq!((accounts[0].impressions(), accounts[1].impressions()), (Some(2), Some(0)));
        let kept = match history {
            History::All => 2,
            History::Last(most) => most,
        };
        assert_eq!(fixture.table.known(None, 0).count(), kept);
        fixture.starts(Vec::new());
        assert!(fixture.unlogged().is_empty());
        assert_eq!(fixture.table.known(None, 0).count(), kept);
        assert_eq!(fixture.table.written()[0].bytes, 2);
        // The next ending has a number of its own.
        fixture.prints(0, "ann", 1);
        assert_eq!(fixture.table.unlogged(9)[0].ending, 3);
        fixture.logs();
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
    assert_eq!(fixture.unlogged(), [canceled]);
    let purged = fixture.prints(1, "ann", 1);
    fixture.table.purge(0..2);
    assert_eq!(fixture.unlogged(), [canceled, purged]);
    fixture.logs();
    assert_eq!(fixture.table.known(None, 0).count(), 0);
}

#[test]
fn who_accounts_for_nothing_keeps_nothing() {
    let mut fixture =
        Fixture::new(vec![printer("a")], Rules { history: History::Last(0), ..Rules::default() });
    fixture.prints(0, "ann", 3);
    assert!(!fixture.table.has_unlogged());
    assert_eq!(fixture.table.known(None, 0).count(), 0);
    assert_eq!(fixture.table.printers()[0].counts.pages, 3);
}

#[test]
fn a_quota_counts_each_job_once() {
    let quotas = || vec![quota(Some("a"), None), quota(None, Some("bob"))];
    let mut fixture = accounting(History::Last(0), quotas());
    fixture.prints(0, "ann", 9);
    assert!(fixture.may(0, "ann"));
    // What is not logged counts, and what is logged counts no more than once.
    fixture.prints(0, "ann", 1);
    assert!(!fixture.may(0, "ann"));
    fixture.logs();
    assert!(!fixture.may(0, "ann"));
    assert!(fixture.may(1, "ann"), "on the other printer");
    assert!(fixture.may(0, "bob"), "another user");
    let no = fixture.table.within_quota(0, "ann", fixture.now).unwrap_err();
    assert_eq!(no.to_string(), "\"ann\" has printed as much as he may: 10 of 10 pages in 2400 s");
    assert_eq!(no.status(), Status::ACCOUNT_LIMIT_REACHED);
    // On all printers together.
    fixture.prints(0, "bob", 6);
    fixture.prints(1, "bob", 5);
    assert!(!fixture.may(1, "bob"));
    let accounts = fixture.logs();
    fixture.starts(quotas());
    assert!(!fixture.may(0, "ann") && !fixture.may(1, "bob") && fixture.may(0, "eve"));
    // The same is said again after a crash between the records of users and the last.
    fixture.table.logged(&accounts, Vec::new());
    let whose = fixture.table.accounts.usage(change::USAGE_KEY + 1).unwrap();
    assert_eq!(whose.1.parts.iter().map(|(_, used)| used.pages).sum::<u64>(), 6, "{whose:?}");
    // It is forgotten.
    fixture.wait(2_400);
    assert!(fixture.may(0, "ann") && fixture.may(1, "bob"));
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
