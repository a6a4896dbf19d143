//! Job attributes that a printer does not support (RFC 8011, sections 4.1.7 and 4.2.1.1).

use windlass_wire::ipp::server::{Reply, RequestedAttributes};
use windlass_wire::ipp::{
    Attribute, Group, GroupTag, Message, Operation, OutOfBand, Status, Value, Version,
};

use super::{Context, printer};
use crate::job::StoredDocument;
use crate::printer::Printer;
use crate::table::JobTable;

/// Attributes that are checked elsewhere, or that any printer supports.
const OWN: [&str; 5] =
    ["copies", "job-hold-until", "job-name", "multiple-document-handling", "page-ranges"];

/// Returns the job attributes that the printer does not support. Unknown attributes are marked as
/// unsupported; of the others, only the unsupported values are returned.
pub(super) fn unsupported<'a, D: StoredDocument>(
    asked: impl Iterator<Item = &'a Attribute> + Clone,
    of: &Printer,
    table: &JobTable<D>,
    context: &Context<'_>,
) -> Vec<Attribute> {
    let asked = asked.filter(|one| !OWN.contains(&one.name.as_str()));
    if asked.clone().next().is_none() {
        return Vec::new();
    }
    // The printer supports what its own attributes say.
    let names: Vec<String> = asked.clone().map(|one| format!("{}-supported", one.name)).collect();
    let mut question = Message::request(Version(2, 0), Operation::GET_PRINTER_ATTRIBUTES, 1);
    question.want(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let wanted = RequestedAttributes::of(&question, &[]);
    let said = printer::attributes(of, table, &wanted, context);
    asked
        .filter_map(|one| missing(one, said.attribute(&format!("{}-supported", one.name))))
        .collect()
}

/// Returns the unsupported part of an attribute.
fn missing(asked: &Attribute, supported: Option<&Attribute>) -> Option<Attribute> {
    let Some(supported) = supported else {
        return Some(Attribute::new(&asked.name, Value::OutOfBand(OutOfBand::Unsupported)));
    };
    let values: Vec<Value> =
        asked.values.iter().filter(|value| !has(&supported.values, value)).cloned().collect();
    (!values.is_empty()).then(|| Attribute { name: asked.name.clone(), values })
}

/// Returns an attribute with its supported values; `None` if there are none.
pub(super) fn supported_part(asked: &Attribute, ignored: &[Attribute]) -> Option<Attribute> {
    let Some(ignored) = ignored.iter().find(|one| one.name == asked.name) else {
        return Some(asked.clone());
    };
    let is_ignored = |value: &Value| {
        ignored.values.contains(value)
            || ignored.values.contains(&Value::OutOfBand(OutOfBand::Unsupported))
    };
    let values: Vec<Value> =
        asked.values.iter().filter(|value| !is_ignored(value)).cloned().collect();
    (!values.is_empty()).then(|| Attribute { name: asked.name.clone(), values })
}

/// Returns whether a value is supported.
fn has(supported: &[Value], value: &Value) -> bool {
    supported.iter().any(|one| match (one, value) {
        (Value::Range(from, to), Value::Integer(number)) => (from..=to).contains(&number),
        (Value::Range(from, to), Value::Range(first, last)) => from <= first && last <= to,
        // A maximum: priorities go from 1 to it (RFC 8011, section 5.2.1).
        (Value::Integer(most @ 100), Value::Integer(number)) => (1..=*most).contains(number),
        (Value::Boolean(yes), Value::Range(..) | Value::Collection(_)) => *yes,
        // The supported members of a collection, by name.
        (_, Value::Collection(members)) if one.text().is_some() => members.iter().all(|member| {
            supported.iter().any(|one| one.text().as_deref() == Some(member.name.as_str()))
        }),
        // A keyword may be written as a name.
        _ => match (one.text(), value.text()) {
            (Some(one), Some(value)) => one == value,
            _ => one == value,
        },
    })
}

/// Returns whether a job must be refused because of these attributes: it requires full support, or
/// one of them is mandatory (PWG 5100.7, section 6.8.2).
pub(super) fn is_strict(request: &Message, unsupported: &[Attribute]) -> bool {
    let mandatory = request.asked("job-mandatory-attributes");
    let mut names = mandatory.iter().flat_map(|one| &one.values).filter_map(Value::text);
    !unsupported.is_empty()
        && (request.yes("ipp-attribute-fidelity") == Some(true)
            || names.any(|name| unsupported.iter().any(|one| one.name == *name)))
}

/// Builds a successful answer, which lists the ignored attributes.
pub(super) fn done(reply: Reply, ignored: &[Attribute], groups: Vec<Group>) -> Message {
    if ignored.is_empty() {
        return reply.ok(groups);
    }
    let mut answer = reply.answer(Status::IGNORED, None);
    answer.groups.push(Group { tag: GroupTag::UNSUPPORTED, attributes: ignored.to_vec() });
    answer.groups.extend(groups);
    answer
}
