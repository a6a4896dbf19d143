//! Interactive prompt: statements end with `;`, and earlier ones are kept.

use std::io;
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use tokio::runtime::Runtime;
use windlass_base::Failure;

use super::output::{Format, Sink};
use super::{Session, answer, state_folder, until_signal};

/// Length of the history in statements.
const KEPT: usize = 1_000;

const FIRST: &str = "archive> ";
const MORE: &str = "     ... ";

/// Returns the file of the history.
fn history() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("archive-history"))
}

fn failed(error: &ReadlineError) -> Failure {
    Failure::new("cannot read from the terminal", error)
        .advise("Give the query as an argument, or on standard input.")
}

/// Returns whether a text ends a statement.
fn is_whole(text: &str) -> bool {
    text.trim_end().ends_with(';')
}

/// Reads statements and answers each, to the end of the input.
///
/// # Errors
/// Returns an error if the terminal cannot be read or written. A failed statement is reported, and
/// the next one is read.
pub(super) fn run(session: &mut Session, format: Format, runtime: &Runtime) -> anyhow::Result<()> {
    let config = Config::builder().max_history_size(KEPT).map_err(|error| failed(&error))?;
    let config = config.auto_add_history(false).build();
    let mut editor: Editor<(), FileHistory> =
        Editor::with_config(config).map_err(|error| failed(&error))?;
    let kept = history();
    if let Some(path) = &kept {
        // At first there is no history.
        let _ = editor.load_history(path);
    }
    eprintln!(
        "End a statement with ; and the prompt with Ctrl-D. `show tables;` lists the tables."
    );
    let mut text = String::new();
    loop {
        match editor.readline(if text.is_empty() { FIRST } else { MORE }) {
            Ok(line) => {
                if text.is_empty() && matches!(line.trim(), "" | "exit" | "quit" | "\\q") {
                    if line.trim().is_empty() {
                        continue;
                    }
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
            // Ctrl-C discards the input.
            Err(ReadlineError::Interrupted) => text.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(&error).into()),
        }
        if !is_whole(&text) {
            continue;
        }
        let statement = std::mem::take(&mut text);
        // A failed write of the history does not matter.
        let _ = editor.add_history_entry(statement.trim_end());
        if let Some(path) = &kept {
            let _ = editor.save_history(path);
        }
        match runtime.block_on(until_signal(one(session, &statement, format))) {
            Some(Ok(())) => {}
            Some(Err(error)) if crate::failure::is_broken_pipe(&error) => return Err(error),
            Some(Err(error)) => eprint!("{}", crate::failure::report(&error, true).0),
            None => {
                runtime.block_on(session.cancel());
                eprintln!("stopped");
            }
        }
    }
    Ok(())
}

async fn one(session: &mut Session, text: &str, format: Format) -> anyhow::Result<()> {
    session.refresh().await?;
    let mut sink = Sink::Out(io::stdout());
    for statement in session.statements(text)? {
        answer(session, statement, format, &mut sink, None).await?;
    }
    Ok(sink.finish()?)
}
