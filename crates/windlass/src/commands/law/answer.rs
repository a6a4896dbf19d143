//! The record of `windlass law`: what was put into a law and what came out.

use serde::Serialize;
use windlass_base::{Bytes, Failure, Rate, Schema, Span};
use windlass_output::{Column, Page, Record, Rows, Style, Table, Text, figures};

/// What a law answers.
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

/// A letter of a formula, and what it stands for.
pub(super) type Named = (&'static str, &'static str);

/// One term of a formula.
#[derive(Clone, Debug, Serialize)]
pub struct Term {
    /// The letter in the formula.
    pub symbol: &'static str,
    /// What the letter stands for.
    pub name: &'static str,
    /// How much of it.
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
    /// The term's row; only the first of its kind is named.
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
    /// As it was put in: to the last digit where there is one.
    fn given(self) -> Text {
        match self {
            Self::Seconds(span) => figures::exact(span),
            other => other.result(),
        }
    }

    /// As it came out.
    fn result(self) -> Text {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::BytesPerSecond(rate) => figures::both(rate),
            Self::Seconds(span) => span.into(),
            Self::Ratio(share) => figures::fine_percent(share),
            Self::Count(count) => count.into(),
        }
    }

    /// Whether the types hold the amount: they saturate where it is too large.
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

    /// An answer without terms.
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

    /// Adds what was put in.
    pub(super) fn given(mut self, (symbol, name): Named, quantity: Quantity) -> Self {
        self.given.push(Term { symbol, name, quantity });
        self
    }

    /// Adds what came out.
    pub(super) fn result(mut self, (symbol, name): Named, quantity: Quantity) -> Self {
        self.results.push(Term { symbol, name, quantity });
        self
    }

    /// Adds a sentence that the numbers call for.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds where the law comes from.
    pub(super) fn source(mut self, source: &'static str) -> Self {
        self.sources.push(source);
        self
    }

    /// Adds what a receive window of this size takes.
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
                "A window above 65,535 B needs window scaling on both sides, here with a shift \
                 of {shift} at least (RFC 7323)."
            ),
            None => "No TCP window is so large: with the largest shift of 14 it ends at \
                     1,073,725,440 B (RFC 7323). Use parallel connections."
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
