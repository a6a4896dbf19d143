//! `windlass archive`: the program of archives, which is another one.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use windlass_base::Failure;

/// What the program is called.
const PROGRAM: &str = "windlass-archive";

/// What is handed on.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass archive add /captures --into archive
  windlass archive sql --from archive \"select count(*) from connections\"
  windlass archive add --help          what the program says of its commands")]
pub struct ArchiveArgs {
    /// The arguments of windlass-archive: add, sql, compact and others
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// Whether it can be run.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The program: beside this one, else where programs are looked for.
fn find(own: Option<PathBuf>, path: Option<OsString>) -> Option<PathBuf> {
    let beside = own.and_then(|own| Some(own.parent()?.to_owned()));
    let path = path.unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    // An empty part of PATH is the folder one is in, where anybody may have put a program.
    let folders = folders.filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(PROGRAM)).find(|program| is_program(program))
}

/// Becomes the program.
pub fn run(args: &ArchiveArgs) -> anyhow::Result<()> {
    let doing = "cannot run windlass-archive";
    let own = env::current_exe().ok();
    let Some(program) = find(own, env::var_os("PATH")) else {
        let wrong = "it is installed neither beside windlass nor in PATH";
        return Err(Failure::new(doing, wrong)
            .advise(
                "It is a program of its own, as it brings a query engine. In windlass's \
                 repository: cargo install --path archive --locked",
            )
            .into());
    };
    // It comes back only where that failed.
    let error = Command::new(&program).args(&args.arguments).exec();
    let doing = format!("cannot run {}", program.display());
    Err(Failure::new(doing, error).advise("Install it anew.").into())
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
        // What cannot be run is none.
        assert_eq!(find(own("data"), path(&["data", "path"])), Some(at("path").join(PROGRAM)));
        assert_eq!(find(own("data"), path(&["data"])), None);
        assert_eq!(find(None, Some("".into())), None);
        assert_eq!(find(None, None), None);
    }
}
