//! A report of a kept run.

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_base::Failure;
use windlass_output::Text;
use windlass_output::html::run;
use windlass_output::html::{Figure, Html};
use windlass_output::records::runs::{facts, result};
use windlass_runs::{Row, Run, Selector, Store, Summary};

use super::contents::section;
use super::markdown;
use crate::keeping;

/// A run with its summary.
pub(super) struct NamedRun {
    run: Run,
    summary: Summary,
}

/// Location of the runs.
#[derive(Args, Clone, Debug)]
pub struct RunsArgs {
    /// The folder of the runs
    #[arg(long, value_name = "FOLDER", help_heading = "Output", help = keeping::FOLDER)]
    pub store: Option<PathBuf>,
}

impl RunsArgs {
    /// Returns the runs that `path` names; `None` if it is a file or names no run.
    ///
    /// # Errors
    /// Returns an error if there are no runs, or they cannot be read.
    pub(super) fn named(&self, path: &Path) -> Result<Option<Vec<NamedRun>>, Failure> {
        let name = path.to_str().filter(|name| *name != "-" && !path.exists());
        let selector: Option<Selector> = name.and_then(|name| name.parse().ok());
        let Some(selector) = selector else { return Ok(None) };
        let store = Store::at(keeping::folder(self.store.as_deref())?);
        let runs = store.list()?.runs;
        let ids: Vec<_> = selector.of(&runs)?.into_iter().map(|run| run.id).collect();
        let whole = |run: Result<Run, Failure>| {
            let run = run?;
            Ok(NamedRun { summary: Summary::of(&run), run })
        };
        store.read(ids)?.map(whole).collect::<Result<_, _>>().map(Some)
    }
}

impl NamedRun {
    /// Returns the title of its report.
    pub(super) fn title(&self) -> String {
        run::title(&self.run, &self.summary)
    }

    /// Returns the result of the run, as lists show it.
    pub(super) fn result(&self) -> Text {
        result(&Row::from(&self.summary))
    }

    /// Returns its limit; empty if unknown.
    pub(super) fn limit(&self) -> String {
        let first = self.summary.verdicts.first();
        first.map(|one| one.cause.replace('/', " / ")).unwrap_or_default()
    }

    /// Writes its part of a page; `place` is its index in the report.
    pub(super) fn html(&self, out: &mut String, place: usize, is_alone: bool) {
        let mut html = Html::new("");
        html.raw(&format!("<section class=\"run\" id=\"{}\">\n", section(place)));
        if !is_alone {
            html.element("h2", &self.title());
        }
        run::found(&mut html, &self.run, &self.summary);
        html.raw("</section>\n");
        out.push_str(&html.part());
    }

    /// Returns its charts.
    pub(super) fn figures(&self) -> Vec<Figure> {
        run::figures(&self.run)
    }

    /// Writes its part of a ticket: result, parameters and output.
    pub(super) fn markdown(&self, out: &mut String) {
        let Self { run, summary } = self;
        out.push_str(&format!("\n## {}\n\n| | |\n|---|---|\n", markdown::escaped(&self.title())));
        let mut row = |name: &str, value: &str| {
            let (name, value) = (markdown::escaped(name), markdown::escaped(value));
            out.push_str(&format!("| {name} | {value} |\n"));
        };
        row("result", &result(&Row::from(summary)).plain());
        for verdict in &summary.verdicts {
            row("limit", &verdict.cause);
        }
        for (name, value) in facts(run).iter() {
            row(&name.plain(), &value.plain());
        }
        if let Some(failure) = &run.failure {
            row("failed", failure);
        }
        for note in &run.notes {
            row("note", &note.text);
        }
        for kept in &run.records {
            // Indented text contains no markup.
            out.push('\n');
            for line in kept.text.lines() {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
}
