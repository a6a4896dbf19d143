//! The record of `windlass law`: inputs and results.

use serde::Serialize;
use windlass_base::{Bytes, Failure, Rate, Schema, Span};
use windlass_output::{Column, Page, Record, Rows, Style, Table, Text, figures};

/// Answer of a law.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    schema: Schema,
    law: &'static str,
    statement: &'static str,
    formula: String,
    given: Vec<Term>,
    results: Vec<Term>,
    notes: Vec<String>,
    sources: Vec<&'static str>,
}

/// A letter of a formula, and its meaning.
pub(super) type SymbolName = (&'static str, &'static str);

/// One term of a formula.
#[derive(Clone, Debug, Serialize)]
pub struct Term {
    /// The letter in the formula.
    pub symbol: &'static str,
    /// Meaning of the letter.
    pub name: &'static str,
    /// Amount.
    #[serde(flatten)]
    pub quantity: Quantity,
}

/// An amount with its unit; in JSON `{"unit": "bytes", "value": 2920}`.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub enum Quantity {
    /// A size.
    Bytes(Bytes),
    /// A rate.
    BytesPerSecond(Rate),
    /// A time.
    Seconds(Span),
    /// A share of a whole.
    Ratio(f64),
    /// A number of things.
    Count(u64),
}

impl Term {
    /// Returns the row of the term; only the first term of its kind is named.
    fn cells(&self, kind: &str, place: usize, amount: Text) -> [Text; 4] {
        let kind = if place == 0 { kind } else { "" };
        [
            Text::styled(Style::Dim, kind),
            self.symbol.into(),
            amount,
            Text::styled(Style::Dim, self.name),
        ]
    }
}

impl Quantity {
    /// Formats an input, with all digits.
    fn given(self) -> Text {
        match self {
            Self::Seconds(span) => figures::exact(span),
            other => other.result(),
        }
    }

    /// Formats a result.
    fn result(self) -> Text {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::BytesPerSecond(rate) => figures::both(rate),
            Self::Seconds(span) => span.into(),
            Self::Ratio(share) => figures::fine_percent(share),
            Self::Count(count) => count.into(),
        }
    }

    /// Returns true if the amount is within the range of its type, which saturates.
    fn holds(self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.get() < u64::MAX,
            Self::Seconds(span) => span < Span::MAX,
            Self::Count(count) => count < u64::MAX,
            Self::BytesPerSecond(_) | Self::Ratio(_) => true,
        }
    }
}

impl Answer {
    /// The shape of the JSON, described by `schemas/law.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.law", version: 1 };

    /// Makes an answer without terms.
    pub(super) fn new(
        law: &'static str,
        statement: &'static str,
        formula: impl Into<String>,
    ) -> Self {
        Self {
            schema: Self::SCHEMA,
            law,
            statement,
            formula: formula.into(),
            given: Vec::new(),
            results: Vec::new(),
            notes: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds an input.
    pub(super) fn given(mut self, (symbol, name): SymbolName, quantity: Quantity) -> Self {
        self.given.push(Term { symbol, name, quantity });
        self
    }

    /// Adds a result.
    pub(super) fn result(mut self, (symbol, name): SymbolName, quantity: Quantity) -> Self {
        self.results.push(Term { symbol, name, quantity });
        self
    }

    /// Adds a note on the numbers.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a source of the law.
    pub(super) fn source(mut self, source: &'static str) -> Self {
        self.sources.push(source);
        self
    }

    /// Adds a note on the window scaling that a window of this size needs.
    pub(super) fn window_note(self, window: Bytes) -> Self {
        /// The largest window without scaling, and the largest shift (RFC 7323
        /// section 2.3).
        const UNSCALED: u64 = 65_535;
        const SHIFT_MAX: u32 = 14;
        if window.get() <= UNSCALED {
            return self;
        }
        let shift = (1..=SHIFT_MAX).find(|shift| window.get() <= UNSCALED << shift);
        self.note(match shift {
            Some(shift) => format!(
                "A window above 65,535 B needs window scaling on both sides, with a shift of at \
                 least {shift} (RFC 7323)."
            ),
            None => "No TCP window is that large: the maximum is 1,073,725,440 B, with a shift of \
                     14 (RFC 7323). Use parallel connections."
                .to_owned(),
        })
    }

    /// Refuses an answer that is out of the types' range.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.results.iter().find(|term| !term.quantity.holds()) {
            None => Ok(()),
            Some(term) => Err(Failure::usage(
                format!("cannot apply the law `{}`", self.law),
                format!("the {} would be out of range", term.name),
            )
            .advise("Check the units of the values.")),
        }
    }
}

impl Record for Answer {
    fn text(&self, page: &mut Page) {
        page.heading(self.statement);
        page.gap();
        let mut terms = Table::new([
            // As wide as `formula`, so that terms and rows align.
            Column::left("").least("formula".len()),
            Column::left(""),
            Column::left(""),
            Column::left(""),
        ]);
        for (place, term) in self.given.iter().enumerate() {
            terms.push(term.cells("given", place, term.quantity.given()));
        }
        for (place, term) in self.results.iter().enumerate() {
            let amount = Text::styled(Style::Strong, term.quantity.result());
            terms.push(term.cells("result", place, amount));
        }
        let mut sources = Rows::new();
        // The name is as wide as `formula`, for the same reason.
        sources.list("source ", self.sources.iter().copied());
        page.indented(|page| {
            page.rows(&Rows::new().row("formula", &self.formula));
            page.table(&terms);
            page.rows(&sources);
        });
        for note in &self.notes {
            page.gap();
            page.paragraph(note);
        }
    }
}
