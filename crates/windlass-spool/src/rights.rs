//! What a server that root begins keeps of root's rights.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use windlass_sys::folder::Folder;
use windlass_sys::privileges::Identity;
use windlass_sys::rights::{Right, keep_only};

use crate::commands::{RunAs, user};

/// Gives up all rights of root that a server does not need once it has its addresses, and
/// becomes a user where one is named: the folder of its spool goes to that one first. Tells
/// what is left; nothing where it was not begun by root.
///
/// It is to be called before there is another thread.
///
/// # Errors
/// Where there is no such user, or this process may not become that one.
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
                Err(format!("only root can become {:?}", account.name))
            }
            _ => Ok(None),
        };
    }
    let account = account.filter(|account| user_of(account) != 0);
    let mut rights = vec![(Right::LowPorts, "to listen at ports below 1024")];
    if account.is_none() {
        // It may be told to write anywhere, and what is there belongs to many.
        rights.push((Right::Files, "to write files"));
    }
    if run_as.is_some_and(|run_as| run_as.has_others) {
        rights.push((Right::Others, "to run commands as others"));
    }
    if let (Some(account), Some(folder)) = (&account, spool) {
        give_folder(folder, account.identity)
            .map_err(|error| format!("give {} to {}: {error}", folder.display(), account.name))?;
    }
    let kept: Vec<Right> = rights.iter().map(|(right, _)| *right).collect();
    let name = account.as_ref().map_or("root", |account| &account.name);
    keep_only(&kept, account.as_ref()).map_err(|error| format!("become {name}: {error}"))?;
    let words: Vec<&str> = rights.iter().map(|(_, words)| *words).collect();
    Ok(Some(format!("runs as {name}; of root's rights it keeps those {}", words.join(", "))))
}

const fn user_of(account: &windlass_sys::account::Account) -> u32 {
    account.identity.user
}

/// Makes the folder of a spool where there is none, and gives it to a user.
fn give_folder(path: &Path, who: Identity) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    Folder::open(path)?.map_or(Ok(()), |folder| folder.give_to(who))
}
