//! `docs/tables.md` has the columns as the code has them, and the queries are those of the folder.

use std::fmt::Write as _;
use std::fs;

use arrow_schema::{DataType, TimeUnit};
use windlass_tables::{ANALYSER, ANALYSER_KEY, SCHEMA, SCHEMA_KEY, TABLE_KEY, Table};

use super::rows::read;
use super::tables;
use windlass_testkit::captures::corpus;
use windlass_testkit::{marked, repository};

const DOCUMENT: &str = "docs/tables.md";

/// Between these lines it is written by the code.
const BEGIN: &str = "<!-- columns: written by `write_columns` -->\n";
const END: &str = "<!-- end of columns -->\n";

/// A type as people and readers of Parquet know it.
fn name(of: &DataType) -> String {
    match of {
        DataType::Boolean => "bool".to_owned(),
        DataType::Int32 => "int32".to_owned(),
        DataType::Int64 => "int64".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 => "text".to_owned(),
        DataType::Binary => "binary".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) => format!("timestamp ns, {zone}"),
        DataType::List(of) => format!("list of {}", name(of.data_type())),
        other => panic!("{other} has no name here"),
    }
}

fn columns() -> String {
    let mut text = String::new();
    for table in Table::ALL {
        let _ = write!(text, "\n### {table}\n\n{}\n\n", table.about());
        text.push_str("| column | type | unit | is | in the JSON |\n|---|---|---|---|---|\n");
        for column in table.columns(None) {
            let unit = if column.unit == "UTC" { "" } else { column.unit };
            let json = match column.json {
                "" => String::new(),
                json => format!("`{json}`"),
            };
            let (kind, about) = (name(&column.data_type), column.about);
            let cells =
                [format!("`{}`", column.name), kind, unit.to_owned(), about.to_owned(), json];
            let _ = writeln!(text, "| {} |", cells.join(" | ").replace("|  |", "| |"));
        }
    }
    text.push('\n');
    text
}

#[test]
fn the_document_has_the_columns() {
    let text = fs::read_to_string(repository(DOCUMENT)).unwrap();
    assert!(
        marked::part(&text, [BEGIN, END]) == columns(),
        "write them again: --test tables -- --ignored write_columns"
    );
    assert!(text.contains(&SCHEMA.to_string()), "{SCHEMA}");
}

#[test]
#[ignore = "writes the columns in docs/tables.md again"]
fn write_columns() {
    let text = fs::read_to_string(repository(DOCUMENT)).unwrap();
    let text = marked::with_part(&text, [BEGIN, END], &columns());
    fs::write(repository(DOCUMENT), text).unwrap();
}

#[test]
fn the_document_has_each_query() {
    let text = fs::read_to_string(repository(DOCUMENT)).unwrap();
    let mut queries = 0;
    for entry in fs::read_dir(repository("docs/queries")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("(queries/{name})")), "{name}");
        queries += 1;
    }
    assert_eq!(queries, 12);
}

#[test]
fn a_file_says_what_it_is() {
    let (folder, _) = tables(&[corpus().remove(0).path], &[]);
    for table in Table::ALL {
        let rows = read(&folder.path().join("tables"), table);
        assert_eq!(rows.schema.fields(), table.schema(None).fields(), "{table}");
        let metadata = rows.metadata.file_metadata();
        assert_eq!(metadata.created_by(), Some(&*format!("windlass {ANALYSER}")));
        let keys = metadata.key_value_metadata().unwrap();
        let of = |key: &str| keys.iter().find(|one| one.key == key).unwrap().value.clone().unwrap();
        assert_eq!(of(SCHEMA_KEY), SCHEMA.to_string());
        assert_eq!(of(TABLE_KEY), table.id());
        assert_eq!(of(ANALYSER_KEY), ANALYSER);
    }
}
