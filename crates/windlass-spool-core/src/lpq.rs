//! Answers to `lpq`, and the jobs that `lprm` cancels (RFC 1179, sections 5.3 to 5.5).

use std::collections::HashSet;
use std::fmt::Write;

use windlass_wire::ipp::JobState;
use windlass_wire::ipp::server::cut;

use crate::job::{Job, JobId, StoredDocument};
use crate::moment::Moment;
use crate::requester::{Right, Rights};
use crate::table::JobTable;

/// Maximum number of jobs in an answer.
const MAX_TOLD: usize = 10_000;

/// Converts a client's octets to text without control characters, which could control a terminal.
pub fn said(octets: &[u8]) -> String {
    tame(&String::from_utf8_lossy(octets))
}

/// Removes control characters, which could control a terminal.
fn tame(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).collect()
}

/// Selection of jobs by numbers and users; all jobs if none is named. A request line names
/// hundreds, and a printer may have hundreds of thousands of jobs.
#[derive(Clone, Debug)]
pub struct JobSelection {
    users: HashSet<String>,
    ids: HashSet<JobId>,
}

impl JobSelection {
    /// Reads the list of a request.
    pub fn new(list: &[Vec<u8>]) -> Self {
        let users: HashSet<String> = list.iter().map(|one| said(one)).collect();
        let ids = users.iter().filter_map(|one| one.parse().ok()).collect();
        Self { users, ids }
    }

    fn is_all(&self) -> bool {
        self.users.is_empty()
    }

    fn has<D>(&self, job: &Job<D>) -> bool {
        self.is_all() || self.ids.contains(&job.id) || self.users.contains(&*job.ticket.user)
    }

    /// Returns the text that `lpq` prints.
    pub fn told<D: StoredDocument>(
        &self,
        table: &JobTable<D>,
        place: usize,
        long: bool,
        now: Moment,
    ) -> String {
        let printer = &table.printers()[place];
        let name = &printer.settings.name;
        let mut text = String::new();
        let message = tame(&printer.message(now));
        let message = if message.is_empty() { message } else { format!(": {message}") };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} is {}{message}", printer.state().words());
        let jobs: Vec<&Job<D>> =
            table.live(Some(place), 0).filter(|job| self.has(job)).take(MAX_TOLD).collect();
        if jobs.is_empty() {
            text.push_str("no entries\n");
            return text;
        }
        if !long {
            let _ = writeln!(
                text,
                "{:<7} {:<12} {:<8} {:<30} Total Size",
                "Rank", "Owner", "Job", "File(s)"
            );
        }
        for (rank, job) in jobs.into_iter().enumerate() {
            let rank = match job.state() {
                JobState::Processing => "active".to_owned(),
                JobState::PendingHeld => "held".to_owned(),
                _ => rank.to_string(),
            };
            let (ticket, id, size) = (&job.ticket, job.id, job.bytes_to_print());
            let (user, title) = (tame(cut(&ticket.user, 40)), tame(cut(&ticket.name, 60)));
            let _ = if long {
                writeln!(
                    text,
                    "\n{user}: {rank:<33} [job {id} {}]\n        {title:<32} {} bytes",
                    tame(cut(&ticket.host, 60)),
                    size
                )
            } else {
                writeln!(text, "{rank:<7} {user:<12} {id:<8} {title:<30} {size} bytes")
            };
        }
        text
    }

    /// Cancels the jobs that `lprm` names. Without names it cancels the job that prints, if that is
    /// the agent's own. LPR has no authentication: the agent is whoever the client says.
    pub fn cancel<D: StoredDocument>(
        &self,
        table: &mut JobTable<D>,
        place: usize,
        agent: &str,
        rights: Rights,
        now: Moment,
    ) {
        // The RFC lets root cancel any job (section 5.5); the client's address decides whether root
        // is believed.
        let is_own = |job: &Job<D>| rights.believed && *job.ticket.user == *agent;
        let may = |job: &Job<D>| {
            (rights.has(Right::Own) && is_own(job)) || (rights.administer && agent == "root")
        };
        let ids: Vec<_> = if self.is_all() {
            // LPRng and CUPS cancel the user's own job if another user's job prints.
            let named = rights.has(Right::Own).then_some(agent);
            let is_root = rights.administer && agent == "root";
            let own = table
                .current_of(place, named, is_root)
                .filter(|id| table.job(*id).is_some_and(may));
            own.into_iter().collect()
        } else {
            let asked = table.live(Some(place), 0).filter(|job| self.has(job) && may(job));
            asked.map(|job| job.id).collect()
        };
        for id in ids {
            // None of them is over.
            let _ = table.cancel(id, now);
        }
    }
}
