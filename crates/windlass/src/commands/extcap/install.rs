//! Installation in Wireshark's folder of extcap programs.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_base::Failure;

use super::folders;
use super::own::{PathContents, look};
use crate::files::WholeFile;

/// Name of the script.
const NAME: &str = "windlass";

/// Line that marks a script as written by windlass.
const MARK: &str = "# Written by `windlass extcap --install`; `--uninstall` removes it.";

/// Writes the script; returns a message with its path.
pub(super) fn put(folder: Option<&Path>) -> Result<String, Failure> {
    let folder = place(folder)?;
    let path = folder.join(NAME);
    let doing = || format!("cannot write {}", path.display());
    let unwritable = |error: io::Error| {
        Failure::new(doing(), error)
            .advise("Check the permission to write there, or give --folder.")
    };
    if look(&path, is_own).map_err(unwritable)? == PathContents::Other {
        return Err(Failure::new(doing(), "the file exists, and windlass has not written it")
            .advise("Move it away, or give another --folder."));
    }
    let own = std::env::current_exe()
        .map_err(|error| Failure::new("cannot find the path of windlass", error))?;
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
         Start Wireshark, or choose Capture > Refresh Interfaces: its list then has \
         `windlass: ring` and `windlass: emulated device`.\n\
         The ring needs a privilege, once: sudo setcap cap_net_raw=ep {}\n",
        path.display(),
        own.display(),
        own.display()
    ))
}

/// Removes the script.
pub(super) fn take(folder: Option<&Path>) -> Result<String, Failure> {
    let path = place(folder)?.join(NAME);
    let doing = || format!("cannot remove {}", path.display());
    match look(&path, is_own).map_err(|error| Failure::new(doing(), error))? {
        PathContents::Nothing => Ok(format!("There is no {}\n", path.display())),
        PathContents::Other => Err(Failure::new(doing(), "windlass has not written it")),
        PathContents::Own => {
            fs::remove_file(&path).map_err(|error| Failure::new(doing(), error))?;
            Ok(format!("Removed {}\n", path.display()))
        }
    }
}

/// Returns the folder of the script.
fn place(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    asked.map_or_else(folders::extcap, |folder| Ok(folder.to_owned()))
}

/// Returns the shell script: Wireshark cannot pass `extcap` as the first argument.
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

/// Returns true if windlass has written the script.
fn is_own(text: &str) -> bool {
    text.lines().nth(1) == Some(MARK)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_script_runs_a_program_of_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's a \"$program\"");
        fs::write(&program, "#!/bin/sh\nprintf '<%s>' \"$@\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("script");
        fs::write(&path, script(&program)).unwrap();
        assert_eq!(look(&path, is_own).unwrap(), PathContents::Own);
        let output = Command::new("sh").arg(&path).args(["a b", "*"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "<extcap><a b><*>");
    }

    #[test]
    fn only_its_own_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        assert_eq!(look(&path, is_own).unwrap(), PathContents::Nothing);
        for text in ["", "#!/bin/sh\nexec other\n", "#!/bin/sh\n\n# Written by `windlass"] {
            fs::write(&path, text).unwrap();
            assert_eq!(look(&path, is_own).unwrap(), PathContents::Other, "{text}");
        }
        let (script_path, own) = (folder.path().join("own"), script(Path::new("/bin/true")));
        fs::write(&script_path, own).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&script_path, &path).unwrap();
        assert_eq!(look(&path, is_own).unwrap(), PathContents::Other, "a link is somebody's");
    }
}
