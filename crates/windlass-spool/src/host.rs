//! Name of this host.

use std::fs;

/// Returns the name of this host, without its domain.
pub(crate) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().split('.').next().unwrap_or_default();
    let fine: String =
        name.chars().filter(|one| one.is_ascii_alphanumeric() || *one == '-').take(63).collect();
    if fine.is_empty() { "windlass".to_owned() } else { fine }
}
