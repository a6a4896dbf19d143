//! A real terminal, which tmux gives: its screen, its flags, its keys.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use tempfile::TempDir;

use windlass_testkit::has;

/// On a busy machine things take their time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval between two looks at the screen.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns the prefix of the line in which the shell reports the exit code of a command, by its
/// number: the line of an earlier command is no answer.
fn said(number: u32) -> String {
    format!("exit-{number}=")
}

/// A terminal with a shell on it.
pub(crate) struct Terminal {
    folder: TempDir,
    /// Number of commands so far.
    begun: Cell<u32>,
}

impl Terminal {
    /// One of this size; the test says that it is skipped where there is no tmux.
    pub(crate) fn open(test: &str, (columns, rows): (u16, u16)) -> Option<Self> {
        if !has("tmux", test) {
            return None;
        }
        let terminal = Self { folder: tempfile::tempdir().unwrap(), begun: Cell::new(0) };
        let size = ["-x", &columns.to_string(), "-y", &rows.to_string()].map(str::to_owned);
        // A prompt that is the same everywhere, and no file of whoever runs the test.
        let shell = "env PS1='$ ' ENV= sh -i";
        let mut words = vec!["-f", "/dev/null", "-u", "new-session", "-d"];
        words.extend(size.iter().map(String::as_str));
        words.push(shell);
        assert!(terminal.tmux(&words).status.success());
        // The status line of tmux takes one of the rows.
        terminal.tmux(&["set", "-g", "status", "off"]);
        terminal.resize((columns, rows));
        terminal.wait("$", |screen| screen.contains('$'));
        Some(terminal)
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.file("socket")).args(words);
        command.env_remove("TMUX").env_remove("NO_COLOR").output().unwrap()
    }

    /// A file in the folder of this terminal.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Types a line and Enter.
    pub(crate) fn line(&self, line: &str) {
        assert!(self.tmux(&["send-keys", "-l", line]).status.success());
        self.key("Enter");
    }

    /// Presses a key, by its name for tmux: `q`, `C-c`, `Down`.
    pub(crate) fn key(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).status.success());
    }

    /// Another size.
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Returns the text of the screen, without trailing spaces.
    pub(crate) fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Returns the text of the screen once it is as wanted.
    pub(crate) fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(since.elapsed() < PATIENCE, "waited for {what}, and there is:\n{screen}");
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns whether the cursor is shown, the alternate screen is on, and long lines wrap.
    pub(crate) fn flags(&self) -> (bool, bool, bool) {
        let format = "#{cursor_flag}#{alternate_on}#{wrap_flag}";
        let output = self.tmux(&["display", "-p", format]);
        let flags: Vec<bool> =
            output.stdout.trim_ascii().iter().map(|flag| *flag == b'1').collect();
        (flags[0], flags[1], flags[2])
    }

    /// Runs a command between two looks at how the terminal is set, and says how it ended.
    pub(crate) fn begin(&self, command: &str) {
        let [before, after] = ["before", "after"].map(|name| self.file(name));
        self.begun.update(|begun| begun + 1);
        let said = said(self.begun.get());
        self.line(&format!(
            "clear; stty -a > {}; {command}; echo \"{said}$?\"; stty -a > {}",
            before.display(),
            after.display()
        ));
    }

    /// Waits for the end of what was begun, and checks that the terminal is as before. Gives
    /// the screen and the exit code.
    pub(crate) fn restored(&self) -> (String, i32) {
        let said = said(self.begun.get());
        let code = |screen: &str| {
            let lines = screen.lines().rev();
            lines.filter_map(|line| line.strip_prefix(&said)?.parse::<i32>().ok()).next()
        };
        let screen = self.wait("the end", |screen| code(screen).is_some());
        let after = self.file("after");
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        self.wait("stty", |_| read(&after).ends_with('\n'));
        assert_eq!(read(&self.file("before")), read(&after), "{screen}");
        assert_eq!(self.flags(), (true, false, true), "{screen}");
        fs::remove_file(after).unwrap();
        let code = code(&screen).unwrap();
        (screen, code)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The program.
pub(crate) fn program() -> String {
    env!("CARGO_BIN_EXE_windlass").to_owned()
}
