//! Which attributes a request asks for (RFC 8011, section 4.2.5.1).

use windlass_wire::ipp::{Attribute, Group, GroupTag, Message, Value};

/// To which of the groups an attribute belongs that can be asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What describes the printer.
    Printer,
    /// What describes the job.
    Job,
    /// What jobs can ask for.
    Template,
    /// What has to be asked for by its own name.
    Alone,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    names: Vec<std::borrow::Cow<'a, str>>,
    is_all: bool,
    has_printer: bool,
    has_job: bool,
    has_template: bool,
}

impl<'a> Wanted<'a> {
    /// Of a request; `usual` where it does not say.
    pub(super) fn of(request: &'a Message, usual: &[&'static str]) -> Self {
        let asked = request
            .group(GroupTag::OPERATION)
            .and_then(|group| group.attribute("requested-attributes"));
        let names: Vec<_> = match asked {
            Some(attribute) => attribute.values.iter().filter_map(Value::text).collect(),
            None => usual.iter().map(|name| (*name).into()).collect(),
        };
        let has = |name: &str| names.iter().any(|one| one == name);
        Self {
            is_all: has("all"),
            has_printer: has("printer-description"),
            has_job: has("job-description"),
            has_template: has("job-template"),
            names,
        }
    }

    /// Whether an attribute is among them.
    pub(super) fn has(&self, part: Part, name: &str) -> bool {
        let by_group = match part {
            Part::Printer => self.is_all || self.has_printer,
            Part::Job => self.is_all || self.has_job,
            Part::Template => self.is_all || self.has_template,
            Part::Alone => false,
        };
        by_group || self.names.iter().any(|one| one == name)
    }

    /// Whether any attribute is asked for that only some answers have.
    pub(super) const fn has_templates(&self) -> bool {
        self.is_all || self.has_template || !self.names.is_empty()
    }
}

/// A group that takes what is asked for.
pub(super) struct Picked<'a> {
    wanted: &'a Wanted<'a>,
    group: Group,
}

impl<'a> Picked<'a> {
    pub(super) const fn new(tag: GroupTag, wanted: &'a Wanted<'a>) -> Self {
        Self { wanted, group: Group::new(tag) }
    }

    /// Adds an attribute where it is asked for.
    pub(super) fn put(&mut self, part: Part, name: &str, value: impl FnOnce() -> Value) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute::new(name, value()));
        }
    }

    /// The same with several values.
    pub(super) fn all(&mut self, part: Part, name: &str, values: impl FnOnce() -> Vec<Value>) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute { name: name.to_owned(), values: values() });
        }
    }

    /// Adds an attribute as it is, where it is asked for.
    pub(super) fn whole(&mut self, part: Part, attribute: Attribute) {
        if self.wanted.has(part, &attribute.name) {
            self.group.attributes.push(attribute);
        }
    }

    pub(super) fn finish(self) -> Group {
        self.group
    }
}
