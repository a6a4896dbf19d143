//! Rights of root that a server keeps if root starts it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use windlass_sys::folder::Folder;
use windlass_sys::privileges::Identity;
use windlass_sys::rights::{Right, keep_only};

use crate::commands::{RunAs, user};

/// Gives up all rights of root that a server does not need once its ports are open. Switches to a
/// user if one is named, who gets the spool folder first. Returns the rights that are kept; `None`
/// if the process was not started by root.
///
/// Call this before the process has a second thread.
///
/// # Errors
/// The user does not exist, or this process may not become that user.
pub fn give_up_rights(
    name: Option<&str>,
    spool: Option<&Path>,
    run_as: Option<&RunAs>,
) -> Result<Option<String>, String> {
    let account = name.map(user).transpose()?;
    if Identity::own().user != 0 {
        let is_other = |account| user_of(account) != Identity::own().user;
        return match &account {
            Some(account) if is_other(account) => {
                Err(format!("only root can switch to {:?}", account.name))
            }
            _ => Ok(None),
        };
    }
    let account = account.filter(|account| user_of(account) != 0);
    let mut rights = vec![(Right::LowPorts, "to listen on ports below 1024")];
    if account.is_none() {
        // Its devices may be files anywhere, and of any owner.
        rights.push((Right::Files, "to write files"));
    }
    if run_as.is_some_and(|run_as| run_as.has_others) {
        rights.push((Right::Others, "to run commands as other users"));
    }
    if let (Some(account), Some(folder)) = (&account, spool) {
        give_folder(folder, account.identity).map_err(|error| {
            format!("cannot give {} to {}: {error}", folder.display(), account.name)
        })?;
    }
    let kept: Vec<Right> = rights.iter().map(|(right, _)| *right).collect();
    let name = account.as_ref().map_or("root", |account| &account.name);
    keep_only(&kept, account.as_ref())
        .map_err(|error| format!("cannot switch to {name}: {error}"))?;
    let words: Vec<&str> = rights.iter().map(|(_, words)| *words).collect();
    Ok(Some(format!("runs as {name} and keeps these rights of root: {}", words.join(", "))))
}

const fn user_of(account: &windlass_sys::account::Account) -> u32 {
    account.identity.user
}

/// Creates the folder of a spool if there is none, and gives the folder to a user.
fn give_folder(path: &Path, who: Identity) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    Folder::open(path)?.map_or(Ok(()), |folder| folder.give_to(who))
}
