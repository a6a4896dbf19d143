//! Files and folders that only their owner may read, on systems with permissions. On Windows, a
//! user's own folders already belong to that user alone.

use std::fs::{DirBuilder, OpenOptions};

/// Creates files with permissions for their owner alone.
#[cfg(unix)]
pub(crate) fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

/// Creates folders with permissions for their owner alone.
#[cfg(unix)]
pub(crate) fn folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

/// Creates files with the permissions of their folder.
#[cfg(not(unix))]
pub(crate) const fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Creates folders with the permissions of their parent.
#[cfg(not(unix))]
pub(crate) const fn folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}
