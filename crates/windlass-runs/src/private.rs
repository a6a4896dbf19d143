//! Files and folders that nobody else may read, where the system has rights for that. On
//! Windows what lies in a user's own folders is the user's.

use std::fs::{DirBuilder, OpenOptions};

/// Files that are made so are their owner's.
#[cfg(unix)]
pub(crate) fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

/// Folders that are made so are their owner's.
#[cfg(unix)]
pub(crate) fn folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

/// Files that are made so are as their folder is.
#[cfg(not(unix))]
pub(crate) const fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Folders that are made so are as that is in which they are.
#[cfg(not(unix))]
pub(crate) const fn folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}
