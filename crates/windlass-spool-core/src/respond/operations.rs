//! IPP operations.

use std::ops::Range;
use std::sync::Arc;

use windlass_wire::ipp::server::{IppRefusal, Reply, RequestedAttributes, cut, number, text, uri};
use windlass_wire::ipp::{
    Attribute, Compression, Group, GroupTag, JobState, Message, Operation, Status, Value,
};
use windlass_wire::media_type::essence;

use super::{Context, ExpectedDocument, Goal, Listing, RequestStep, fidelity, job, media, printer};
use crate::formats::{OCTETS, has, is_every_page};
use crate::hold::{HOLD_WORDS, HoldUntil};
use crate::job::{Job, JobId, StoredDocument, Ticket, USUAL_PRIORITY};
use crate::passes::MAX_COPIES;
use crate::printer::Printer;
use crate::requester::{ANONYMOUS, Peer, Requester, Right, Rights};
use crate::table::{JobTable, Refusal};
use crate::template::{packed, template};

/// Attribute with the number of jobs whose printers are removed. It is among the operation
/// attributes of an answer about all printers.
const JOBS_OF_REMOVED: &str = "windlass-jobs-of-removed-printers";

/// Maximum length of the template attributes that a job keeps.
const MAX_TEMPLATE: usize = 16 << 10;

/// Parameters of a new job.
struct NewJob {
    place: usize,
    ticket: Ticket,
    compression: Compression,
    /// Requested attributes that the printer does not support.
    ignored: Vec<Attribute>,
}

type HandlerResult = Result<RequestStep, IppRefusal>;

/// Handler of one request.
pub(super) struct RequestHandler<'a, D> {
    pub(super) request: &'a Message,
    pub(super) reply: Reply,
    pub(super) table: &'a mut JobTable<D>,
    pub(super) context: &'a Context<'a>,
}

