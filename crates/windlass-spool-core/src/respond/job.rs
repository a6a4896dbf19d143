//! The attributes of jobs (RFC 8011, section 5.3).

use std::time::Duration;

use windlass_wire::escape;
use windlass_wire::ipp::server::{
    AttributeCategory, FilteredGroup, RequestedAttributes, name, number, text, uri, when,
};
use windlass_wire::ipp::{Group, GroupTag, OutOfBand, Value};
use windlass_wire::pages::Pages;

use super::Context;
use super::date::date;
use crate::attempt::Attempt;
use crate::job::{FiledDocument, Job, Phase};
use crate::message::job_message;
use crate::printer::Printer;
use crate::template::template;

/// Message of a job whose printer is removed.
const LOST: &str = "its printer was removed: move or cancel the job, or add the printer again";

/// Returns the URI of a job.
pub(super) fn job_uri(id: u32, context: &Context<'_>) -> String {
    format!("{}://{}/jobs/{id}", context.scheme(), context.authority)
}

/// Returns the URI of a printer.
pub(super) fn printer_uri(printer: &Printer, context: &Context<'_>) -> String {
    let path = if printer.is_class() { "classes" } else { "printers" };
    let name = escape::segment(&printer.settings.name);
    format!("{}://{}/{path}/{name}", context.scheme(), context.authority)
}

/// Returns the requested attributes of a job.
pub(super) fn attributes<D>(
    job: &Job<D>,
    (printer, device): (&Printer, &Printer),
    wanted: &RequestedAttributes,
    context: &Context<'_>,
) -> Group {
    let mut picked = FilteredGroup::new(GroupTag::JOB, wanted);
    let (ticket, name_of_printer) = (&job.ticket, &printer.settings.name);
    let is_lost = printer.is_removed && !job.is_over();
    let mut put =
        |name: &str, value: &dyn Fn() -> Value| picked.put(AttributeCategory::Job, name, value);
    put("job-id", &|| Value::Integer(number(u64::from(job.id))));
    put("job-uri", &|| uri(&job_uri(job.id, context)));
    put("job-printer-uri", &|| uri(&printer_uri(printer, context)));
    put("job-more-info", &|| {
        let scheme = context.page_scheme();
        uri(&format!("{scheme}://{}/jobs/{}", context.authority, job.id))
    });
    put("job-uuid", &|| uri(&uuid(&format!("{name_of_printer}/{}/{}", job.id, job.created.0))));
    put("job-name", &|| name(&ticket.name));
    put("job-originating-user-name", &|| name(&ticket.user));
    put("job-originating-host-name", &|| name(&ticket.host));
    put("job-state", &|| Value::Enum(job.state().number()));
    put("job-state-reasons", &|| {
        Value::keyword(if is_lost { "resources-are-not-ready" } else { job.reason() })
    });
    let message = job_message(job, device, context.now);
    let message = if is_lost { LOST } else { &*message };
    put("job-state-message", &|| text(message));
    // CUPS's clients show this attribute.
    put("job-printer-state-message", &|| text(message));
    if let Some(stall) = device.stall().filter(|_| device.current == Some(job.id)) {
        put("windlass-stall-time", &|| millis(stall.since.until(context.now)));
        put("windlass-stall-sign", &|| Value::keyword(stall.sign.keyword()));
        put("windlass-stall-octets", &|| Value::Integer(number(stall.acknowledged)));
        put("windlass-stall-octets-of", &|| Value::Integer(number(stall.of)));
    }
    if job.broken_off > 0 {
        put("windlass-octets-broken-off", &|| Value::Integer(number(job.broken_off)));
    }
    put("document-format", &|| media(&ticket.format));
    put("document-format-supplied", &|| media(&ticket.format));
    put("job-k-octets", &|| Value::Integer(number(job.size.div_ceil(1_024))));
    put("job-k-octets-processed", &|| {
        let done = matches!(job.phase, Phase::Over { how: crate::job::Ending::Completed, .. });
        // Each copy is a pass over the data and counts (RFC 8011, section 5.3.18.1).
        Value::Integer(if done { number(job.bytes_to_print().div_ceil(1_024)) } else { 0 })
    });
    put("number-of-documents", &|| Value::Integer(i32::from(job.count)));
    // Documents that were not scanned have an unknown number of pages (RFC 8011, section 5.3.17).
    let unknown = || Value::OutOfBand(OutOfBand::NoValue);
    let pages = job.pages.and_then(Pages::known);
    put("job-impressions", &|| pages.map_or_else(unknown, |pages| Value::Integer(number(pages))));
    put("job-media-sheets", &unknown);
    put("job-impressions-completed", &|| {
        let done = matches!(job.phase, Phase::Over { how: crate::job::Ending::Completed, .. });
        Value::Integer(if done { number(pages.unwrap_or(0)) } else { 0 })
    });
    put("job-media-sheets-completed", &|| Value::Integer(0));
    put("job-printer-up-time", &|| Value::Integer(number(context.now.seconds())));
    let times =
        [("creation", Some(job.created)), ("processing", job.began), ("completed", job.ended())];
    for (what, moment) in times {
        put(&format!("time-at-{what}"), &|| when(moment.map(|at| number(at.seconds()))));
        put(&format!("date-time-at-{what}"), &|| moment.map_or(when(None), date));
    }
    if let Some(began) = job.began {
        put("windlass-queued-time", &|| millis(job.created.until(began)));
    }
    if let Some(attempt) = &job.last_attempt {
        last_attempt(&mut put, job.attempts, attempt);
    }
    let mut put =
        |name: &str, value: Value| picked.put(AttributeCategory::Template, name, || value);
    let hold = ticket.hold.as_ref().map_or("no-hold", |hold| &*hold.word);
    put("job-priority", Value::Integer(i32::from(ticket.priority)));
    if ticket.copies > 1 {
        put("copies", Value::Integer(i32::from(ticket.copies)));
    }
    put("job-hold-until", Value::keyword(hold));
    put("job-sheets", Value::keyword("none"));
    if wanted.has_templates() {
        for attribute in template(&ticket.template) {
            picked.whole(AttributeCategory::Template, attribute);
        }
    }
    let documents = job.documents.first();
    picked.put(AttributeCategory::Job, "document-name-supplied", || {
        name(documents.map_or("", |FiledDocument { name, .. }| name))
    });
    picked.finish()
}

