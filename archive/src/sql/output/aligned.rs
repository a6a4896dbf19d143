//! Aligned columns for people.

use std::io::{self, Write};

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use unicode_width::UnicodeWidthStr as _;

/// Number of rows that determine the column widths. Later rows that are wider are not cut, and do
/// not align.
const MEASURED: usize = 1_000;

/// Space between columns.
const GAP: &str = "  ";

/// Text of a null.
const NULL: &str = "-";

/// Table that is being written.
pub struct AlignedTable<'a, W: Write> {
    to: &'a mut W,
    names: Vec<String>,
    is_right: Vec<bool>,
    /// Rows for the column widths; empty once these are known.
    waiting: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

/// Formats a number with six significant digits, which exceeds the accuracy of any value here.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e-4..1e15).contains(&size) {
        let before = size.log10().floor() as i32;
        let places = usize::try_from(5 - before).unwrap_or(0);
        let text = format!("{value:.places$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        return text;
    }
    format!("{value:.5e}")
}

/// Escapes characters of a text that control a terminal.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let moves = matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if letter.is_control() || moves {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Formats the cells of a column.
///
/// # Errors
/// Returns an error if the values cannot be formatted.
pub fn cells(column: &ArrayRef) -> Result<Vec<String>, arrow::error::ArrowError> {
    if column.data_type().is_floating() {
        let column = cast(column, &DataType::Float64)?;
        let values = column.as_primitive::<Float64Type>();
        let cell = |value: Option<f64>| value.map_or_else(|| NULL.to_owned(), number);
        return Ok(values.iter().map(cell).collect());
    }
    let options = FormatOptions::default().with_null(NULL).with_display_error(true);
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    Ok((0..column.len()).map(|row| visible(&formatter.value(row).to_string())).collect())
}

impl<'a, W: Write> AlignedTable<'a, W> {
    pub(super) fn new(schema: &SchemaRef, to: &'a mut W) -> Self {
        let names = schema.fields().iter().map(|field| visible(field.name())).collect();
        let is_right = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
        Self { to, names, is_right, waiting: Vec::new(), widths: None }
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        let columns = rows.columns().iter().map(cells).collect::<Result<Vec<_>, _>>();
        let columns = columns.map_err(io::Error::other)?;
        for row in 0..rows.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| column[row].clone()).collect();
            match &self.widths {
                Some(widths) => line(self.to, &cells, widths, &self.is_right)?,
                None => {
                    self.waiting.push(cells);
                    if self.waiting.len() == MEASURED {
                        self.begin()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the header and the measured rows.
    fn begin(&mut self) -> io::Result<()> {
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.width()).collect();
        for row in &self.waiting {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        line(self.to, &self.names, &widths, &self.is_right)?;
        for row in std::mem::take(&mut self.waiting) {
            line(self.to, &row, &widths, &self.is_right)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        // A statement without a result has no columns.
        if self.widths.is_none() && !self.names.is_empty() {
            self.begin()?;
        }
        Ok(())
    }
}

fn line(
    to: &mut impl Write,
    cells: &[String],
    widths: &[usize],
    is_right: &[bool],
) -> io::Result<()> {
    let mut text = String::new();
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            text.push_str(GAP);
        }
        let pad = " ".repeat(widths[place].saturating_sub(cell.width()));
        if is_right[place] {
            text.push_str(&pad);
            text.push_str(cell);
        } else {
            text.push_str(cell);
            text.push_str(&pad);
        }
    }
    writeln!(to, "{}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_act_on_no_terminal() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("file", DataType::Utf8, true),
            Field::new("rows", DataType::Int64, true),
            Field::new("share", DataType::Float64, true),
        ]));
        let rows = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(StringArray::from(vec![Some("a\u{1b}[2J.pcap"), None])),
                Arc::new(Int64Array::from(vec![Some(7), Some(12_345)])),
                Arc::new(Float64Array::from(vec![Some(1.0 / 3.0), None])),
            ],
        );
        let mut text = Vec::new();
        let mut table = AlignedTable::new(&schema, &mut text);
        table.write(&rows.unwrap()).unwrap();
        table.finish().unwrap();
        let expected = "file              rows     share\n\
                        a\\u{1b}[2J.pcap      7  0.333333\n\
                        -                12345         -\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_number_has_six_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.3"),
            (123_456.789, "123457"),
            (1_234_567.0, "1234567"),
            (0.000_123_456_789, "0.000123457"),
            (0.000_001_5, "1.50000e-6"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
