//! A year of synthetic connections.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray, new_null_array,
};
use arrow::datatypes::SchemaRef;
use windlass_archive::store::objects::{self, StagedTable};
use windlass_archive::store::{Change, ChangeReason, Place, State, new_id};
use windlass_archive::sums;
use windlass_tables::{Table, TableWriter, UTC};

/// Connections per batch of the archive.
const BATCH: u64 = 1_000_000;

/// Rows that are generated at once.
const ROWS: u64 = 50_000;

/// Connections per capture.
const CAPTURE: u64 = 100;

const SITES: u64 = 50;
const DEVICES: u64 = 100;

const YEAR: u64 = 365 * 86_400;

/// 2026-01-01T00:00:00Z.
const BEGIN: u64 = 1_767_225_600;

const LIMITS: [&str; 6] =
    ["receiver-window", "application", "loss", "congestion-window", "path-capacity", "send-buffer"];

/// Deterministic random numbers: splitmix64.
fn chance(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Synthetic connection.
struct Connection {
    number: u64,
    site: u64,
    device: u64,
    at: i64,
    bytes: i64,
    seconds: f64,
    limit: usize,
    other: usize,
    share: f64,
}

impl Connection {
    fn new(number: u64, of: u64) -> Self {
        let luck = chance(number);
        let (site, device) = (luck % SITES, (luck >> 8) % DEVICES);
        let own = chance(site << 32 | device);
        // A device has its own limit, and sometimes another one.
        let limit = if (luck >> 20).is_multiple_of(16) { luck >> 24 } else { own };
        let nanos = u128::from(number) * u128::from(YEAR) * 1_000_000_000 / u128::from(of);
        let bytes = 20_000 + (luck >> 32) % 20_000_000;
        let rate = 200_000 + own % 20_000_000;
        Self {
            number,
            site,
            device,
            at: i64::try_from(nanos).unwrap() + (BEGIN * 1_000_000_000).cast_signed(),
            bytes: bytes.cast_signed(),
            seconds: bytes as f64 / rate as f64,
            limit: usize::try_from(limit % 6).unwrap(),
            other: 1,
            share: 0.5 + (luck >> 40) as f64 % 1000.0 / 2500.0,
        }
    }

    fn capture(&self) -> String {
        let number = self.number / CAPTURE;
        let parts: Vec<String> =
            (0..4).map(|part| format!("{:016x}", chance(number << 2 | part))).collect();
        parts.concat()
    }

    fn connection(&self) -> i64 {
        (self.number % CAPTURE + 1).cast_signed()
    }
}

fn text(of: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(of))
}

fn numbers(of: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(of))
}

fn floats(of: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(of))
}

fn times(of: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from_iter_values(of).with_timezone(UTC))
}

/// Builds the rows of a table from the given columns, with nulls in all others.
fn rows(schema: &SchemaRef, columns: &[(&str, ArrayRef)]) -> Result<RecordBatch> {
    let count = columns[0].1.len();
    let all = schema.fields().iter().map(|field| {
        let named = columns.iter().find(|(name, _)| *name == field.name());
        named.map_or_else(
            || new_null_array(field.data_type(), count),
            |(_, values)| Arc::clone(values),
        )
    });
    let all: Vec<ArrayRef> = all.collect();
    let known = columns.iter().all(|(name, _)| schema.index_of(name).is_ok());
    anyhow::ensure!(known, "a column that there is not");
    // Those that are never null are of no use here.
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
    Ok(RecordBatch::try_new(Arc::new(schema), all)?)
}

fn connections(schema: &SchemaRef, of: &[Connection]) -> Result<RecordBatch> {
    let server = |one: &Connection| format!("10.{}.0.5", one.site);
    let device = |one: &Connection| format!("10.{}.1.{}", one.site, one.device + 10);
    rows(
        schema,
        &[
            ("capture", text(of.iter().map(Connection::capture))),
            ("connection", numbers(of.iter().map(Connection::connection))),
            (
                "sender",
                text(
                    of.iter()
                        .map(|one| format!("{}:{}", server(one), 40_000 + one.number % 20_000)),
                ),
            ),
            ("receiver", text(of.iter().map(|one| format!("{}:9100", device(one))))),
            ("sender_address", text(of.iter().map(server))),
            ("sender_prefix", text(of.iter().map(|one| format!("10.{}.0.0/24", one.site)))),
            ("receiver_address", text(of.iter().map(device))),
            ("receiver_prefix", text(of.iter().map(|one| format!("10.{}.1.0/24", one.site)))),
            ("service_port", Arc::new(Int32Array::from(vec![9100; of.len()]))),
            ("start_time", times(of.iter().map(|one| one.at))),
            ("bytes", numbers(of.iter().map(|one| one.bytes))),
            ("seconds", floats(of.iter().map(|one| one.seconds))),
            ("transfer_seconds", floats(of.iter().map(|one| one.seconds * 0.9))),
            ("bytes_per_second", floats(of.iter().map(|one| one.bytes as f64 / one.seconds))),
            ("receive_window_bytes", numbers(of.iter().map(|one| 8_192 << (one.device % 4)))),
        ],
    )
}

