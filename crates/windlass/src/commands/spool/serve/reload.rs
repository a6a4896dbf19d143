//! Reload of the settings while the server runs, on SIGHUP.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use windlass_base::Failure;
use windlass_spool::{ListenAddresses, Names, PrinterPorts, Server, Spooler};

use super::access::certificate;
use super::args::ServeArgs;
use super::known_by;
use super::plan::Plan;
use super::said::ServerEvent;

/// Turns SIGHUP, the signal to reload settings, into a flag.
pub(super) fn hangup() -> Result<Arc<AtomicBool>, Failure> {
    let told = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&told))
        .map_err(|error| Failure::new("cannot run the spool server", error))?;
    Ok(told)
}

/// Settings of the start that a reload cannot change.
#[derive(Debug)]
pub(super) struct FixedSettings {
    folder: std::path::PathBuf,
    durability: windlass_spool::store::Durability,
    most: Option<u64>,
    listen: ListenAddresses,
    names: Names,
    /// True if jobs are accounted for.
    accounts: bool,
    has_quotas: bool,
}

impl FixedSettings {
    pub(super) fn of(plan: &Plan) -> Self {
        let most = plan.spooler.store.most;
        let (listen, names) = (plan.network.listen.clone(), plan.network.names.clone());
        let account = &plan.spooler.account;
        Self {
            folder: plan.folder.clone(),
            durability: plan.durability,
            most,
            listen,
            names,
            accounts: account.is_on(),
            has_quotas: !account.quotas.is_empty(),
        }
    }

    /// Returns the changed settings that wait for the next start.
    fn others(&self, plan: &Plan) -> Vec<&'static str> {
        let now = Self::of(plan);
        let table = [
            ("spool", self.folder != now.folder),
            ("durability", self.durability != now.durability),
            ("max-spool", self.most != now.most),
            (
                "listen",
                self.listen.ipp != now.listen.ipp || self.listen.sockets != now.listen.sockets,
            ),
            ("tls", self.listen.tls != now.listen.tls),
            ("lpr", self.listen.lpr != now.listen.lpr),
            ("names", self.names != now.names),
            ("quota", now.has_quotas && !self.accounts),
        ];
        table.into_iter().filter_map(|(name, is_other)| is_other.then_some(name)).collect()
    }
}

/// Reads the settings again, and returns lines about the changes. Wrong settings change nothing.
pub(super) fn reload(
    args: &ServeArgs,
    fixed: &FixedSettings,
    spooler: &Arc<Spooler>,
    server: &mut Server,
) -> Vec<ServerEvent> {
    match reloaded(args, fixed, spooler, server) {
        Ok(said) => said,
        Err(failure) => {
            let what = format!("the settings were not reloaded: {failure}");
            vec![ServerEvent::warning("not-reloaded", what)]
        }
    }
}

fn reloaded(
    args: &ServeArgs,
    fixed: &FixedSettings,
    spooler: &Arc<Spooler>,
    server: &mut Server,
) -> Result<Vec<ServerEvent>, Failure> {
    let mut plan = Plan::new(args)?;
    // The key may be readable for who started the server alone.
    let before = server.certificate();
    let (certificate, uncertified) = match certificate(plan.certificate.as_ref()) {
        Ok(certificate) => (certificate, None),
        Err(why) => (before.clone(), Some(why)),
    };
    plan.network.certificate = certificate;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new("cannot apply the new settings", error.to_string())
    };
    let raw: Vec<_> = plan.spooler.printers.iter().flat_map(|one| one.raw.clone()).collect();
    server.can_listen(&raw).map_err(|error| failed(&error))?;
    let waits = fixed.others(&plan);
    let accounted = || spooler.look(|table| (table.quotas().to_vec(), table.rules().uncounted));
    let accounted_before = accounted();
    let changes = spooler.reload(plan.spooler).map_err(|error| failed(&error))?;
    let (begun, ended) = server.reload(spooler, &plan.network).map_err(|error| failed(&error))?;
    let mut said = Vec::new();
    for change in &changes {
        said.push(ServerEvent::told("settings-changed", change.to_string()));
    }
    let now = accounted();
    for (setting, is_other) in
        [("quotas", accounted_before.0 != now.0), ("uncounted-pages", accounted_before.1 != now.1)]
    {
        if is_other {
            said.push(ServerEvent::told("settings-changed", format!("{setting}: changed")));
        }
    }
    said.extend(listens(&begun));
    for (at, printer) in &ended {
        let what = format!("no longer listening for raw data on {at} for {printer}");
        said.push(ServerEvent::told("settings-changed", what));
    }
    if let Some(certificate) = &plan.network.certificate
        && before.is_none_or(|before| before.fingerprint != certificate.fingerprint)
    {
        said.extend(known_by(certificate));
    }
    if let Some(why) = uncertified {
        let what = format!("the certificate was not reloaded: {why}");
        said.push(ServerEvent::warning("not-reloaded", what));
    }
    if !waits.is_empty() {
        let what = format!("these changes take effect at the next start: {}", waits.join(", "));
        said.push(ServerEvent::warning("settings-wait", what));
    }
    let printers = spooler.look(|table| table.listed().count());
    let what = match changes.len() {
        0 => format!("settings reloaded: none of {printers} printers changed"),
        1 => format!("settings reloaded: 1 printer changed, {printers} now"),
        changed => format!("settings reloaded: {changed} printers changed, {printers} now"),
    };
    said.push(ServerEvent::told("reloaded", what));
    Ok(said)
}

/// Returns a line for each raw port.
pub(super) fn listens(raw: &PrinterPorts) -> Vec<ServerEvent> {
    raw.iter().map(|(at, name)| ServerEvent::listens("raw data", at, Some(name.clone()))).collect()
}
