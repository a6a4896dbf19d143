//! A column: its name, its type and the function that gets its value from a row, written once. The
//! schema, the documentation and the values follow from that.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int32Builder, Int64Builder,
    ListBuilder, StringBuilder, TimestampNanosecondBuilder,
};
use arrow_schema::{DataType, Field, TimeUnit};
use windlass_base::{Bytes, Rate, Span, Timestamp};

use crate::date::Date;

/// The time zone of all times.
pub const UTC: &str = "UTC";

/// The function that gets a column's value from a row; the variant is the column's type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Get<R> {
    /// True or false.
    Flag(fn(&R) -> Option<bool>),
    /// A count, or the number of a thing.
    Count(fn(&R) -> Option<u64>),
    /// A number that may be below zero.
    Number(fn(&R) -> Option<i64>),
    /// A number of 16 bits, as a port.
    Small(fn(&R) -> Option<u16>),
    Bytes(fn(&R) -> Option<Bytes>),
    Seconds(fn(&R) -> Option<Span>),
    Rate(fn(&R) -> Option<Rate>),
    /// A share of a whole, from 0 to 1.
    Share(fn(&R) -> Option<f64>),
    /// A number in the unit that another column names.
    Value(fn(&R) -> Option<f64>),
    Time(fn(&R) -> Option<Timestamp>),
    Text(for<'a> fn(&'a R) -> Option<Cow<'a, str>>),
    /// An address as its 4 or 16 bytes.
    Address(fn(&R) -> Option<IpAddr>),
    Texts(for<'a> fn(&'a R) -> Option<Vec<Cow<'a, str>>>),
    Counts(fn(&R) -> Option<Vec<u64>>),
    Spans(fn(&R) -> Option<Vec<Span>>),
    /// The text at an index of the fields in the file's name.
    TextAt(usize, for<'a> fn(&'a R, usize) -> Option<Cow<'a, str>>),
    /// The date at an index of the fields in the file's name.
    DateAt(usize, fn(&R, usize) -> Option<Date>),
}

/// A column of a table whose rows are `R`.
#[derive(Clone, Debug)]
pub(crate) struct Column<R> {
    pub(crate) name: Cow<'static, str>,
    /// The path of the value in the JSON of `windlass explain`; empty if the JSON lacks it.
    pub(crate) json: &'static str,
    pub(crate) about: &'static str,
    pub(crate) get: Get<R>,
}

/// Facts about a column that do not need its table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// The unit of its values; empty if they have none.
    pub unit: &'static str,
    /// The meaning of its values.
    pub about: &'static str,
    /// The path of the value in the JSON of `windlass explain`, as `losses.segments`; empty if the
    /// JSON lacks it.
    pub json: &'static str,
}

impl<R> Column<R> {
    /// Makes a column named after its path in the JSON: `losses_segments` for `losses.segments`.
    pub(crate) fn told(json: &'static str, about: &'static str, get: Get<R>) -> Self {
        Self { name: json.replace(['.', '-'], "_").into(), json, about, get }
    }

    /// Makes a column with a name of its own.
    pub(crate) fn named(
        name: impl Into<Cow<'static, str>>,
        json: &'static str,
        about: &'static str,
        get: Get<R>,
    ) -> Self {
        Self { name: name.into(), json, about, get }
    }

    /// Makes a column that the JSON lacks.
    pub(crate) fn own(
        name: impl Into<Cow<'static, str>>,
        about: &'static str,
        get: Get<R>,
    ) -> Self {
        Self::named(name, "", about, get)
    }

    pub(crate) fn facts(&self) -> ColumnFacts {
        let Self { name, json, about, get } = self;
        let (data_type, unit) = get.kind();
        ColumnFacts { name: name.to_string(), data_type, unit, about, json }
    }

    pub(crate) fn field(&self) -> Field {
        Field::new(self.name.as_ref(), self.get.kind().0, true)
    }
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

impl<R> Get<R> {
    /// Returns the type of the values, and their unit.
    fn kind(&self) -> (DataType, &'static str) {
        match self {
            Self::Flag(_) => (DataType::Boolean, ""),
            Self::Count(_) | Self::Number(_) => (DataType::Int64, ""),
            Self::Small(_) => (DataType::Int32, ""),
            Self::Bytes(_) => (DataType::Int64, "bytes"),
            Self::Seconds(_) => (DataType::Float64, "seconds"),
            Self::Rate(_) => (DataType::Float64, "bytes per second"),
            Self::Share(_) => (DataType::Float64, "share, 0 to 1"),
            Self::Value(_) => (DataType::Float64, ""),
            Self::Time(_) => (DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())), "UTC"),
            Self::Text(_) | Self::TextAt(..) => (DataType::Utf8, ""),
            Self::Address(_) => (DataType::Binary, ""),
            Self::Texts(_) => (list(DataType::Utf8), ""),
            Self::Counts(_) => (list(DataType::Int64), ""),
            Self::Spans(_) => (list(DataType::Float64), "seconds"),
            Self::DateAt(..) => (DataType::Date32, ""),
        }
    }
}

