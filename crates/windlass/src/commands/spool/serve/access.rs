//! Who may do what, as the settings say it.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_base::Failure;
use windlass_spool::{
    Access, Certificate, DeviceLogins, Local, Names, Passwords, Place, Plain, Policy, Rights, Who,
    net,
};

use super::args::{LOCAL, ServeArgs};
use super::config::{Config, PolicyConfig};
use super::values::{all, read, wrong};
use crate::commands::print::whole_host_name;

/// What may stand in `may` of a policy.
const MAY: [&str; 5] = ["print", "see", "own-jobs", "administer", "nothing"];

/// Who may do what: by policies, or by few words.
pub(super) fn access(args: &ServeArgs, config: &Config) -> Result<Access, Failure> {
    let usual = Plain::default();
    let clients = all("allow", &args.allow, &config.allow, net)?;
    let admins = all("admin", &args.admin, &config.admin, net)?;
    let local = args.local.or(read("local", config.local.as_ref(), local)?);
    if config.policy.is_empty() {
        let admin_users = config.admin_users.as_ref();
        let users = |words: &Vec<String>| words.iter().map(|word| Who::new(word)).collect();
        let admin_users = admin_users.map_or(usual.admin_users, users);
        let local = local.unwrap_or_default();
        return Ok(Access::plain(Plain { clients, admins, admin_users, local }));
    }
    let said = [
        ("allow", !clients.is_empty()),
        ("admin", !admins.is_empty()),
        ("admin-users", config.admin_users.is_some()),
        ("local", local.is_some()),
    ];
    if let Some((setting, _)) = said.iter().find(|(_, is_said)| *is_said) {
        let what = "there are policies, which say all of who may do what: write one for it";
        return Err(wrong(setting, what));
    }
    let policies = config.policy.iter().enumerate();
    let policies = policies.map(|(place, one)| policy(one, place + 1));
    Ok(Access::new(policies.collect::<Result<_, _>>()?))
}

fn local(text: &str) -> Result<Local, String> {
    let found = LOCAL.iter().find(|(word, ..)| *word == text);
    found
        .map(|(_, _, local)| *local)
        .ok_or_else(|| format!("{text:?} is none of administer, print and nothing"))
}

fn policy(one: &PolicyConfig, number: usize) -> Result<Policy, Failure> {
    let no = |what: String| wrong("policy", format!("number {number}: {what}"));
    let from = one.from.iter().map(|word| {
        let wrong = |error| format!("from: {error}; this-host and socket are places, too");
        word.parse::<Place>().map_err(wrong)
    });
    let mut rights = Rights { believed: one.believe_names, ..Rights::NONE };
    for word in &one.may {
        match word.as_str() {
            "print" => rights.print = true,
            "see" => rights.see = true,
            "own-jobs" => rights.own = true,
            "administer" => rights = Rights { believed: one.believe_names, ..Rights::ALL },
            "nothing" if one.may.len() == 1 => {}
            _ => return Err(no(format!("may: {word:?} is none of {}", MAY.join(", ")))),
        }
    }
    if one.may.is_empty() {
        return Err(no("may: it is empty; nothing is what nobody may".to_owned()));
    }
    if let Some(empty) = one.users.iter().find(|word| matches!(word.as_str(), "" | "@")) {
        return Err(no(format!("users: {empty:?} is no name: ann, @lpadmin or * are")));
    }
    Ok(Policy {
        from: from.collect::<Result<_, _>>().map_err(no)?,
        users: one.users.iter().map(|word| Who::new(word)).collect(),
        rights: if one.may == ["nothing"] { Rights::NONE } else { rights },
    })
}

/// The files of a certificate and its key, where TLS is spoken.
pub(super) fn certificate_files(
    args: &ServeArgs,
    config: &Config,
) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let files = match (&args.certificate, &args.key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => match (&config.certificate, &config.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(wrong("certificate", "a certificate and its key go together")),
        },
    };
    if files.is_none() && !(args.tls.is_empty() && config.tls.is_empty()) {
        let what = "there is no certificate: windlass spool certificate makes one";
        return Err(wrong("tls", what));
    }
    Ok(files.map(|(certificate, key)| (certificate.clone(), key.clone())))
}

/// What the server is known by, where TLS is spoken.
pub(super) fn certificate(
    files: Option<&(PathBuf, PathBuf)>,
) -> Result<Option<Certificate>, Failure> {
    let read = files.map(|(certificate, key)| Certificate::read(certificate, key));
    read.transpose().map_err(|error| {
        Failure::new("cannot serve a spool by TLS", error)
            .advise("Both files are in PEM. windlass spool certificate makes them.")
    })
}

/// Names and passwords for devices.
pub(super) fn device_logins(config: &Config) -> Result<DeviceLogins, Failure> {
    let opened = config.device_passwords.as_deref().map(DeviceLogins::open).transpose();
    let opened = opened.map_err(|error| {
        Failure::new("cannot print to devices that ask for a password", error)
            .advise("docs/spool-serve.md has an example of the file.")
    })?;
    Ok(opened.unwrap_or_default())
}

/// Users with passwords.
pub(super) fn passwords(
    args: &ServeArgs,
    config: &Config,
) -> Result<Option<Arc<Passwords>>, Failure> {
    let path = args.passwords.as_ref().or(config.passwords.as_ref());
    let read = path.map(|path| Passwords::open(path).map(Arc::new));
    read.transpose().map_err(|error| {
        Failure::new("cannot serve a spool with passwords", error)
            .advise("windlass spool password FILE USER makes the file.")
    })
}

/// The names by which clients may call this server.
pub(super) fn names(args: &ServeArgs, config: &Config) -> Names {
    let more = if args.name.is_empty() { &config.names } else { &args.name };
    Names::new(&whole_host_name(), more)
}
