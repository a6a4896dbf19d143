//! Delivery of jobs to files, devices and folders of this host.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use windlass_sys::folder::{Folder, create_or_open};

use super::{Delivery, PIECE, broken_off};

impl Delivery<'_> {
    /// Writes the job to a file or device. In a folder, each job becomes a file of its own, whole
    /// or not at all: the file gets its name last. The name consists of numbers and the printer's
    /// name alone.
    ///
    /// If jobs must survive a loss of power, the file is synced before the job counts as delivered:
    /// first the data, then the name.
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

    /// Copies all passes that are left, within the kernel if the file takes its bytes at once.
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
