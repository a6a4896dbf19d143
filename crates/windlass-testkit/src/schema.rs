//! Validation of records against the schemas of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::Value;

use super::repository;

/// Folder of the shared definitions, within the folder of the schemas.
pub const SHARED: &str = "definitions/";

/// Shared definitions by `$id`, so that the validator fetches no schema.
static DEFINITIONS: LazyLock<Registry<'static>> = LazyLock::new(|| {
    let shared = files().into_iter().filter(|(file, _)| file.starts_with(SHARED));
    let by_id = shared.map(|(_, schema)| (schema["$id"].as_str().unwrap().to_owned(), schema));
    Registry::new().extend(by_id).unwrap().prepare().unwrap()
});

/// Returns every schema in `schemas/`, by its path in that folder.
pub fn files() -> BTreeMap<String, Value> {
    let mut files = BTreeMap::new();
    for folder in ["", SHARED] {
        for entry in fs::read_dir(repository("schemas").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                files.insert(format!("{folder}{name}"), read(&path));
            }
        }
    }
    files
}

/// Returns the JSON value in a file.
fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the schema in the file `schemas/<kind>.schema.json`.
pub fn schema(kind: &str) -> Value {
    read(&repository(&format!("schemas/{kind}.schema.json")))
}

/// Returns the validator of the schema `kind`, after checking the schema itself.
pub fn validator(kind: &str) -> Validator {
    validator_of(&schema(kind))
}

/// Returns the validator of a schema that may refer to shared definitions.
pub fn validator_of(schema: &Value) -> Validator {
    jsonschema::meta::validate(schema).unwrap();
    jsonschema::draft202012::options()
        .offline()
        .with_registry(&DEFINITIONS)
        .build(schema)
        .unwrap_or_else(|error| panic!("{}: {error}", schema["$id"]))
}

/// Fails if a record does not match the schema `kind`.
pub fn fits(kind: &str, record: &Value) {
    fits_by(&validator(kind), record);
}

/// Fails if a record does not match the schema of a validator.
pub fn fits_by(validator: &Validator, record: &Value) {
    let wrong: Vec<String> = validator
        .iter_errors(record)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{record:#}");
}

/// Returns the record in a JSON text. Fails if the record does not match the schema `kind`.
pub fn checked(kind: &str, text: &str) -> Value {
    let record = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    fits(kind, &record);
    record
}