impl<D: StoredDocument> RequestHandler<'_, D> {
    /// Executes the operation.
    pub(super) fn done(mut self) -> HandlerResult {
        let now = self.context.now;
        let operation = Operation(self.request.code);
        self.may(operation)?;
        match operation {
            Operation::PRINT_JOB => {
                let NewJob { place, ticket, compression, ignored } = self.new_job()?;
                self.table.admit(place)?;
                let name = self.document_name(&ticket);
                return self.receive(Goal::New { place, ticket }, name, compression, ignored);
            }
            Operation::VALIDATE_JOB => {
                let ignored = self.new_job()?.ignored;
                return Ok(RequestStep::Answer(fidelity::done(self.reply, &ignored, Vec::new())));
            }
            Operation::CREATE_JOB => {
                let NewJob { place, ticket, ignored, .. } = self.new_job()?;
                self.table.admit_open(place, &ticket)?;
                let id = self.table.open(place, ticket, now);
                let created = job_created(self.table, id, self.context);
                let answer = fidelity::done(self.reply, &ignored, vec![created]);
                return Ok(RequestStep::Created { answer, id });
            }
            Operation::SEND_DOCUMENT => return self.send_document(),
            Operation::CLOSE_JOB => {
                let id = self.own_job(Right::Print)?;
                self.table.add(id, None, true, now)?;
                self.table.made_durable(id);
            }
            Operation::CANCEL_JOB => drop(self.table.cancel(self.job_to_cancel()?, now)?),
            Operation::CANCEL_JOBS => self.cancel_jobs(None)?,
            Operation::CANCEL_MY_JOBS => self.cancel_jobs(Some(&self.user()))?,
            Operation::PURGE_JOBS => {
                let places = self.places(self.place()?);
                self.cancel_all(places.clone(), None);
                self.table.purge(places);
            }
            Operation::HOLD_JOB => {
                let id = self.own_job(Right::Own)?;
                match self.hold_until()? {
                    Some(HoldUntil::NoHold) => self.table.release(id)?,
                    Some(HoldUntil::Held(hold)) => self.table.hold_until(id, hold)?,
                    None => self.table.hold(id)?,
                }
            }
            Operation::RELEASE_JOB => self.table.release(self.own_job(Right::Own)?)?,
            Operation::RESTART_JOB => {
                self.within_its_quota()?;
                let id = self.own_job(Right::Own)?;
                let hold = self.hold_until()?;
                self.table.restart(id)?;
                if let Some(HoldUntil::Held(hold)) = hold {
                    self.table.hold_until(id, hold)?;
                }
            }
            Operation::SET_JOB_ATTRIBUTES => self.set_job()?,
            Operation::GET_JOB_ATTRIBUTES => {
                let id = self.job()?;
                let known = self.table.job(id).ok_or(Refusal::NoJob(id))?;
                if !self.context.requester.rights.has(Right::See) && !self.is_own(known) {
                    return Err(self.not_yours(id));
                }
                let (printers, wanted) = (
                    self.table.printers_of(known),
                    RequestedAttributes::of(self.request, &["all"]),
                );
                return self.told([job::attributes(known, printers, &wanted, self.context)]);
            }
            Operation::GET_JOBS => return self.get_jobs(),
            Operation::GET_PRINTER_ATTRIBUTES => {
                let place = self.one_place()?;
                self.check_format(place)?;
                return self.attributes(&self.table.printers()[place..=place]);
            }
            Operation::PAUSE_PRINTER => {
                let place = self.one_place()?;
                let said = self.message_of_operator();
                self.table.stop(place, said.as_deref().unwrap_or("Paused"), now);
            }
            Operation::RESUME_PRINTER => self.table.start(self.one_place()?, now),
            Operation::ENABLE_PRINTER | Operation::CUPS_ACCEPT_JOBS => {
                self.table.accept(self.one_place()?, true, now);
            }
            Operation::DISABLE_PRINTER | Operation::CUPS_REJECT_JOBS => {
                let place = self.one_place()?;
                match self.message_of_operator() {
                    Some(why) => self.table.reject(place, &why, now),
                    None => self.table.accept(place, false, now),
                }
            }
            Operation::IDENTIFY_PRINTER => drop(self.one_place()?),
            Operation::CUPS_GET_DEFAULT => {
                let place = self.table.default_place()?;
                return self.attributes(&self.table.printers()[place..=place]);
            }
            Operation::CUPS_GET_PRINTERS => return self.get_printers(false),
            Operation::CUPS_GET_CLASSES => return self.get_printers(true),
            Operation::CUPS_ADD_MODIFY_PRINTER => self.add_or_modify(false)?,
            Operation::CUPS_ADD_MODIFY_CLASS => self.add_or_modify(true)?,
            Operation::CUPS_DELETE_PRINTER | Operation::CUPS_DELETE_CLASS => self.delete()?,
            Operation::CUPS_SET_DEFAULT => self.set_default()?,
            Operation::CUPS_MOVE_JOB => self.move_jobs()?,
            _ => {
                let why = format!("{operation} is not supported here");
                return Err(IppRefusal::new(Status::OPERATION_NOT_SUPPORTED, why));
            }
        }
        self.told([])
    }

    /// Returns a successful answer with these groups of attributes.
    fn told(&self, groups: impl IntoIterator<Item = Group>) -> HandlerResult {
        Ok(RequestStep::Answer(self.reply.ok(groups)))
    }

    /// Reads the parameters of a new job from the request.
    fn new_job(&self) -> Result<NewJob, IppRefusal> {
        let place = self.one_place()?;
        let format = self.check_format(place)?;
        let compression = self.request.compression()?;
        let octets = self.request.number(GroupTag::OPERATION, "job-k-octets");
        let octets = octets.and_then(|kilo| u64::try_from(kilo).ok());
        if let (Some(kilo), Some(most)) = (octets, self.context.max_document)
            && kilo.saturating_sub(1).saturating_mul(1_024) >= most
        {
            return Err(Refusal::TooLarge(most).into());
        }
        let mut templates: Vec<Attribute> = self.job_attributes().cloned().collect();
        for default in template(&self.table.printers()[place].settings.defaults) {
            if templates.iter().all(|one| one.name != default.name) {
                templates.push(default);
            }
        }
        templates.iter_mut().for_each(media::named_as_in_ipp);
        let templates = templates.iter();
        let find = |name: &str| templates.clone().find(|attribute| attribute.name == name);
        let priority = find("job-priority").and_then(|one| one.values.first()?.number());
        let priority = priority.and_then(|one| u8::try_from(one).ok()).unwrap_or(USUAL_PRIORITY);
        // Some clients put it among the operation attributes, as CUPS's own tests do.
        let hold = find("job-hold-until").or_else(|| self.request.asked("job-hold-until"));
        let hold = hold.map(|said| self.held(said)).transpose()?;
        let copies = find("copies").map_or(Ok(1), |one| {
            a_number_of_copies(one).ok_or_else(|| {
                let why = format!("copies must be a number from 1 to {MAX_COPIES}");
                IppRefusal::of(Status::NOT_SUPPORTED, why, Some(one))
            })
        })?;
        let handling =
            find("multiple-document-handling").and_then(|one| one.values.first()?.text());
        // With a single document, all documents follow each other as well.
        let is_collated = handling.is_some_and(|word| {
            matches!(
                &*word,
                "separate-documents-collated-copies"
                    | "single-document"
                    | "single-document-new-sheet"
            )
        });
        if let Some(ranges) = find("page-ranges").filter(|ranges| !are_ranges(ranges)) {
            let why = "page-ranges must be ranges such as 2-4, from page 1 on";
            return Err(IppRefusal::of(Status::NOT_SUPPORTED, why, Some(ranges)));
        }
        if let Some(ranges) = find("page-ranges").filter(|ranges| !is_every_page(ranges))
            && !self.table.printers()[place].settings.device.takes_attributes()
        {
            let why = "page-ranges is not supported: the device gets the data unchanged; select \
                       pages in the application";
            return Err(IppRefusal::of(Status::NOT_SUPPORTED, why, Some(ranges)));
        }
        let printer = &self.table.printers()[place];
        let ignored = fidelity::unsupported(templates.clone(), printer, self.table, self.context);
        if fidelity::is_strict(self.request, &ignored) {
            let names: Vec<&str> = ignored.iter().map(|one| one.name.as_str()).collect();
            let why = format!("the printer does not support: {}", names.join(", "));
            let group = Group { tag: GroupTag::UNSUPPORTED, attributes: ignored };
            return Err(IppRefusal {
                unsupported: Some(group),
                ..IppRefusal::new(Status::NOT_SUPPORTED, why)
            });
        }
        // Attributes with fields of their own are not stored twice.
        let own = ["job-priority", "job-hold-until", "job-name", "copies"];
        let kept = templates.clone().filter(|one| !own.contains(&one.name.as_str()));
        // A device that reports its capabilities gets only supported attributes: some refuse the
        // job otherwise.
        let kept: Vec<Attribute> = match printer.learned.is_empty() {
            true => kept.cloned().collect(),
            false => kept.filter_map(|one| fidelity::supported_part(one, &ignored)).collect(),
        };
        let template = packed(kept);
        let template = template.filter(|octets| octets.len() <= MAX_TEMPLATE).ok_or_else(|| {
            let why = format!("the job's attributes have more than {MAX_TEMPLATE} bytes");
            IppRefusal::new(Status::ENTITY_TOO_LARGE, why)
        })?;
        let user = self.user();
        // The value is rounded up (RFC 8011, section 5.3.17.1).
        let least = octets.map_or(0, |kilo| kilo.saturating_sub(1).saturating_mul(1_024));
        self.table.may_print(place, &user, least, self.context.now)?;
        let ticket = Ticket {
            name: self.request.job_name().into(),
            user: Arc::from(user),
            host: Arc::from(self.context.requester.peer.host()),
            format: Arc::from(format),
            priority: priority.clamp(1, 100),
            hold: hold.and_then(HoldUntil::held),
            copies,
            is_collated,
            template,
        };
        Ok(NewJob { place, ticket, compression, ignored })
    }

    /// Returns the job attributes of the request.
    fn job_attributes(&self) -> impl Iterator<Item = &Attribute> + Clone {
        let groups = self.request.groups.iter().filter(|group| group.tag == GroupTag::JOB);
        groups.flat_map(|group| &group.attributes)
    }

    fn document_name(&self, ticket: &Ticket) -> Box<str> {
        self.request.said_name("document-name").map_or_else(|| ticket.name.clone(), Into::into)
    }

    /// Returns the media type of the request, if the printer accepts it.
    fn check_format(&self, place: usize) -> Result<String, IppRefusal> {
        let Some(format) = self.request.said("document-format") else {
            return Ok(OCTETS.to_owned());
        };
        let printer = &self.table.printers()[place];
        // Any member of the class may get the job.
        if has(&self.table.formats(printer), essence(&format)) {
            return Ok(cut(&format, 255).to_owned());
        }
        let why = format!("documents of {format:?} are not accepted");
        Err(IppRefusal::of(
            Status::FORMAT_NOT_SUPPORTED,
            why,
            self.request.asked("document-format"),
        ))
    }

    /// Returns an operator's message about a printer that is stopped or rejects jobs. The RFC has
    /// one attribute for it (RFC 3998, section 5.1); CUPS's cupsdisable and cupsreject use another.
    fn message_of_operator(&self) -> Option<String> {
        ["printer-message-from-operator", "printer-state-message"]
            .iter()
            .find_map(|name| self.request.said(name))
            .filter(|said| !said.is_empty())
            .map(std::borrow::Cow::into_owned)
    }

    /// Returns until when the operation holds a job; `None` if it does not say.
    fn hold_until(&self) -> Result<Option<HoldUntil>, IppRefusal> {
        self.request.asked("job-hold-until").map(|said| self.held(said)).transpose()
    }

    /// Reads an attribute that holds a job. An unknown word is refused whatever the request says of
    /// fidelity: nobody would know when the job prints.
    fn held(&self, said: &Attribute) -> Result<HoldUntil, IppRefusal> {
        let word = said.values.first().and_then(Value::text).unwrap_or_default();
        HoldUntil::new(&word, self.context.now, self.table.zone()).ok_or_else(|| {
            let words = HOLD_WORDS.join(", ");
            let why = format!("{word:?} is not a value of job-hold-until: use {words} or HH:MM");
            IppRefusal::of(Status::NOT_SUPPORTED, why, Some(said))
        })
    }

    /// Returns the user whom the request counts for.
    fn user(&self) -> String {
        self.context.requester.name(self.request.said_name("requesting-user-name"))
    }

    /// Checks that the requester may use an operation at all.
    fn may(&self, operation: Operation) -> Result<(), IppRefusal> {
        let Requester { peer, rights, .. } = &self.context.requester;
        let right = if printer::OPERATIONS.contains(&(operation, true)) {
            Right::Administer
        } else {
            match operation {
                Operation::PRINT_JOB
                | Operation::VALIDATE_JOB
                | Operation::CREATE_JOB
                | Operation::SEND_DOCUMENT
                | Operation::CLOSE_JOB => Right::Print,
                Operation::CANCEL_JOB
                | Operation::CANCEL_MY_JOBS
                | Operation::HOLD_JOB
                | Operation::RELEASE_JOB
                | Operation::RESTART_JOB
                | Operation::SET_JOB_ATTRIBUTES => Right::Own,
                // A requester with any right may see printers, and their own jobs.
                _ if *rights != Rights::NONE => return Ok(()),
                _ => Right::See,
            }
        };
        if rights.has(right) {
            return if matches!(right, Right::Print | Right::Own) {
                self.is_himself()
            } else {
                Ok(())
            };
        }
        // The port of a connection is of no use to anybody.
        let who = match peer {
            Peer::Network(_) => peer.host(),
            Peer::Local { .. } => peer.to_string(),
        };
        let why = match right {
            Right::Administer => {
                format!("{operation} needs the right to administer, which {who} does not have")
            }
            right => format!("{who} may not {right} here, so {operation} is refused"),
        };
        Err(self.refused(Status::FORBIDDEN, why))
    }

    /// Refuses to reprint a job beyond its user's quota.
    fn within_its_quota(&self) -> Result<(), IppRefusal> {
        let job = self.own_job(Right::Own)?;
        let job = self.table.job(job).ok_or(Refusal::NoJob(job))?;
        let (place, user) = (job.printer, &job.ticket.user);
        Ok(self.table.may_print(place, user, job.size, self.context.now)?)
    }

    /// Refuses a request in another user's name, unless the requester may act for others.
    fn is_himself(&self) -> Result<(), IppRefusal> {
        let said = self.request.said_name("requesting-user-name");
        match self.context.requester.acts_for_another(said.as_deref()) {
            Some(user) => {
                let other = said.unwrap_or_default();
                let why = format!(
                    "{user} may not act for {other:?}: only administrators may act for others"
                );
                Err(IppRefusal::new(Status::NOT_AUTHORIZED, why))
            }
            None => Ok(()),
        }
    }

    /// Returns a refusal: a request to authenticate if that could help, otherwise this status.
    fn refused(&self, status: Status, why: String) -> IppRefusal {
        let requester = self.context.requester;
        let is_known = requester.user.is_some() || !requester.can_log_in;
        IppRefusal::new(if is_known { status } else { Status::NOT_AUTHENTICATED }, why)
    }

    fn not_yours(&self, id: JobId) -> IppRefusal {
        let refusal = Refusal::NotYours(id);
        self.refused(refusal.status(), refusal.to_string())
    }

    /// Returns whether a job is the requester's own. A requester without a name that counts owns no
    /// job.
    fn is_own(&self, job: &Job<D>) -> bool {
        self.context.requester.is_somebody() && *job.ticket.user == *self.user()
    }

    /// Returns the job of the request, if the requester may act on it: their own job, or any job
    /// for an administrator.
    fn own_job(&self, right: Right) -> Result<JobId, IppRefusal> {
        let id = self.job()?;
        let job = self.table.job(id).ok_or(Refusal::NoJob(id))?;
        let rights = self.context.requester.rights;
        // An anonymous document may go to an anonymous job that waits for one.
        let is_own = self.is_own(job)
            || (right == Right::Print
                && *job.ticket.user == *ANONYMOUS
                && self.user() == ANONYMOUS);
        if rights.administer || (rights.has(right) && is_own) {
            return Ok(id);
        }
        Err(self.not_yours(id))
    }

    /// Returns the job to cancel. The number 0 means the user's current job: CUPS's `lprm` uses it.
    fn job_to_cancel(&self) -> Result<JobId, IppRefusal> {
        let number = self.request.number(GroupTag::OPERATION, "job-id");
        if self.request.said("job-uri").is_some() || number != Some(0) {
            return self.own_job(Right::Own);
        }
        let place = self.one_place()?;
        let user = self.user();
        let requester = self.context.requester;
        // A requester without a name that counts owns no job.
        let named = requester.is_somebody().then_some(user.as_str());
        let found = self.table.current_of(place, named, requester.rights.administer);
        found.ok_or_else(|| {
            let name = &self.table.printers()[place].settings.name;
            IppRefusal::new(Status::NOT_POSSIBLE, format!("{user:?} has no job on {name}"))
        })
    }

    fn send_document(self) -> HandlerResult {
        let id = self.own_job(Right::Print)?;
        let is_last = self.request.is_last_document()?;
        let place = self.table.expects(id)?.printer;
        let format = self.check_format(place)?;
        let compression = self.request.compression()?;
        let job = self.table.expects(id)?;
        let name = self.document_name(&job.ticket);
        if self.request.asked("document-format").is_some() {
            // Drivers give the format here, and not when they open the job.
            self.table.typed(id, &format);
        }
        self.receive(Goal::More { id, is_last }, name, compression, Vec::new())
    }

    fn set_job(&mut self) -> Result<(), IppRefusal> {
        let id = self.own_job(Right::Own)?;
        let settable = ["job-priority", "job-hold-until"];
        let other = self.job_attributes().find(|one| !settable.contains(&one.name.as_str()));
        if let Some(other) = other {
            let why = format!("{} of a job cannot be changed", other.name);
            return Err(IppRefusal::of(Status::NOT_SETTABLE, why, Some(other)));
        }
        // All or none (RFC 3380, section 4.2): everything that may be refused is checked first.
        let (mut hold, mut priority) = (None, None);
        for attribute in self.job_attributes() {
            let is_known = if attribute.name == "job-priority" {
                let value = attribute.values.first().and_then(Value::number).and_then(a_priority);
                priority = value.or(priority);
                value.is_some()
            } else {
                hold = Some(self.held(attribute)?);
                true
            };
            if !is_known {
                let why = format!("{} of a job cannot have this value", attribute.name);
                return Err(IppRefusal::of(Status::NOT_SUPPORTED, why, Some(attribute)));
            }
        }
        if let Some(priority) = priority {
            // This is refused in the same phases as holding and releasing.
            self.table.prefer(id, priority)?;
        }
        match hold {
            Some(HoldUntil::Held(until)) => self.table.hold_until(id, until)?,
            Some(HoldUntil::NoHold) => self.table.release(id)?,
            None => {}
        }
        Ok(())
    }

    fn places(&self, place: Option<usize>) -> Range<usize> {
        place.map_or(0..self.table.printers().len(), |place| place..place + 1)
    }

    /// Cancels the unfinished jobs of some printers, of everybody or of one user.
    fn cancel_all(&mut self, places: Range<usize>, user: Option<&str>) {
        for place in places {
            let is_theirs = |job: &&Job<D>| user.is_none_or(|user| *job.ticket.user == *user);
            let ids: Vec<JobId> =
                self.table.live(Some(place), 0).filter(is_theirs).map(|job| job.id).collect();
            self.cancel_each(&ids);
        }
    }

    /// Cancels jobs that were unfinished a moment ago.
    fn cancel_each(&mut self, ids: &[JobId]) {
        for id in ids {
            let _ = self.table.cancel(*id, self.context.now);
        }
    }

    /// Cancels the named jobs, or all, of everybody or of one user.
    fn cancel_jobs(&mut self, user: Option<&str>) -> Result<(), IppRefusal> {
        let place = self.place()?;
        if user.is_some() && !self.context.requester.is_somebody() {
            let why = "the owner of these jobs is unknown".to_owned();
            return Err(self.refused(Status::NOT_AUTHORIZED, why));
        }
        let Some(named) = self.request.asked("job-ids") else {
            self.cancel_all(self.places(place), user);
            return Ok(());
        };
        // All or none (PWG 5100.11, section 4.1).
        let mut ids = Vec::new();
        for number in named.values.iter().filter_map(Value::number) {
            let id = JobId::try_from(number).unwrap_or(0);
            let is_there = |job: &&Job<D>| place.is_none_or(|place| job.printer == place);
            let job = self.table.job(id).filter(is_there).ok_or(Refusal::NoJob(id))?;
            if user.is_some_and(|user| *job.ticket.user != *user) {
                return Err(Refusal::NotYours(id).into());
            }
            if job.is_over() {
                return Err(Refusal::impossible(job, "it is already finished").into());
            }
            ids.push(id);
        }
        self.cancel_each(&ids);
        Ok(())
    }

    fn get_jobs(self) -> HandlerResult {
        let place = self.place()?;
        let which = self.request.said("which-jobs");
        let which = which.as_deref().unwrap_or("not-completed");
        if !printer::WHICH.contains(&which) {
            let why = format!("which-jobs {which:?} is not supported");
            return Err(IppRefusal::of(
                Status::NOT_SUPPORTED,
                why,
                self.request.asked("which-jobs"),
            ));
        }
        // The list is sent page by page, however long it is.
        let limit = self.limit().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let first = self.request.number(GroupTag::OPERATION, "first-job-id");
        let first = first.and_then(|first| JobId::try_from(first).ok()).unwrap_or(0);
        let named = self.request.asked("job-ids");
        let ids: Vec<JobId> = if let Some(named) = named {
            let ids = named.values.iter().filter_map(Value::number);
            ids.filter_map(|id| JobId::try_from(id).ok()).collect()
        } else if which == "completed" {
            // Latest first (RFC 8011, section 4.2.6.2).
            self.table.over(place, first).map(|job| job.id).collect()
        } else if let ("not-completed", Some(place)) = (which, place) {
            self.table.printers()[place].live.range(first..).copied().collect()
        } else {
            self.table.known(place, first).map(|job| job.id).collect()
        };
        let which = if named.is_some() { "all" } else { which }.to_owned();
        // A requester who may not see the jobs of others gets their own.
        let is_of_one = self.request.only_of();
        let requester = self.context.requester;
        let sees_all = requester.rights.has(Right::See);
        let user = match is_of_one {
            // A requester who sees all jobs may ask for those of another user (`lpstat -u`).
            Some(named) if sees_all && requester.user.is_some() => Some(named),
            Some(_) => Some(self.user()),
            None => (!sees_all).then(|| self.user()),
        };
        if user.is_some() && !requester.is_somebody() {
            let why = "a list of own jobs needs a known user".to_owned();
            return Err(self.refused(Status::NOT_AUTHORIZED, why));
        }
        let wanted = RequestedAttributes::of(self.request, &["job-id", "job-uri"]);
        Ok(RequestStep::List(Box::new(Listing {
            head: self.reply.ok([]),
            ids: ids.into_iter(),
            place,
            which,
            user,
            left: limit,
            wanted,
        })))
    }

    /// Returns the requested maximum number of entries.
    fn limit(&self) -> Option<usize> {
        usize::try_from(self.request.number(GroupTag::OPERATION, "limit")?).ok()
    }

    /// Lists printers and classes, or classes alone. An empty list is a valid answer.
    fn get_printers(&self, are_classes: bool) -> HandlerResult {
        let first = self.request.said("first-printer-name");
        let is_before =
            |one: &&Printer| first.as_ref().is_some_and(|name| one.settings.name != **name);
        let limit = self.limit().unwrap_or(usize::MAX);
        let listed = self.table.listed().filter(|one| one.is_class() || !are_classes);
        let wanted = RequestedAttributes::of(self.request, &["all"]);
        let of = |one| printer::attributes(one, self.table, &wanted, self.context);
        let mut answer = self.reply.ok(listed.skip_while(is_before).take(limit).map(of));
        let removed = self.table.printers().iter().filter(|one| one.is_removed);
        let jobs: usize = removed.map(|one| one.live.len()).sum();
        if jobs > 0 {
            answer.add(JOBS_OF_REMOVED, Value::Integer(number(jobs as u64)));
        }
        Ok(RequestStep::Answer(answer))
    }

    /// Returns an answer with the requested attributes of some printers.
    fn attributes<'t>(&'t self, printers: impl IntoIterator<Item = &'t Printer>) -> HandlerResult {
        let wanted = RequestedAttributes::of(self.request, &["all"]);
        let of = |one| printer::attributes(one, self.table, &wanted, self.context);
        self.told(printers.into_iter().map(of))
    }

    /// Returns the step that waits for the document of the request.
    fn receive(
        self,
        goal: Goal,
        name: Box<str>,
        compression: Compression,
        ignored: Vec<Attribute>,
    ) -> HandlerResult {
        let of = match &goal {
            Goal::New { place, ticket } => Some((*place, &ticket.user)),
            Goal::More { id, .. } => self.table.job(*id).map(|job| (job.printer, &job.ticket.user)),
        };
        let allowance =
            of.map(|(place, user)| self.table.byte_allowance(place, user, self.context.now));
        let allowance = allowance.unwrap_or_default();
        let reply = self.reply;
        Ok(RequestStep::Receive(ExpectedDocument {
            goal,
            name,
            compression,
            allowance,
            reply,
            ignored,
        }))
    }
}

