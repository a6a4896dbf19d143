//! Access rights of the settings.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_base::Failure;
use windlass_spool::{
    Access, Certificate, DeviceLogins, LocalRights, Names, Origin, Passwords, Policy, Principal,
    Rights, SimpleAccess, net,
};

use super::args::{LOCAL, ServeArgs};
use super::config::{Config, PolicyConfig};
use super::values::{all, read, wrong};
use crate::commands::print::whole_host_name;

/// Values of `may` in a policy.
const MAY: [&str; 5] = ["print", "see", "own-jobs", "administer", "nothing"];

/// Returns the access rights: from policies, or from the plain settings.
pub(super) fn access(args: &ServeArgs, config: &Config) -> Result<Access, Failure> {
    let usual = SimpleAccess::default();
    let clients = all("allow", &args.allow, &config.allow, net)?;
    let admins = all("admin", &args.admin, &config.admin, net)?;
    let local = args.local.or(read("local", config.local.as_ref(), local)?);
    if config.policy.is_empty() {
        let admin_users = config.admin_users.as_ref();
        let users = |words: &Vec<String>| words.iter().map(|word| Principal::new(word)).collect();
        let admin_users = admin_users.map_or(usual.admin_users, users);
        let local = local.unwrap_or_default();
        return Ok(Access::plain(SimpleAccess { clients, admins, admin_users, local }));
    }
    let said = [
        ("allow", !clients.is_empty()),
        ("admin", !admins.is_empty()),
        ("admin-users", config.admin_users.is_some()),
        ("local", local.is_some()),
    ];
    if let Some((setting, _)) = said.iter().find(|(_, is_said)| *is_said) {
        let what = "policies replace this setting: write a policy instead";
        return Err(wrong(setting, what));
    }
    let policies = config.policy.iter().enumerate();
    let policies = policies.map(|(place, one)| policy(one, place + 1));
    Ok(Access::new(policies.collect::<Result<_, _>>()?))
}

fn local(text: &str) -> Result<LocalRights, String> {
    let found = LOCAL.iter().find(|(word, ..)| *word == text);
    found
        .map(|(_, _, local)| *local)
        .ok_or_else(|| format!("{text:?} must be administer, print or nothing"))
}

fn policy(one: &PolicyConfig, number: usize) -> Result<Policy, Failure> {
    let no = |what: String| wrong("policy", format!("number {number}: {what}"));
    let from = one.from.iter().map(|word| {
        let wrong = |error| format!("from: {error}; or this-host, or socket");
        word.parse::<Origin>().map_err(wrong)
    });
    let mut rights = Rights { believed: one.believe_names, ..Rights::NONE };
    for word in &one.may {
        match word.as_str() {
            "print" => rights.print = true,
            "see" => rights.see = true,
            "own-jobs" => rights.own = true,
            "administer" => rights = Rights { believed: one.believe_names, ..Rights::ALL },
            "nothing" if one.may.len() == 1 => {}
            _ => return Err(no(format!("may: {word:?} must be one of {}", MAY.join(", ")))),
        }
    }
    if one.may.is_empty() {
        return Err(no("may: the list is empty; write nothing to forbid everything".to_owned()));
    }
    if let Some(empty) = one.users.iter().find(|word| matches!(word.as_str(), "" | "@")) {
        return Err(no(format!("users: {empty:?} is not a name: write ann, @lpadmin or *")));
    }
    Ok(Policy {
        from: from.collect::<Result<_, _>>().map_err(no)?,
        users: one.users.iter().map(|word| Principal::new(word)).collect(),
        rights: if one.may == ["nothing"] { Rights::NONE } else { rights },
    })
}

/// Returns the files of the certificate and its key, for TLS.
pub(super) fn certificate_files(
    args: &ServeArgs,
    config: &Config,
) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let files = match (&args.certificate, &args.key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => match (&config.certificate, &config.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(wrong("certificate", "give both certificate and key")),
        },
    };
    if files.is_none() && !(args.tls.is_empty() && config.tls.is_empty()) {
        let what = "there is no certificate: windlass spool certificate makes one";
        return Err(wrong("tls", what));
    }
    Ok(files.map(|(certificate, key)| (certificate.clone(), key.clone())))
}

/// Reads the certificate of the server, for TLS.
pub(super) fn certificate(
    files: Option<&(PathBuf, PathBuf)>,
) -> Result<Option<Certificate>, Failure> {
    let read = files.map(|(certificate, key)| Certificate::read(certificate, key));
    read.transpose().map_err(|error| {
        Failure::new("cannot run the spool server with TLS", error)
            .advise("Both files must be PEM. windlass spool certificate makes them.")
    })
}

/// Reads names and passwords for devices.
pub(super) fn device_logins(config: &Config) -> Result<DeviceLogins, Failure> {
    let opened = config.device_passwords.as_deref().map(DeviceLogins::open).transpose();
    let opened = opened.map_err(|error| {
        Failure::new("cannot use the passwords for devices", error)
            .advise("docs/spool-serve.md has an example of the file.")
    })?;
    Ok(opened.unwrap_or_default())
}

/// Reads the users with passwords.
pub(super) fn passwords(
    args: &ServeArgs,
    config: &Config,
) -> Result<Option<Arc<Passwords>>, Failure> {
    let path = args.passwords.as_ref().or(config.passwords.as_ref());
    let read = path.map(|path| Passwords::open(path).map(Arc::new));
    read.transpose().map_err(|error| {
        Failure::new("cannot use the password file", error)
            .advise("windlass spool password FILE USER makes the file.")
    })
}

/// Returns the names that clients may use for this server.
pub(super) fn names(args: &ServeArgs, config: &Config) -> Names {
    let more = if args.name.is_empty() { &config.names } else { &args.name };
    Names::new(&whole_host_name(), more)
}