/// Builds two intervals for each connection: one with its own limit, and one limited by the
/// application.
fn intervals(schema: &SchemaRef, of: &[Connection]) -> Result<RecordBatch> {
    let of: Vec<(&Connection, bool)> =
        of.iter().flat_map(|one| [(one, true), (one, false)]).collect();
    let seconds = |(one, first): &(&Connection, bool)| {
        one.seconds * if *first { one.share } else { 1.0 - one.share }
    };
    let limit = |(one, first): &(&Connection, bool)| {
        LIMITS[if *first { one.limit } else { one.other }].to_owned()
    };
    rows(
        schema,
        &[
            ("capture", text(of.iter().map(|(one, _)| one.capture()))),
            ("connection", numbers(of.iter().map(|(one, _)| one.connection()))),
            ("limit", text(of.iter().map(limit))),
            ("start_time", times(of.iter().map(|(one, _)| one.at))),
            ("charged", floats(of.iter().map(seconds))),
        ],
    )
}

fn verdicts(schema: &SchemaRef, of: &[Connection]) -> Result<RecordBatch> {
    rows(
        schema,
        &[
            ("capture", text(of.iter().map(Connection::capture))),
            ("connection", numbers(of.iter().map(Connection::connection))),
            ("limit", text(of.iter().map(|one| LIMITS[one.limit].to_owned()))),
            ("share", floats(of.iter().map(|one| one.share))),
            (
                "remedy_expected_bytes_per_second",
                numbers_or_floats(
                    schema,
                    of.iter().map(|one| one.bytes as f64 / one.seconds * 1.5),
                ),
            ),
        ],
    )
}

/// Converts numbers to the type of the table's column.
fn numbers_or_floats(schema: &SchemaRef, of: impl Iterator<Item = f64>) -> ArrayRef {
    let name = "remedy_expected_bytes_per_second";
    let kind = schema.field_with_name(name).unwrap().data_type().clone();
    arrow::compute::cast(&floats(of), &kind).unwrap()
}

fn captures(schema: &SchemaRef, of: &[Connection]) -> Result<RecordBatch> {
    let firsts: Vec<&Connection> = of.iter().step_by(usize::try_from(CAPTURE)?).collect();
    rows(
        schema,
        &[
            ("capture", text(firsts.iter().map(|one| one.capture()))),
            ("file", text(firsts.iter().map(|one| format!("/captures/{:09}.pcap.gz", one.number)))),
            ("file_bytes", numbers(firsts.iter().map(|one| one.bytes))),
            ("packets", numbers(firsts.iter().map(|one| one.bytes / 1_000))),
            ("start_time", times(firsts.iter().map(|one| one.at))),
            ("end_time", times(firsts.iter().map(|one| one.at))),
            ("totals_connections_with_data", numbers(firsts.iter().map(|_| CAPTURE.cast_signed()))),
            ("totals_bytes", numbers(firsts.iter().map(|one| one.bytes))),
        ],
    )
}

/// Builds a table of the connections in a range.
fn staged(
    table: Table,
    from: u64,
    to: u64,
    of: u64,
    make: impl Fn(&SchemaRef, &[Connection]) -> Result<RecordBatch>,
) -> Result<StagedTable> {
    let schema = table.schema(None);
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let nullable = Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = TableWriter::with_schema(tempfile::tempfile()?, table.id(), nullable)?;
    let mut at = from;
    while at < to {
        let end = to.min(at + ROWS);
        let some: Vec<Connection> = (at..end).map(|number| Connection::new(number, of)).collect();
        writer.write(&make(&schema, &some)?)?;
        at = end;
    }
    Ok(StagedTable { table: table.id(), rows: writer.rows(), file: writer.finish()? })
}

/// Writes an archive with this many connections.
pub fn write(archive: &Path, of: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(32 << 20)
        .enable_all()
        .build()?;
    let place = Place::existing(archive.to_str().context("a name")?, "cannot make")
        .map_err(|error| anyhow!("{error}"))?;
    runtime.block_on(async {
        let mut state = State::read(&place).await?;
        let mut from = 0;
        while from < of {
            let to = of.min(from + BATCH);
            let mut tables = vec![
                staged(Table::Captures, from, to, of, captures)?,
                staged(Table::Connections, from, to, of, connections)?,
                staged(Table::Intervals, from, to, of, intervals)?,
                staged(Table::Verdicts, from, to, of, verdicts)?,
            ];
            sums::add(&mut tables).await?;
            let batch = objects::put(&place, &new_id()?, &mut tables).await?;
            state
                .commit(&place, Change { add: vec![batch], ..Change::new(ChangeReason::Add) })
                .await?;
            from = to;
        }
        Ok(())
    })
}
