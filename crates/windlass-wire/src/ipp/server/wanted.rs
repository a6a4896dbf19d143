//! Attributes that a request asks for (RFC 8011, section 4.2.5.1).

use std::collections::HashSet;

use super::super::{Attribute, CharKind, Group, GroupTag, Message, Operation, Value};
use super::asked::Compression;
use super::reply::words;

/// Category of an attribute: attributes of one category can be requested together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeCategory {
    /// `printer-description`.
    Printer,
    /// `job-description`.
    Job,
    /// `job-template`.
    Template,
    /// Attributes that must be requested by name.
    Alone,
}

/// Attributes that a request asks for.
#[derive(Clone, Debug)]
pub struct RequestedAttributes {
    /// Names of single attributes. It is a set because a request may have thousands, and the lookup
    /// runs for each attribute of each job.
    names: HashSet<String>,
    is_all: bool,
    has_printer: bool,
    has_job: bool,
    has_template: bool,
}

impl RequestedAttributes {
    /// Reads the requested attributes of a request; `usual` if it has none.
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

    /// Returns whether an attribute is requested.
    pub fn has(&self, part: AttributeCategory, name: &str) -> bool {
        let by_group = match part {
            AttributeCategory::Printer => self.is_all || self.has_printer,
            AttributeCategory::Job => self.is_all || self.has_job,
            AttributeCategory::Template => self.is_all || self.has_template,
            AttributeCategory::Alone => false,
        };
        by_group || self.names.contains(name)
    }

    /// Returns whether any attribute is requested that only some answers have.
    pub fn has_templates(&self) -> bool {
        self.is_all || self.has_template || !self.names.is_empty()
    }
}

/// A group that takes only requested attributes.
#[derive(Debug)]
pub struct FilteredGroup<'a> {
    wanted: &'a RequestedAttributes,
    group: Group,
}

impl<'a> FilteredGroup<'a> {
    /// Creates a group without attributes.
    pub const fn new(tag: GroupTag, wanted: &'a RequestedAttributes) -> Self {
        Self { wanted, group: Group::new(tag) }
    }

    /// Adds an attribute if it is requested.
    pub fn put(&mut self, part: AttributeCategory, name: &str, value: impl FnOnce() -> Value) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute::new(name, value()));
        }
    }

    /// Adds an attribute with several values if it is requested.
    pub fn all(
        &mut self,
        part: AttributeCategory,
        name: &str,
        values: impl FnOnce() -> Vec<Value>,
    ) {
        if self.wanted.has(part, name) {
            self.group.attributes.push(Attribute { name: name.to_owned(), values: values() });
        }
    }

    /// Adds the charset and language of all these servers: UTF-8 and English.
    pub fn speech(&mut self) {
        let part = AttributeCategory::Printer;
        self.put(part, "charset-configured", || Value::chars(CharKind::Charset, "utf-8"));
        self.all(part, "charset-supported", || {
            ["us-ascii", "utf-8"].map(|one| Value::chars(CharKind::Charset, one)).to_vec()
        });
        for name in ["natural-language-configured", "generated-natural-language-supported"] {
            self.put(part, name, || Value::chars(CharKind::Language, "en"));
        }
    }

    /// Adds the supported operations.
    pub fn operations(&mut self, operations: &[Operation]) {
        self.all(AttributeCategory::Printer, "operations-supported", || {
            operations.iter().map(|one| Value::Enum(i32::from(one.0))).collect()
        });
    }

    /// Adds the supported compressions.
    pub fn compressions(&mut self) {
        self.all(AttributeCategory::Printer, "compression-supported", || {
            words(&Compression::ALL.map(Compression::id))
        });
    }

    /// Adds an attribute unchanged if it is requested.
    pub fn whole(&mut self, part: AttributeCategory, attribute: Attribute) {
        if self.wanted.has(part, &attribute.name) {
            self.group.attributes.push(attribute);
        }
    }

    /// Returns the group.
    pub fn finish(self) -> Group {
        self.group
    }
}
