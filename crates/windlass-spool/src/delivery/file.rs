//! Jobs for files, devices and folders of this host.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use windlass_sys::folder::{Folder, create_or_open};

use super::{Delivery, PIECE, broken_off};

impl Delivery<'_> {
    /// Into a folder each job goes as a file of its own, whole or not at all: it has its
    /// name when it has its data. What it is called is made of numbers and of the printer's
    /// name alone.
    ///
    /// Where jobs are to outlive a loss of power, a file does so before its job counts as
    /// delivered: the data first, and then its name.
    pub(super) fn to_file(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        let mode = self.printer.mode;
        if let Some(folder) = Folder::open(path)? {
            let mut new = folder.create(mode)?;
            self.copy_to_file(new.file(), buffer)?;
            if self.is_synced {
                new.file().sync_all()?;
            }
            if !(self.may_end)() {
                return Err(broken_off());
            }
            new.publish(&format!("{}-{:08}", self.printer.name, self.work.id))?;
            return if self.is_synced { folder.sync() } else { Ok(()) };
        }
        let (mut file, is_new) = create_or_open(path, mode)?;
        self.copy_to_file(&mut file, buffer)?;
        if self.is_synced && file.metadata()?.is_file() {
            file.sync_all()?;
            let folder = path.parent().filter(|_| is_new).map(Folder::open).transpose()?;
            if let Some(folder) = folder.flatten() {
                folder.sync()?;
            }
        }
        Ok(())
    }

    /// Copies all that is to be printed, with the kernel's help where the file takes its
    /// bytes at once.
    fn copy_to_file(&self, to: &mut File, buffer: &mut Vec<u8>) -> io::Result<()> {
        let kind = to.metadata()?.file_type();
        if !kind.is_file() && !kind.is_char_device() {
            return self.copy(to, buffer);
        }
        let mut rest = self.rest();
        while let Some(mut from) = rest.next_document() {
            while from.copy_to(to, PIECE)? > 0 {
                self.goes_on()?;
            }
        }
        Ok(())
    }
}
