//! What the program says of itself on one system and not on another.

/// A text where the commands that take Linux are there, and another where they are not.
pub(crate) const fn by_system(linux: &'static str, elsewhere: &'static str) -> &'static str {
    if cfg!(target_os = "linux") { linux } else { elsewhere }
}

/// A text on what takes Linux: nothing where that is not there.
pub(crate) const fn on_linux(text: &'static str) -> &'static str {
    by_system(text, "")
}