/// Returns the attributes of a new job in an answer (RFC 8011, section 4.2.1.2).
pub(super) fn job_created<D: StoredDocument>(
    table: &JobTable<D>,
    id: JobId,
    context: &Context<'_>,
) -> Group {
    let group = Group::new(GroupTag::JOB)
        .with("job-uri", uri(&job::job_uri(id, context)))
        .with("job-id", Value::Integer(number(u64::from(id))));
    // The job may be finished and forgotten by now.
    let (state, reason, why) =
        table.job(id).map_or((JobState::Completed, "job-completed-successfully", None), |job| {
            (job.state(), job.reason(), job.failure.as_deref())
        });
    group
        .with("job-state", Value::Enum(state.number()))
        .with("job-state-message", text(why.unwrap_or_default()))
        .with("job-state-reasons", Value::keyword(reason))
}

/// Reads a number of copies (RFC 8011, section 5.2.5).
fn a_number_of_copies(attribute: &Attribute) -> Option<u16> {
    let number = attribute.values.first().and_then(Value::number)?;
    u16::try_from(number).ok().filter(|number| (1..=MAX_COPIES).contains(number))
}

/// Returns whether an attribute has valid ranges of pages (RFC 8011, section 5.2.7).
fn are_ranges(ranges: &Attribute) -> bool {
    ranges.values.iter().all(|value| match value {
        Value::Range(from, to) => *from >= 1 && from <= to,
        _ => false,
    })
}

/// Checks a priority (RFC 8011, section 5.2.1).
fn a_priority(number: i32) -> Option<u8> {
    u8::try_from(number).ok().filter(|priority| (1..=100).contains(priority))
}
