//! Program that shows text longer than the terminal, chosen as git does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Pager if the environment names none.
const USUAL: &str = "less";

/// Default options of `less`, as git sets them: leave if one screen suffices, keep colours, and
/// leave the text on the screen.
const OPTIONS: (&str, &str) = ("LESS", "FRX");

/// Returns the pager that the environment names, a shell command; `None` if the environment asks
/// for none.
pub(crate) fn named() -> Option<OsString> {
    let named = std::env::var_os("PAGER").unwrap_or_else(|| USUAL.into());
    (!named.is_empty() && named != "cat").then_some(named)
}

/// Shows text by a pager, and returns when the reader leaves it.
///
/// # Errors
/// Returns an error if the pager cannot be started; the text must then be shown in another way.
pub(crate) fn show(pager: &OsString, text: &[u8]) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if std::env::var_os(OPTIONS.0).is_none() {
        command.env(OPTIONS.0, OPTIONS.1);
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A reader who leaves early closes the pipe.
        let _ = input.write_all(text);
    }
    let status = child.wait()?;
    // The shell's exit code for a missing command.
    if status.code() == Some(127) { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_gets_all_and_may_leave_early() {
        let folder = std::env::temp_dir().join(format!("windlass-pager-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let shown = folder.join("shown");
        let text = b"one\ntwo\n".repeat(100_000);
        show(&format!("cat > '{}'", shown.display()).into(), &text).unwrap();
        assert_eq!(std::fs::read(&shown).unwrap(), text);
        std::fs::remove_dir_all(folder).unwrap();
        show(&"head -1 > /dev/null".into(), &text).unwrap();
    }

    #[test]
    fn a_pager_that_is_not_there_fails() {
        let missing = "windlass-has-no-such-pager 2> /dev/null".into();
        assert!(show(&missing, b"text").is_err());
    }
}
