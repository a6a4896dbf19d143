//! The operations, one by one.

use std::sync::Arc;

use windlass_wire::ipp::server::{No, Reply, Wanted, cut, number, text, uri};
use windlass_wire::ipp::{
    Attribute, Compression, Group, GroupTag, JobState, Message, Operation, Status, Value,
};

use super::target::{self, Place};
use super::{
    Context, Goal, Listing, MAX_LISTED, Receive, RequestStep, is_administration, job, printer,
};
use crate::job::{Job, JobId, Stored, Ticket, USUAL_PRIORITY};
use crate::table::{JobTable, Refusal};

/// The longest attributes of a template that a job keeps.
const MAX_TEMPLATE: usize = 16 << 10;

type Done = Result<RequestStep, No>;

/// Does what a request asks for.
pub(super) fn done<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &mut JobTable<D>,
    context: &Context<'_>,
) -> Done {
    let operation = Operation(request.code);
    if is_administration(operation) && !context.is_admin {
        let why = format!("{operation} is for those who may administer, {} may not", context.peer);
        return Err(No::new(Status::FORBIDDEN, why));
    }
    match operation {
        Operation::PRINT_JOB => {
            let (place, ticket, compression) = new_job(request, table, context)?;
            table.admit(place)?;
            let name = document_name(request, &ticket);
            Ok(RequestStep::Receive(Receive {
                goal: Goal::New { place, ticket },
                name,
                compression,
                reply,
            }))
        }
        Operation::VALIDATE_JOB => {
            new_job(request, table, context)?;
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::CREATE_JOB => {
            let (place, ticket, _) = new_job(request, table, context)?;
            table.admit_open(place)?;
            let id = table.open(place, ticket, context.now);
            let answer = reply.ok(job_created(table, id, context));
            Ok(RequestStep::Created { answer, id })
        }
        Operation::SEND_DOCUMENT => send_document(request, reply, table, context),
        Operation::CLOSE_JOB => {
            let id = own_job(request, table, context)?;
            table.add(id, None, true, context.now)?;
            table.made_durable(id);
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::CANCEL_JOB => {
            let id = own_job(request, table, context)?;
            table.cancel(id, context.now)?;
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::CANCEL_JOBS | Operation::CANCEL_MY_JOBS => {
            cancel_jobs(request, reply, table, context, operation == Operation::CANCEL_MY_JOBS)
        }
        Operation::PURGE_JOBS => {
            let place = Place::of(request, table, context)?;
            cancel_all(table, places(place, table), None, context);
            table.purge(places(place, table));
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::HOLD_JOB => {
            let id = own_job(request, table, context)?;
            if hold_until(request) == Some(false) {
                table.release(id)?;
            } else {
                table.hold(id)?;
            }
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::RELEASE_JOB => {
            table.release(own_job(request, table, context)?)?;
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::RESTART_JOB => {
            let id = own_job(request, table, context)?;
            table.restart(id)?;
            if hold_until(request) == Some(true) {
                table.hold(id)?;
            }
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::SET_JOB_ATTRIBUTES => set_job(request, reply, table, context),
        Operation::GET_JOB_ATTRIBUTES => {
            let id = target::job(request, table, context)?;
            let known = table.job(id).ok_or(Refusal::NoJob(id))?;
            let printer = &table.printers()[known.printer].settings.name;
            let wanted = Wanted::of(request, &["all"]);
            Ok(RequestStep::Answer(reply.ok([job::attributes(known, printer, &wanted, context)])))
        }
        Operation::GET_JOBS => get_jobs(request, reply, table, context),
        Operation::GET_PRINTER_ATTRIBUTES => {
            let place = Place::of(request, table, context)?.one()?;
            check_format(request, table, place)?;
            let wanted = Wanted::of(request, &["all"]);
            let group = printer::attributes(&table.printers()[place], table, &wanted, context);
            Ok(RequestStep::Answer(reply.ok([group])))
        }
        Operation::PAUSE_PRINTER | Operation::RESUME_PRINTER => {
            let place = Place::of(request, table, context)?.one()?;
            if operation == Operation::PAUSE_PRINTER {
                // The RFC's word for it (RFC 3998, section 5.1), and that of CUPS's cupsdisable.
                let said = ["printer-message-from-operator", "printer-state-message"]
                    .iter()
                    .find_map(|name| request.said(name))
                    .filter(|said| !said.is_empty());
                table.stop(place, said.as_deref().unwrap_or("Paused"), context.now);
            } else {
                table.start(place, context.now);
            }
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::ENABLE_PRINTER | Operation::CUPS_ACCEPT_JOBS => {
            table.accept(Place::of(request, table, context)?.one()?, true, context.now);
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::DISABLE_PRINTER | Operation::CUPS_REJECT_JOBS => {
            table.accept(Place::of(request, table, context)?.one()?, false, context.now);
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::IDENTIFY_PRINTER => {
            Place::of(request, table, context)?.one()?;
            Ok(RequestStep::Answer(reply.ok([])))
        }
        Operation::CUPS_GET_DEFAULT => {
            let place = table.default_place().ok_or(Refusal::NoPrinter(String::new()))?;
            let wanted = Wanted::of(request, &["all"]);
            let group = printer::attributes(&table.printers()[place], table, &wanted, context);
            Ok(RequestStep::Answer(reply.ok([group])))
        }
        Operation::CUPS_GET_PRINTERS => {
            Ok(RequestStep::Answer(get_printers(request, reply, table, context)))
        }
        Operation::CUPS_GET_CLASSES => Ok(RequestStep::Answer(
            reply.answer(Status::NOT_FOUND, Some("there are no classes here")),
        )),
        _ => {
            let why = format!("{operation} is not supported here");
            Err(No::new(Status::OPERATION_NOT_SUPPORTED, why))
        }
    }
}

/// What an answer says of a new job (RFC 8011, section 4.2.1.2).
pub(super) fn job_created<D: Stored>(
    table: &JobTable<D>,
    id: JobId,
    context: &Context<'_>,
) -> Vec<Group> {
    let group = Group::new(GroupTag::JOB)
        .with("job-uri", uri(&job::job_uri(id, context)))
        .with("job-id", Value::Integer(number(u64::from(id))));
    // It may be done and forgotten by now.
    let (state, reason, why) =
        table.job(id).map_or((JobState::Completed, "job-completed-successfully", None), |job| {
            (job.state(), job.reason(), job.failure.as_deref())
        });
    vec![
        group
            .with("job-state", Value::Enum(state.number()))
            .with("job-state-message", text(why.unwrap_or_default()))
            .with("job-state-reasons", Value::keyword(reason)),
    ]
}

/// What a new job is to be: where, and what the client said of it.
fn new_job<D: Stored>(
    request: &Message,
    table: &JobTable<D>,
    context: &Context<'_>,
) -> Result<(usize, Ticket, Compression), No> {
    let place = Place::of(request, table, context)?.one()?;
    let format = check_format(request, table, place)?;
    let compression = request.compression()?;
    let octets = request.number(GroupTag::OPERATION, "job-k-octets");
    let octets = octets.and_then(|kilo| u64::try_from(kilo).ok());
    if let (Some(kilo), Some(most)) = (octets, context.max_document)
        && kilo.saturating_sub(1).saturating_mul(1_024) >= most
    {
        return Err(Refusal::TooLarge(most).into());
    }
    let templates = request.groups.iter().filter(|group| group.tag == GroupTag::JOB);
    let templates = templates.flat_map(|group| group.attributes.iter());
    let find = |name: &str| templates.clone().find(|attribute| attribute.name == name);
    let priority = find("job-priority").and_then(|one| one.values.first()?.number());
    let priority = priority.and_then(|one| u8::try_from(one).ok()).unwrap_or(USUAL_PRIORITY);
    let hold = find("job-hold-until").and_then(is_hold);
    // What is kept for itself is not kept twice.
    let own = ["job-priority", "job-hold-until", "job-name"];
    let kept = templates.clone().filter(|one| !own.contains(&one.name.as_str()));
    let template = job::packed(kept.cloned().collect::<Vec<Attribute>>());
    let template = template.filter(|octets| octets.len() <= MAX_TEMPLATE).ok_or_else(|| {
        let why = format!("the job's attributes have more than {MAX_TEMPLATE} bytes");
        No::new(Status::ENTITY_TOO_LARGE, why)
    })?;
    let ticket = Ticket {
        name: request.job_name().into(),
        user: Arc::from(request.user()),
        host: Arc::from(context.peer.to_string()),
        format: Arc::from(format),
        priority: priority.clamp(1, 100),
        is_held: hold.unwrap_or(false),
        template,
    };
    Ok((place, ticket, compression))
}

fn document_name(request: &Message, ticket: &Ticket) -> Box<str> {
    request.said_name("document-name").map_or_else(|| ticket.name.clone(), Into::into)
}

/// The media type of a request, where its printer takes that.
fn check_format<D: Stored>(
    request: &Message,
    table: &JobTable<D>,
    place: usize,
) -> Result<String, No> {
    let Some(format) = request.said("document-format") else {
        return Ok("application/octet-stream".to_owned());
    };
    let plain = format.split(';').next().unwrap_or_default().trim();
    let formats = &table.printers()[place].settings.formats;
    if formats.iter().any(|one| one.eq_ignore_ascii_case(plain)) {
        return Ok(cut(&format, 255).to_owned());
    }
    let why = format!("documents of {format:?} are not taken");
    Err(No::of(Status::FORMAT_NOT_SUPPORTED, why, request.asked("document-format")))
}

/// Whether an attribute holds a job; nothing where it is another word.
fn is_hold(attribute: &Attribute) -> Option<bool> {
    let word = attribute.values.first().and_then(Value::text)?;
    Some(word != "no-hold")
}

/// The same of the request of an operation.
fn hold_until(request: &Message) -> Option<bool> {
    request.asked("job-hold-until").and_then(is_hold)
}

/// A job that who asks may do something with: his own, or any where he
/// administers.
fn own_job<D: Stored>(
    request: &Message,
    table: &JobTable<D>,
    context: &Context<'_>,
) -> Result<JobId, No> {
    let id = target::job(request, table, context)?;
    let job = table.job(id).ok_or(Refusal::NoJob(id))?;
    if context.is_admin || *job.ticket.user == *request.user() {
        return Ok(id);
    }
    Err(Refusal::NotYours(id).into())
}

fn send_document<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &mut JobTable<D>,
    context: &Context<'_>,
) -> Done {
    let id = own_job(request, table, context)?;
    let is_last = request.is_last_document()?;
    let place = table.expects(id)?.printer;
    let format = check_format(request, table, place)?;
    let compression = request.compression()?;
    let job = table.expects(id)?;
    let name = document_name(request, &job.ticket);
    if request.asked("document-format").is_some() {
        // Drivers say it here, and not when they open the job.
        table.typed(id, &format);
    }
    Ok(RequestStep::Receive(Receive { goal: Goal::More { id, is_last }, name, compression, reply }))
}

fn set_job<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &mut JobTable<D>,
    context: &Context<'_>,
) -> Done {
    let id = own_job(request, table, context)?;
    let attributes = request.groups.iter().filter(|group| group.tag == GroupTag::JOB);
    let attributes: Vec<&Attribute> = attributes.flat_map(|group| &group.attributes).collect();
    let other =
        attributes.iter().find(|one| one.name != "job-priority" && one.name != "job-hold-until");
    if let Some(other) = other {
        let why = format!("{} of a job cannot be changed", other.name);
        return Err(No::of(Status::NOT_SETTABLE, why, Some(other)));
    }
    // All or none (RFC 3380, section 4.2): what may be refused is looked at first.
    let (mut hold, mut priority) = (None, None);
    for attribute in attributes {
        let value = match attribute.name.as_str() {
            "job-priority" => attribute.values.first().and_then(Value::number).and_then(a_priority),
            _ => None,
        };
        priority = value.or(priority);
        let held = is_hold(attribute).filter(|_| attribute.name == "job-hold-until");
        hold = held.or(hold);
        if value.is_none() && held.is_none() {
            let why = format!("{} of a job is not that", attribute.name);
            return Err(No::of(Status::NOT_SUPPORTED, why, Some(attribute)));
        }
    }
    if let Some(priority) = priority {
        // It is refused where holding and releasing are, too.
        table.prefer(id, priority)?;
    }
    match hold {
        Some(true) => table.hold(id)?,
        Some(false) => table.release(id)?,
        None => {}
    }
    Ok(RequestStep::Answer(reply.ok([])))
}

/// A priority as it may be (RFC 8011, section 5.2.1).
fn a_priority(number: i32) -> Option<u8> {
    u8::try_from(number).ok().filter(|priority| (1..=100).contains(priority))
}

fn places<D: Stored>(place: Place, table: &JobTable<D>) -> std::ops::Range<usize> {
    match place {
        Place::One(place) => place..place + 1,
        Place::All => 0..table.printers().len(),
    }
}

/// Cancels what is not over of some printers, of everybody or of a user.
fn cancel_all<D: Stored>(
    table: &mut JobTable<D>,
    places: std::ops::Range<usize>,
    user: Option<&str>,
    context: &Context<'_>,
) {
    for place in places {
        let is_theirs = |job: &&Job<D>| user.is_none_or(|user| *job.ticket.user == *user);
        let ids: Vec<JobId> =
            table.live(Some(place), 0).filter(is_theirs).map(|job| job.id).collect();
        cancel_each(&ids, table, context);
    }
}

/// Cancels jobs of which each was found a moment ago, and was not over.
fn cancel_each<D: Stored>(ids: &[JobId], table: &mut JobTable<D>, context: &Context<'_>) {
    for id in ids {
        let _ = table.cancel(*id, context.now);
    }
}

fn cancel_jobs<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &mut JobTable<D>,
    context: &Context<'_>,
    only_own: bool,
) -> Done {
    let place = Place::of(request, table, context)?;
    let user = only_own.then(|| request.user());
    let named = request.asked("job-ids");
    let Some(named) = named else {
        cancel_all(table, places(place, table), user.as_deref(), context);
        return Ok(RequestStep::Answer(reply.ok([])));
    };
    // All or none (PWG 5100.11, section 4.1).
    let mut ids = Vec::new();
    for number in named.values.iter().filter_map(Value::number) {
        let id = JobId::try_from(number).unwrap_or(0);
        let is_there = |job: &&Job<D>| place.place().is_none_or(|place| job.printer == place);
        let job = table.job(id).filter(is_there).ok_or(Refusal::NoJob(id))?;
        if user.as_ref().is_some_and(|user| *job.ticket.user != **user) {
            return Err(Refusal::NotYours(id).into());
        }
        if job.is_over() {
            return Err(Refusal::impossible(job, "it is over").into());
        }
        ids.push(id);
    }
    cancel_each(&ids, table, context);
    Ok(RequestStep::Answer(reply.ok([])))
}

fn get_jobs<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &JobTable<D>,
    context: &Context<'_>,
) -> Done {
    let place = Place::of(request, table, context)?;
    let which = request.said("which-jobs");
    let which = which.as_deref().unwrap_or("not-completed");
    if !printer::WHICH.contains(&which) {
        let why = format!("which-jobs {which:?} is not known");
        return Err(No::of(Status::NOT_SUPPORTED, why, request.asked("which-jobs")));
    }
    let limit = request.number(GroupTag::OPERATION, "limit");
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let limit = limit.unwrap_or(MAX_LISTED).min(MAX_LISTED);
    let first = request.number(GroupTag::OPERATION, "first-job-id");
    let first = first.and_then(|first| JobId::try_from(first).ok()).unwrap_or(0);
    let named = request.asked("job-ids");
    let ids: Vec<JobId> = if let Some(named) = named {
        let ids = named.values.iter().filter_map(Value::number);
        ids.filter_map(|id| JobId::try_from(id).ok()).collect()
    } else if which == "completed" {
        // The latest first (RFC 8011, section 4.2.6.2).
        table.over(place.place(), first).map(|job| job.id).collect()
    } else if let ("not-completed", Place::One(place)) = (which, place) {
        table.printers()[place].live.range(first..).copied().collect()
    } else {
        table.known(place.place(), first).map(|job| job.id).collect()
    };
    let which = if named.is_some() { "all" } else { which }.to_owned();
    let wanted = Wanted::of(request, &["job-id", "job-uri"]);
    Ok(RequestStep::List(Box::new(Listing {
        head: reply.ok([]),
        ids: ids.into_iter(),
        place: place.place(),
        which,
        user: request.only_of(),
        left: limit,
        wanted,
    })))
}

fn get_printers<D: Stored>(
    request: &Message,
    reply: Reply,
    table: &JobTable<D>,
    context: &Context<'_>,
) -> Message {
    let wanted = Wanted::of(request, &["all"]);
    let first = request.said("first-printer-name");
    let limit = request.number(GroupTag::OPERATION, "limit");
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let printers = table.printers().iter();
    let from =
        printers.skip_while(|one| first.as_ref().is_some_and(|name| one.settings.name != **name));
    let groups = from.take(limit).map(|one| printer::attributes(one, table, &wanted, context));
    reply.ok(groups.collect::<Vec<_>>())
}