/// The values of a column while rows are added.
pub(crate) enum Values {
    Flags(BooleanBuilder),
    Integers(Int64Builder),
    Small(Int32Builder),
    Floats(Float64Builder),
    Times(TimestampNanosecondBuilder),
    Texts(StringBuilder),
    Binary(BinaryBuilder),
    Dates(Date32Builder),
    TextLists(ListBuilder<StringBuilder>),
    IntegerLists(ListBuilder<Int64Builder>),
    FloatLists(ListBuilder<Float64Builder>),
}

/// Converts a count for a signed column, as some readers know signed columns only.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Values {
    pub(crate) fn of<R>(column: &Column<R>) -> Self {
        match column.get {
            Get::Flag(_) => Self::Flags(BooleanBuilder::new()),
            Get::Count(_) | Get::Number(_) | Get::Bytes(_) => Self::Integers(Int64Builder::new()),
            Get::Small(_) => Self::Small(Int32Builder::new()),
            Get::Seconds(_) | Get::Rate(_) | Get::Share(_) | Get::Value(_) => {
                Self::Floats(Float64Builder::new())
            }
            Get::Time(_) => Self::Times(TimestampNanosecondBuilder::new().with_timezone(UTC)),
            Get::Text(_) | Get::TextAt(..) => Self::Texts(StringBuilder::new()),
            Get::Address(_) => Self::Binary(BinaryBuilder::new()),
            Get::Texts(_) => Self::TextLists(ListBuilder::new(StringBuilder::new())),
            Get::Counts(_) => Self::IntegerLists(ListBuilder::new(Int64Builder::new())),
            Get::Spans(_) => Self::FloatLists(ListBuilder::new(Float64Builder::new())),
            Get::DateAt(..) => Self::Dates(Date32Builder::new()),
        }
    }

    /// Adds the value of a row. The values must have been made for the column.
    pub(crate) fn push<R>(&mut self, column: &Column<R>, row: &R) {
        match (self, &column.get) {
            (Self::Flags(to), Get::Flag(get)) => to.append_option(get(row)),
            (Self::Integers(to), Get::Count(get)) => to.append_option(get(row).map(signed)),
            (Self::Integers(to), Get::Number(get)) => to.append_option(get(row)),
            (Self::Integers(to), Get::Bytes(get)) => {
                to.append_option(get(row).map(|bytes| signed(bytes.get())));
            }
            (Self::Small(to), Get::Small(get)) => to.append_option(get(row).map(i32::from)),
            (Self::Floats(to), Get::Seconds(get)) => {
                to.append_option(get(row).map(Span::as_seconds));
            }
            (Self::Floats(to), Get::Rate(get)) => {
                to.append_option(get(row).map(Rate::bytes_per_second));
            }
            (Self::Floats(to), Get::Share(get) | Get::Value(get)) => to.append_option(get(row)),
            (Self::Times(to), Get::Time(get)) => {
                to.append_option(get(row).map(Timestamp::as_nanos));
            }
            (Self::Texts(to), Get::Text(get)) => to.append_option(get(row)),
            (Self::Texts(to), Get::TextAt(place, get)) => to.append_option(get(row, *place)),
            (Self::Binary(to), Get::Address(get)) => match get(row) {
                Some(IpAddr::V4(address)) => to.append_value(address.octets()),
                Some(IpAddr::V6(address)) => to.append_value(address.octets()),
                None => to.append_null(),
            },
            (Self::Dates(to), Get::DateAt(place, get)) => {
                to.append_option(get(row, *place).map(Date::days));
            }
            (Self::TextLists(to), Get::Texts(get)) => {
                to.append_option(get(row).map(|all| all.into_iter().map(Some)));
            }
            (Self::IntegerLists(to), Get::Counts(get)) => {
                to.append_option(get(row).map(|all| all.into_iter().map(signed).map(Some)));
            }
            (Self::FloatLists(to), Get::Spans(get)) => {
                let seconds = |all: Vec<Span>| all.into_iter().map(|one| Some(one.as_seconds()));
                to.append_option(get(row).map(seconds));
            }
            (_, get) => debug_assert!(false, "no place for {:?}", get.kind()),
        }
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Flags(of) => Arc::new(of.finish()),
            Self::Integers(of) => Arc::new(of.finish()),
            Self::Small(of) => Arc::new(of.finish()),
            Self::Floats(of) => Arc::new(of.finish()),
            Self::Times(of) => Arc::new(of.finish()),
            Self::Texts(of) => Arc::new(of.finish()),
            Self::Binary(of) => Arc::new(of.finish()),
            Self::Dates(of) => Arc::new(of.finish()),
            Self::TextLists(of) => Arc::new(of.finish()),
            Self::IntegerLists(of) => Arc::new(of.finish()),
            Self::FloatLists(of) => Arc::new(of.finish()),
        }
    }
}