/// Encodes a time in milliseconds.
pub(super) fn millis(time: Duration) -> Value {
    Value::Integer(i32::try_from(time.as_millis()).unwrap_or(i32::MAX))
}

/// Adds the timing of the last attempt: this server's own attributes, with times in milliseconds.
fn last_attempt(put: &mut dyn FnMut(&str, &dyn Fn() -> Value), attempts: u32, attempt: &Attempt) {
    put("windlass-attempts", &|| Value::Integer(number(u64::from(attempts))));
    put("windlass-attempt-time", &|| millis(attempt.took));
    for (part, time) in [
        ("connecting", attempt.connecting),
        ("sending", attempt.sending),
        ("answering", attempt.answering),
    ] {
        if let Some(time) = time {
            put(&format!("windlass-{part}-time"), &|| millis(time));
        }
    }
    let Some(limit) = &attempt.limit else { return };
    put("windlass-limit", &|| text(&limit.cause));
    put("windlass-limit-confidence", &|| Value::keyword(&limit.confidence));
    put("windlass-limit-message", &|| text(&limit.sentence));
    put("windlass-limit-remedy", &|| text(&limit.remedy));
    put("windlass-k-octets-acknowledged", &|| Value::Integer(number(limit.bytes.div_ceil(1_024))));
    put("windlass-octets-per-second", &|| Value::Integer(number(limit.bytes_per_second)));
}

fn media(format: &str) -> Value {
    Value::chars(windlass_wire::ipp::CharKind::MediaType, format)
}

/// Returns a UUID for a name (RFC 9562, version 8): the same name gives the same UUID.
pub(super) fn uuid(of: &str) -> String {
    // FNV-1a, from two starts.
    let hash = |start: u64| {
        of.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15));
    let high = (high & !0xf000) | 0x8000;
    let low = (low & !(3 << 62)) | (2 << 62);
    format!(
        "urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
