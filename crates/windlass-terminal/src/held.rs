//! Output that programs write while a view has the terminal.

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write, pipe};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};

/// Output kept while a view is shown, and printed when the view is over.
///
/// Programs write into a pipe, which a thread empties into a file without a name. So memory does
/// not grow, even if they write for days. A file alone would not do: a program that opens
/// `/dev/stdout` anew would write at its start.
#[derive(Debug)]
pub struct HeldOutput {
    file: File,
    writer: PipeWriter,
    /// Ends the thread when dropped.
    stop: Option<PipeWriter>,
    keeper: Option<JoinHandle<io::Result<()>>>,
}

impl HeldOutput {
    /// Creates the pipe and the file, both empty.
    ///
    /// # Errors
    /// No room for a file, no descriptor or no thread.
    pub fn new() -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        let ((from, writer), (stopped, stop)) = (pipe()?, pipe()?);
        // Other processes hold the pipe, too, perhaps for longer than this.
        fcntl_setfl(&from, OFlags::NONBLOCK)?;
        let to = file.try_clone()?;
        let keeper = thread::Builder::new().name("held".to_owned());
        let keeper = keeper.spawn(move || keep(from, &stopped, to))?;
        Ok(Self { file, writer, stop: Some(stop), keeper: Some(keeper) })
    }

    /// Returns a writer into the pipe.
    ///
    /// # Errors
    /// No more descriptors.
    pub fn writer(&self) -> io::Result<PipeWriter> {
        self.writer.try_clone()
    }

    /// Writes everything kept. Later output is lost.
    ///
    /// # Errors
    /// The output could not be kept, which is told after the kept part is written; or it cannot be
    /// written.
    pub fn release(mut self, to: impl Write) -> io::Result<()> {
        self.copy(to)
    }

    fn copy(&mut self, mut to: impl Write) -> io::Result<()> {
        drop(self.stop.take());
        let broke = || io::Error::other("the thread that keeps the terminal failed");
        let kept = self.keeper.take().map(|keeper| keeper.join().unwrap_or_else(|_| Err(broke())));
        let mut piece = vec![0; 1 << 16];
        let mut at = 0;
        loop {
            match self.file.read_at(&mut piece, at) {
                Ok(0) => break,
                Ok(read) => {
                    to.write_all(&piece[..read])?;
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        to.flush()?;
        kept.unwrap_or(Ok(()))
    }
}

/// However a program ends, its kept output is printed.
impl Drop for HeldOutput {
    fn drop(&mut self) {
        if self.keeper.is_some() {
            // Nobody reads it if standard output is closed.
            let _ = self.copy(io::stdout().lock());
        }
    }
}

/// Takes output until `stopped` is closed, and then the rest. Output that cannot be kept is taken
/// as well: its writer must not wait for ever.
fn keep(mut from: impl Read + AsFd, stopped: &impl AsFd, mut to: File) -> io::Result<()> {
    let mut kept = Ok(());
    let mut piece = vec![0; 1 << 16];
    loop {
        let mut files = [PollFd::new(&from, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut files, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return kept.and(Err(error.into())),
        }
        let is_last = !files[1].revents().is_empty();
        loop {
            match from.read(&mut piece) {
                Ok(0) => return kept,
                Ok(read) if kept.is_ok() => kept = to.write_all(&piece[..read]),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return kept.and(Err(error)),
            }
        }
        if is_last {
            return kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn released(held: HeldOutput) -> String {
        let mut bytes = Vec::new();
        held.release(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_several_write_comes_out_in_its_order() {
        let held = HeldOutput::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >/dev/stdout; echo three >&2"]);
        command.stdout(held.writer().unwrap()).stderr(held.writer().unwrap());
        assert!(command.status().unwrap().success());
        // The command holds the pipe still, as a program does that goes on.
        held.writer().unwrap().write_all(b"four\n").unwrap();
        assert_eq!(released(held), "one\ntwo\nthree\nfour\n");
    }

    #[test]
    fn more_than_a_pipe_holds_keeps_nobody_waiting() {
        let held = HeldOutput::new().unwrap();
        let long = "x".repeat(1 << 20);
        held.writer().unwrap().write_all(long.as_bytes()).unwrap();
        assert!(released(held) == long);
    }

    #[test]
    fn what_cannot_be_kept_is_taken_and_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ((from, mut writer), (stopped, stop)) = (pipe().unwrap(), pipe().unwrap());
        fcntl_setfl(&from, OFlags::NONBLOCK).unwrap();
        let keeper = thread::spawn(move || keep(from, &stopped, full));
        writer.write_all(&[0; 1 << 20]).unwrap();
        drop(stop);
        let error = keeper.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
