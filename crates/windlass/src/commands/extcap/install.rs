//! Putting windlass into Wireshark's folder of extcap programs.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_base::Failure;

use crate::files::WholeFile;

/// What the script is called.
const NAME: &str = "windlass";

/// The line by which a script of windlass's is known.
const MARK: &str = "# Written by `windlass extcap --install`; `--uninstall` removes it.";

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    /// A script that windlass has written.
    Own,
    Other,
}

/// Writes the script; tells where it is.
pub(super) fn put(folder: Option<&Path>) -> Result<String, Failure> {
    let folder = personal(folder)?;
    let path = folder.join(NAME);
    let doing = || format!("cannot write {}", path.display());
    let unwritable = |error: io::Error| {
        Failure::new(doing(), error).advise("Check the right to write there, or give --folder.")
    };
    if look(&path).map_err(unwritable)? == There::Other {
        return Err(Failure::new(doing(), "something is there that windlass has not written")
            .advise("Move it away, or give another --folder."));
    }
    let own = std::env::current_exe()
        .map_err(|error| Failure::new("cannot tell where windlass is", error))?;
    fs::create_dir_all(&folder).map_err(unwritable)?;
    // Wireshark never finds half a script.
    let write = || {
        let file = WholeFile::create(&path)?;
        let mut out = file.writer()?;
        out.write_all(&script(&own))?;
        out.set_permissions(fs::Permissions::from_mode(0o755))?;
        file.take_name()
    };
    write().map_err(unwritable)?;
    Ok(format!(
        "{} runs {}\n\
         Start Wireshark, or choose Capture > Refresh Interfaces: `windlass: ring` and \
         `windlass: emulated device` are in its list.\n\
         The ring takes a right, once: sudo setcap cap_net_raw=ep {}\n",
        path.display(),
        own.display(),
        own.display()
    ))
}

/// Removes the script.
pub(super) fn take(folder: Option<&Path>) -> Result<String, Failure> {
    let path = personal(folder)?.join(NAME);
    let doing = || format!("cannot remove {}", path.display());
    match look(&path).map_err(|error| Failure::new(doing(), error))? {
        There::Nothing => Ok(format!("There is no {}\n", path.display())),
        There::Other => Err(Failure::new(doing(), "windlass has not written it")),
        There::Own => {
            fs::remove_file(&path).map_err(|error| Failure::new(doing(), error))?;
            Ok(format!("Removed {}\n", path.display()))
        }
    }
}

/// The script: a shell's, because Wireshark gives no words before its own.
fn script(program: &Path) -> Vec<u8> {
    let mut script = format!("#!/bin/sh\n{MARK}\nexec '").into_bytes();
    for byte in program.as_os_str().as_bytes() {
        match byte {
            b'\'' => script.extend(br"'\''"),
            byte => script.push(*byte),
        }
    }
    script.extend(b"' extcap \"$@\"\n");
    script
}

fn look(path: &Path) -> io::Result<There> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(error),
        // A long file is none of ours, and need not be read.
        Ok(about) if !about.is_file() || about.len() > 65_536 => return Ok(There::Other),
        Ok(_) => {}
    }
    let text = fs::read(path)?;
    let second = text.split(|byte| *byte == b'\n').nth(1);
    Ok(if second == Some(MARK.as_bytes()) { There::Own } else { There::Other })
}

/// The folder in which Wireshark looks for programs of this user.
fn personal(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(folder) = asked {
        return Ok(folder.to_owned());
    }
    let told = Command::new("tshark")
        .args(["-G", "folders"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    if let Some(folder) = told.ok().and_then(|output| told_by_tshark(&output.stdout)) {
        return Ok(folder);
    }
    // As Wireshark has it from version 4.2 on.
    match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(Path::new(&home).join(".local/lib/wireshark/extcap")),
        None => Err(Failure::usage("cannot tell where your extcap folder is", "HOME is not set")
            .advise("Give it with --folder. In Wireshark: Help > About Wireshark > Folders.")),
    }
}

/// The folder by what `tshark -G folders` prints. Before version 4.2 it does not
/// name it: it was in that of the settings.
fn told_by_tshark(printed: &[u8]) -> Option<PathBuf> {
    let folder = |name: &str| {
        printed.split(|byte| *byte == b'\n').find_map(|line| {
            let path = line.strip_prefix(name.as_bytes())?.strip_prefix(b":")?.trim_ascii();
            path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
        })
    };
    let of_settings = || folder("Personal configuration").map(|path| path.join("extcap"));
    folder("Personal Extcap path").or_else(of_settings)
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
        let folder = |text: &str| told_by_tshark(text.as_bytes());
        assert_eq!(folder(new), Some("/home/me/.local/lib/wireshark/extcap".into()));
        assert_eq!(folder(old), Some("/home/me/.config/wireshark/extcap".into()));
        assert_eq!(folder(""), None);
        assert_eq!(folder("Personal Extcap path:\n"), None);
        assert_eq!(folder("Personal Extcap path:\trelative\n"), None);
    }

    #[test]
    fn a_script_runs_a_program_of_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's a \"$program\"");
        fs::write(&program, "#!/bin/sh\nprintf '<%s>' \"$@\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("script");
        fs::write(&path, script(&program)).unwrap();
        assert_eq!(look(&path).unwrap(), There::Own);
        let output = Command::new("sh").arg(&path).args(["a b", "*"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "<extcap><a b><*>");
    }

    #[test]
    fn only_its_own_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        assert_eq!(look(&path).unwrap(), There::Nothing);
        for text in ["", "#!/bin/sh\nexec other\n", "#!/bin/sh\n\n# Written by `windlass"] {
            fs::write(&path, text).unwrap();
            assert_eq!(look(&path).unwrap(), There::Other, "{text}");
        }
        let (script_path, own) = (folder.path().join("own"), script(Path::new("/bin/true")));
        fs::write(&script_path, own).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&script_path, &path).unwrap();
        assert_eq!(look(&path).unwrap(), There::Other, "a link is somebody's");
    }
}
