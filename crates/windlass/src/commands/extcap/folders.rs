//! The user's Wireshark folders.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_base::Failure;

/// Returns the folder of extcap programs.
///
/// # Errors
/// Returns an error if neither tshark nor the environment names it.
pub(super) fn extcap() -> Result<PathBuf, Failure> {
    // Format of Wireshark from version 4.2 on.
    told(extcap_of, ".local/lib/wireshark/extcap", "extcap folder", "--folder")
}

/// Returns the folder of settings and profiles.
///
/// # Errors
/// Returns an error if neither tshark nor the environment names it.
pub(super) fn settings() -> Result<PathBuf, Failure> {
    told(settings_of, ".config/wireshark", "Wireshark settings", "--settings")
}

fn told(
    of: impl Fn(&[u8]) -> Option<PathBuf>,
    else_in_home: &str,
    what: &str,
    option: &str,
) -> Result<PathBuf, Failure> {
    let told = Command::new("tshark")
        .args(["-G", "folders"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    if let Some(folder) = told.ok().and_then(|output| of(&output.stdout)) {
        return Ok(folder);
    }
    match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(Path::new(&home).join(else_in_home)),
        None => Err(Failure::usage(format!("cannot find your {what}"), "HOME is not set").advise(
            format!("Give it with {option}. In Wireshark: Help > About Wireshark > Folders."),
        )),
    }
}

/// Returns a folder from the output of `tshark -G folders`.
fn named(printed: &[u8], name: &str) -> Option<PathBuf> {
    printed.split(|byte| *byte == b'\n').find_map(|line| {
        let path = line.strip_prefix(name.as_bytes())?.strip_prefix(b":")?.trim_ascii();
        path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
    })
}

fn settings_of(printed: &[u8]) -> Option<PathBuf> {
    named(printed, "Personal configuration")
}

/// Before version 4.2 the folder is not named; it was in the settings folder.
fn extcap_of(printed: &[u8]) -> Option<PathBuf> {
    let of_settings = || settings_of(printed).map(|path| path.join("extcap"));
    named(printed, "Personal Extcap path").or_else(of_settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_each_version_has_it() {
        let new = "Temp:                \t/tmp\n\
             Personal configuration:\t/home/me/.config/wireshark\n\
             Personal Extcap path:\t/home/me/.local/lib/wireshark/extcap\n\
             Global Extcap path:  \t/usr/lib/wireshark/extcap\n";
        let old = "Personal configuration:\t/home/me/.config/wireshark\n\
             Extcap path:         \t/usr/lib/wireshark/extcap\n";
        let folder = |text: &str| extcap_of(text.as_bytes());
        assert_eq!(folder(new), Some("/home/me/.local/lib/wireshark/extcap".into()));
        assert_eq!(folder(old), Some("/home/me/.config/wireshark/extcap".into()));
        assert_eq!(folder(""), None);
        assert_eq!(folder("Personal Extcap path:\n"), None);
        assert_eq!(folder("Personal Extcap path:\trelative\n"), None);
        assert_eq!(settings_of(old.as_bytes()), Some("/home/me/.config/wireshark".into()));
    }
}
