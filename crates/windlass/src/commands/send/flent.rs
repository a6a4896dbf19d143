//! `windlass send --flent`: a test as a data file of flent's.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use windlass_base::Failure;
use windlass_runs::flent;

use crate::commands::print::whole_host_name;
use crate::files::WholeFile;

/// Writes the record of a test for flent.
pub(super) fn write(record: &impl Serialize, path: &Path) -> Result<(), Failure> {
    let doing = || format!("cannot write {} for flent", path.display());
    let no = |error: io::Error| Failure::new(doing(), error);
    let record = serde_json::to_value(record).map_err(|error| no(error.into()))?;
    let data = flent::dataset(&record, &whole_host_name())
        .map_err(|wrong| Failure::new(doing(), wrong))?;
    let file = WholeFile::create(path).map_err(no)?;
    let mut packed = GzEncoder::new(file.writer().map_err(no)?, Compression::default());
    serde_json::to_writer(&mut packed, &data).map_err(|error| no(error.into()))?;
    packed.finish().and_then(|mut file| file.flush()).map_err(no)?;
    file.take_name().map_err(no)
}
