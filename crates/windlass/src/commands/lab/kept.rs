//! The captures of `--keep`, which get their names when they are complete.

use std::io::{self, BufWriter};

use windlass_base::Failure;
use windlass_lab::{Keeper, Row};

use super::LabArgs;
use crate::files::WholeFile;

/// The file of a capture.
pub(super) struct KeptCapture(WholeFile);

impl KeptCapture {
    /// Returns the capture file of a row, if captures are kept and none has failed.
    pub(super) fn of(
        args: &LabArgs,
        row: &Row,
        unwritable: &mut Option<Failure>,
    ) -> Option<(Keeper, Self)> {
        let directory = args.keep.as_deref().filter(|_| unwritable.is_none())?;
        let path = directory.join(row.file_name());
        let create = || {
            std::fs::create_dir_all(directory)?;
            let file = WholeFile::create(&path)?;
            let out = BufWriter::with_capacity(1 << 20, file.writer()?);
            Ok((Keeper::new(Box::new(out), row.bytes), Self(file)))
        };
        let cannot = |error: io::Error| *unwritable = Some(forbidden(&path, &error));
        create().map_err(cannot).ok()
    }

    fn finish(self, keeper: Keeper) -> Result<String, Failure> {
        let path = self.0.path().to_owned();
        let name = path.display().to_string();
        keeper.finish().map_err(|wrong| {
            Failure::new(format!("cannot write {name}"), wrong)
                .advise("Free some space, or write elsewhere.")
        })?;
        self.0.take_name().map_err(|error| forbidden(&path, &error))?;
        Ok(name)
    }
}

fn forbidden(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}", path.display()), error)
        .advise("Check the directory and the permission to write there.")
}

/// Returns the path of a row's complete capture.
pub(super) fn finish(
    kept: Option<(KeptCapture, Keeper)>,
    unwritable: &mut Option<Failure>,
) -> Option<String> {
    let (kept, keeper) = kept?;
    kept.finish(keeper).map_err(|failure| *unwritable = Some(failure)).ok()
}
