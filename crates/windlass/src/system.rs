//! Texts of the program that differ by system.

/// Returns one text on Linux and another on systems without the commands that need Linux.
pub(crate) const fn by_system(linux: &'static str, elsewhere: &'static str) -> &'static str {
    if cfg!(target_os = "linux") { linux } else { elsewhere }
}

/// Returns a text about commands that need Linux; empty on other systems.
pub(crate) const fn on_linux(text: &'static str) -> &'static str {
    by_system(text, "")
}
