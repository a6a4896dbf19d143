//! Limits and users of the commands of `exec:` devices.

use std::time::Duration;

use windlass_print::Protocol;
use windlass_spool_core::{Device, PrinterSettings};
use windlass_sys::account::Account;
use windlass_sys::privileges::{Identity, may_become_others};

use crate::filters::Filters;

/// Limits and the user of the commands of `exec:` devices.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// User of the commands whose printers name none. `None`: the server's own user.
    pub user: Option<String>,
    /// Maximum time of a command for one job.
    pub time: Duration,
    /// Maximum private memory of each process of a command, in bytes.
    pub memory: u64,
    /// Maximum size of each file that a command writes, in bytes.
    pub output: u64,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self { user: None, time: Duration::from_secs(3_600), memory: 1 << 30, output: 16 << 30 }
    }
}

/// Users that the commands of a server's printers run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAs {
    /// Names of the users, separated by commas.
    pub users: String,
    /// True if any of the users differs from the server's own user.
    pub has_others: bool,
}

/// Default users of commands, if none is named and the server may switch users: the user of CUPS's
/// filters, or the owner of nothing.
const USUAL: [&str; 2] = ["lp", "nobody"];

impl CommandSettings {
    /// Chooses the user of commands if none is named, and checks that every user named by these
    /// printers exists. Returns the users; `None` if no printer has a command and filters convert
    /// nothing. The server becomes `server` before it runs any command.
    ///
    /// # Errors
    /// A user does not exist, or this process may not become that user.
    pub fn settle(
        &mut self,
        printers: &[PrinterSettings],
        server: Option<&str>,
        converts: bool,
    ) -> Result<Option<RunAs>, String> {
        let is_root = may_become_others();
        let server = server.map(user).transpose()?;
        let own = server.map_or(Identity::own().user, |server| server.identity.user);
        let is_another = |account: Account| account.identity.user != own;
        if self.user.is_none() && is_root {
            let is_usable = |name: &&str| user(name).is_ok_and(is_another);
            self.user = USUAL.into_iter().find(is_usable).map(str::to_owned);
        }
        let filters = converts && self.user.is_some() && Filters::are_here();
        let has_command = |one: &&PrinterSettings| match &one.device {
            Device::Command(_) => true,
            Device::Target(target) => filters && target.protocol == Protocol::Ipp,
            Device::Drop | Device::File(_) => false,
        };
        let with_commands: Vec<_> = printers.iter().filter(has_command).collect();
        if with_commands.is_empty() {
            return Ok(None);
        }
        let (mut users, mut has_others) = (Vec::new(), false);
        for printer in with_commands {
            let name = match printer.user.as_deref().or(self.user.as_deref()) {
                Some(name) if is_another(user(name)?) => {
                    if !is_root {
                        return Err(format!("only root can run commands as {name}"));
                    }
                    has_others = true;
                    name
                }
                Some(name) => name,
                None if is_root => {
                    return Err(format!("there is no user {} on this host", USUAL.join(" or ")));
                }
                None => "this user",
            };
            if !users.contains(&name) {
                users.push(name);
            }
        }
        Ok(Some(RunAs { users: users.join(", "), has_others }))
    }
}

/// Returns the user that a command runs as, if that is not the server's own user.
pub(crate) fn another_user(name: Option<&str>) -> Result<Option<Account>, String> {
    let wanted = name.map(user).transpose()?;
    let wanted = wanted.filter(|account| account.identity.user != Identity::own().user);
    match &wanted {
        Some(account) if !may_become_others() => Err(format!(
            "the server has given up the right to run commands as {}: it keeps the right only if \
             a printer has a command at the start",
            account.name
        )),
        _ => Ok(wanted),
    }
}

/// Returns the account of a user of this host.
pub(crate) fn user(name: &str) -> Result<Account, String> {
    Account::named(name).ok_or_else(|| format!("there is no user {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printer(device: &str, user: Option<&str>) -> PrinterSettings {
        let device = device.parse().expect("a device");
        PrinterSettings { user: user.map(str::to_owned), ..PrinterSettings::new("a", device) }
    }

    #[test]
    fn whom_commands_run_as_is_known_at_the_start() {
        let settled = |printers: &[PrinterSettings], server| {
            CommandSettings::default().settle(printers, server, false)
        };
        assert_eq!(settled(&[printer("drop", Some("no-such-user"))], None), Ok(None));
        let no = settled(&[printer("exec:true", Some("no-such-user"))], None);
        assert_eq!(no.expect_err("nobody is it"), "there is no user \"no-such-user\"");
        let both = [printer("exec:true", None), printer("exec:true", Some("root"))];
        let usual = settled(&both[..1], None).expect("somebody is it").expect("for a command");
        if may_become_others() {
            assert!(USUAL.contains(&usual.users.as_str()) && usual.has_others, "{usual:?}");
            let all = settled(&both, None).expect("all are there").expect("for commands");
            assert_eq!(all.users, format!("{}, root", usual.users));
            // Commands do not run as the server does, unless that was said.
            let other = settled(&both[..1], Some(&usual.users)).expect("another is it");
            assert_ne!(other.expect("for a command").users, usual.users);
        } else {
            assert_eq!(usual, RunAs { users: "this user".to_owned(), has_others: false });
            assert!(settled(&both, None).is_err());
        }
    }
}
