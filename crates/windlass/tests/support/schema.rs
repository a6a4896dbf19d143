//! Records against the schemas of the repository.

use std::fs;

use jsonschema::Validator;
use serde_json::Value;

use super::repository;

/// The schema of a kind of record, by its file's name.
pub fn schema(kind: &str) -> Value {
    let path = repository(&format!("schemas/{kind}.schema.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What checks it. The schema itself is checked, too.
pub fn validator(kind: &str) -> Validator {
    let schema = schema(kind);
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// Fails where a record does not keep to its schema.
pub fn fits(kind: &str, record: &Value) {
    let validator = validator(kind);
    let wrong: Vec<String> = validator
        .iter_errors(record)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{record:#}");
}

/// A record that was printed as JSON and keeps to its schema.
pub fn checked(kind: &str, text: &str) -> Value {
    let record = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    fits(kind, &record);
    record
}
