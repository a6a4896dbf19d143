//! The files of `schemas/` themselves: each is valid, closed and used, and none
//! says what another one says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use windlass_testkit::repository;
use windlass_testkit::schema::{SHARED, files, validator_of};

/// Base of the schemas' identifiers. Nothing is fetched from there.
const PLACE: &str = "https://example.invalid/windlass/";

/// The end of the name of a definition that others close: its fields are those of
/// every such record, and it may stand only beside `unevaluatedProperties: false`.
const OPEN: &str = "_fields";

/// Calls `see` with each schema within a schema, and with where it stands.
fn each<'a>(schema: &'a Value, at: &str, see: &mut impl FnMut(&'a Value, &str)) {
    see(schema, at);
    match schema {
        Value::Object(fields) => {
            for (key, child) in fields {
                each(child, &format!("{at}/{key}"), see);
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                each(child, &format!("{at}/{index}"), see);
            }
        }
        _ => {}
    }
}

/// Visits each schema of all files.
fn each_of_all(files: &BTreeMap<String, Value>, mut see: impl FnMut(&str, &Value, &str)) {
    for (file, schema) in files {
        each(schema, "", &mut |part, at| see(file, part, at));
    }
}

/// Returns the target of a reference in a file, as `file#/$defs/name`.
fn resolved(file: &str, reference: &str) -> String {
    let (to, name) = reference.split_once('#').unwrap();
    let folder = file.rfind('/').map_or("", |end| &file[..=end]);
    let to = if to.is_empty() { file.to_owned() } else { format!("{folder}{to}") };
    format!("{to}#{name}")
}

#[test]
fn every_file_is_a_schema_that_its_id_names() {
    for (file, schema) in files() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        assert_eq!(schema["$id"], format!("{PLACE}{file}"));
        assert!(schema["description"].as_str().unwrap().ends_with('.'), "{file}");
        validator_of(&schema);
        // What a definition refers to is there, too.
        for name in schema["$defs"].as_object().into_iter().flat_map(|all| all.keys()) {
            let mut alone = schema.clone();
            alone["$ref"] = json!(format!("#/$defs/{name}"));
            validator_of(&alone);
        }
    }
}

#[test]
fn every_record_names_its_schema_and_version() {
    for (file, schema) in files().iter().filter(|(file, _)| !file.starts_with(SHARED)) {
        let title = schema["title"].as_str().unwrap();
        let kind = file.strip_suffix(".schema.json").unwrap();
        assert!(title.strip_prefix("windlass.").unwrap().starts_with(&format!("{kind}/")));
        let mut said = 0;
        each(schema, "", &mut |part, at| {
            if at.ends_with("/properties/schema") {
                assert_eq!(part["const"], title, "{file}{at}");
                said += 1;
            }
        });
        assert!(said > 0, "{file}");
    }
}

#[test]
fn the_document_leads_to_every_schema() {
    let document = std::fs::read_to_string(repository("docs/json.md")).unwrap();
    for file in files().keys().filter(|file| !file.starts_with(SHARED)) {
        assert!(document.contains(&format!("(../schemas/{file})")), "{file}");
    }
}

#[test]
fn every_definition_is_used() {
    let files = files();
    let mut used = BTreeSet::new();
    each_of_all(&files, |file, part, _| {
        if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
            used.insert(resolved(file, reference));
        }
    });
    let defined: BTreeSet<String> = files
        .iter()
        .flat_map(|(file, schema)| {
            let names = schema["$defs"].as_object().into_iter().flat_map(|all| all.keys());
            names.map(move |name| format!("{file}#/$defs/{name}"))
        })
        .collect();
    let differ: Vec<_> = defined.symmetric_difference(&used).collect();
    assert!(differ.is_empty(), "defined and not used, or the reverse: {differ:#?}");
}

/// A schema without what it says to people, and with references as they are from
/// everywhere.
fn bare(file: &str, schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, value)| *key != "description" || !value.is_string())
            .map(|(key, value)| match value.as_str() {
                Some(reference) if key == "$ref" => (key.clone(), json!(resolved(file, reference))),
                _ => (key.clone(), bare(file, value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| bare(file, item)).collect(),
        other => other.clone(),
    }
}

/// Returns whether a schema describes the shape of a record: its fields, or its keywords. The rest
/// combines schemas.
fn is_a_shape(schema: &Value) -> bool {
    schema.get("properties").is_some_and(Value::is_object)
        || schema.get("enum").and_then(Value::as_array).is_some_and(|words| words.len() > 3)
}

#[test]
fn no_shape_stands_twice() {
    let files = files();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    each_of_all(&files, |file, part, at| {
        let text = serde_json::to_string_pretty(&bare(file, part)).unwrap();
        if is_a_shape(part) && text.lines().count() >= 6 {
            places.entry(text).or_default().push(format!("{file}#{at}"));
        }
    });
    assert!(places.len() > 100, "{}", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "these belong into schemas/{SHARED}: {:#?}", places.values());
}

#[test]
fn every_object_names_all_its_fields_and_allows_no_other() {
    let mut loose = Vec::new();
    each_of_all(&files(), |file, part, at| {
        let place = format!("{file}#{at}");
        let reference = part.get("$ref").and_then(Value::as_str);
        let closed = [&part["additionalProperties"], &part["unevaluatedProperties"]]
            .contains(&&json!(false));
        if reference.is_some_and(|reference| reference.ends_with(OPEN)) && !closed {
            loose.push(format!("{place}: closes no {OPEN}"));
        }
        let Some(properties) = part.get("properties").and_then(Value::as_object) else { return };
        // A condition asks about some of the fields of an object that is closed.
        if at.ends_with("/if") || at.ends_with("/then") {
            return;
        }
        let open = at.starts_with("/$defs/") && at.matches('/').count() == 2 && at.ends_with(OPEN);
        if open == closed {
            loose.push(format!("{place}: further fields"));
        }
        let required: BTreeSet<&str> =
            part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let all: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        if required != all {
            loose.push(format!("{place}: {:?}", all.symmetric_difference(&required)));
        }
    });
    assert!(loose.is_empty(), "{loose:#?}");
}
