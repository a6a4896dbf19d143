//! What would stand on the terminal while a view has it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use windlass_base::Failure;

use crate::print::Output;

/// Lines that are held back while a view has the terminal, and printed when it is over.
///
/// They lie in a file without a name: memory does not grow with what a program writes for days.
/// Where the file has no room, who writes is told so, as of any file.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
    is_released: bool,
}

impl Held {
    /// Holds nothing yet.
    ///
    /// # Errors
    /// Where there is no room for a file.
    pub(super) fn new() -> Result<Self, Failure> {
        let file = tempfile::tempfile().map_err(|error| {
            let doing = "cannot keep what is printed while a live view is shown";
            Failure::new(doing, error).advise("Name a folder with room for it in TMPDIR.")
        })?;
        Ok(Self { file, is_released: false })
    }

    /// The file. All that write to it have one place in it.
    ///
    /// # Errors
    /// Where there are no more descriptors.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A printer into it, which prints as `like` does.
    ///
    /// # Errors
    /// As those of [`Held::file`].
    pub(crate) fn output(&self, like: &Output) -> io::Result<Output> {
        let (format, width, color) = like.to_render();
        Ok(Output::new(Box::new(self.file()?), format, width, color))
    }

    /// Prints it. The view must be over.
    ///
    /// # Errors
    /// Where standard output is closed.
    pub(crate) fn release(mut self) -> io::Result<()> {
        self.is_released = true;
        self.copy(io::stdout().lock())
    }

    fn copy(&self, mut to: impl Write) -> io::Result<()> {
        let mut piece = vec![0; 1 << 16];
        let mut at = 0;
        loop {
            match self.file.read_at(&mut piece, at) {
                Ok(0) => return to.flush(),
                Ok(read) => {
                    to.write_all(&piece[..read])?;
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// However a command ends, what was to be read is there.
impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_released {
            // Where standard output is closed nobody reads it.
            let _ = self.copy(io::stdout().lock());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::{ColorChoice, Format};

    #[test]
    fn what_several_write_comes_out_in_its_order() {
        let held = Held::new().unwrap();
        held.file().unwrap().write_all(b"one\n").unwrap();
        let like = Output::stdout(Format::Text, ColorChoice::Never);
        held.output(&like).unwrap().say(|page| page.line("two")).unwrap();
        let long = vec![b'x'; 200_000];
        held.file().unwrap().write_all(&long).unwrap();
        let mut copied = Vec::new();
        held.copy(&mut copied).unwrap();
        assert_eq!(copied, [b"one\ntwo\n", long.as_slice()].concat());
    }
}
