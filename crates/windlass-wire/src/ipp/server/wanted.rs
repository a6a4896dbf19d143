//! Which attributes a request asks for (RFC 8011, section 4.2.5.1).

use std::collections::HashSet;

use super::super::{Attribute, CharKind, Group, GroupTag, Message, Operation, Value};
use super::asked::Compression;
use super::reply::words;

/// To which of the groups an attribute belongs that can be asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
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
pub struct Wanted {
    /// A request may name thousands, and be asked for each attribute of each job.
    names: HashSet<String>,
    is_all: bool,
    has_printer: bool,
    has_job: bool,
    has_template: bool,
}

impl Wanted {
    /// Of a request; `usual` where it does not say.
    pub fn of(request: &Message, usual: &[&'static str]) -> Self {
        let names: HashSet<String> = match request.asked("requested-attributes") {
            Some(attribute) => {
                attribute.values.iter().filter_map(Value::text).map(Into::into).collect()
            }
            None => usual.iter().map(|name| (*name).to_owned()).collect(),
        };
        let has = |name: &str| names.contains(name);
        Self {
            is_all: has("all"),
            has_printer: has("printer-description"),
            has_job: has("job-description"),
            has_template: has("job-template"),
            names,
        }
    }

    /// Whether an attribute is among them.
    pub fn has(&self, part: Part, name: &str) -> bool {
        let by_group = match part {
            Part::Printer => self.is_all || self.has_printer,
            Part::Job => self.is_all || self.has_job,
            Part::Template => self.is_all || self.has_template,
            Part::Alone => false,
        };
        by_group || self.names.contains(name)
    }

    /// Whether any attribute is asked for that only some answers have.
    pub fn has_templates(&self) -> bool {
        self.is_all || self.has_template || !self.names.is_empty()
    }
}

/// A group that takes what is asked for.
#[derive(Debug)]
pub struct Picked<'a> {
    wanted: &'a Wanted,
    group: Group,
}

impl<'a> Picked<'a> {
    /// Without attributes.
    pub const fn new(tag: GroupTag, wanted: &'a Wanted) -> Self {
        Self { wanted, group: Group::new(tag) }
    }

    /// Adds an attribute where it is asked for.
    pub fn put(&mut self, part: Part, name: &str, value: impl FnOnce() -> Value) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute::new(name, value()));
        }
    }

    /// The same with several values.
    pub fn all(&mut self, part: Part, name: &str, values: impl FnOnce() -> Vec<Value>) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute { name: name.to_owned(), values: values() });
        }
    }

    /// Adds what these servers all speak: UTF-8, and English.
    pub fn speech(&mut self) {
        let part = Part::Printer;
        self.put(part, "charset-configured", || Value::chars(CharKind::Charset, "utf-8"));
        self.all(part, "charset-supported", || {
            ["us-ascii", "utf-8"].map(|one| Value::chars(CharKind::Charset, one)).to_vec()
        });
        for name in ["natural-language-configured", "generated-natural-language-supported"] {
            self.put(part, name, || Value::chars(CharKind::Language, "en"));
        }
    }

    /// Adds which operations are answered.
    pub fn operations(&mut self, operations: &[Operation]) {
        self.all(Part::Printer, "operations-supported", || {
            operations.iter().map(|one| Value::Enum(i32::from(one.0))).collect()
        });
    }

    /// Adds how documents may be compressed.
    pub fn compressions(&mut self) {
        self.all(Part::Printer, "compression-supported", || {
            words(&Compression::ALL.map(Compression::id))
        });
    }

    /// Adds an attribute as it is, where it is asked for.
    pub fn whole(&mut self, part: Part, attribute: Attribute) {
        if self.wanted.has(part, &attribute.name) {
            self.group.attributes.push(attribute);
        }
    }

    /// The group.
    pub fn finish(self) -> Group {
        self.group
    }
}
