//! `windlass archive`: runs the separate program windlass-archive.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use windlass_base::Failure;

/// Name of the program.
const PROGRAM: &str = "windlass-archive";

/// Arguments to pass on.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass archive add /captures --into archive
  windlass archive sql --from archive \"select count(*) from connections\"
  windlass archive add --help          help of the subcommand add")]
pub struct ArchiveArgs {
    /// Arguments of windlass-archive: add, sql, compact and others
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// Returns true if it is executable.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Finds the program beside this one, else in PATH.
fn find(own: Option<PathBuf>, path: Option<OsString>) -> Option<PathBuf> {
    let beside = own.and_then(|own| Some(own.parent()?.to_owned()));
    let path = path.unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    // An empty part of PATH is the current folder, where any user may have put a program.
    let folders = folders.filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(PROGRAM)).find(|program| is_program(program))
}

/// Replaces this process by the program.
pub fn run(args: &ArchiveArgs) -> anyhow::Result<()> {
    let doing = "cannot run windlass-archive";
    let own = env::current_exe().ok();
    let Some(program) = find(own, env::var_os("PATH")) else {
        let wrong = "it is neither beside windlass nor in PATH";
        return Err(Failure::new(doing, wrong)
            .advise(
                "It is a separate program with a query engine. To install it from windlass's \
                 repository: cargo install --path archive --locked",
            )
            .into());
    };
    // `exec` returns only if it failed.
    let error = Command::new(&program).args(&args.arguments).exec();
    let doing = format!("cannot run {}", program.display());
    Err(Failure::new(doing, error).advise("Reinstall it.").into())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn it_is_looked_for_beside_windlass_and_in_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["bin", "path", "data"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join(PROGRAM), "").unwrap();
        }
        for name in ["bin", "path"] {
            fs::set_permissions(at(name).join(PROGRAM), Permissions::from_mode(0o755)).unwrap();
        }
        let path =
            |names: &[&str]| Some(env::join_paths(names.iter().map(|name| at(name))).unwrap());
        let own = |name: &str| Some(at(name).join("windlass"));
        assert_eq!(find(own("bin"), path(&["path"])), Some(at("bin").join(PROGRAM)));
        // A file that cannot be run is skipped.
        assert_eq!(find(own("data"), path(&["data", "path"])), Some(at("path").join(PROGRAM)));
        assert_eq!(find(own("data"), path(&["data"])), None);
        assert_eq!(find(None, Some("".into())), None);
        assert_eq!(find(None, None), None);
    }
}
