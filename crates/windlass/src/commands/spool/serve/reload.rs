//! Settings that are read anew while the server runs: on SIGHUP.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use windlass_base::Failure;
use windlass_spool::{Listen, Names, PrinterPorts, Server, Spooler};

use super::access::certificate;
use super::args::ServeArgs;
use super::known_by;
use super::plan::Plan;
use super::said::Said;

/// Turns SIGHUP, by which a service is told that its settings are others, into a flag.
pub(super) fn hangup() -> Result<Arc<AtomicBool>, Failure> {
    let told = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&told))
        .map_err(|error| Failure::new("cannot serve a spool", error))?;
    Ok(told)
}

/// What the settings were when the server started, as far as it cannot change that.
#[derive(Debug)]
pub(super) struct Fixed {
    folder: std::path::PathBuf,
    durability: windlass_spool::store::Durability,
    most: Option<u64>,
    listen: Listen,
    names: Names,
    /// True if jobs are accounted for.
    accounts: bool,
    has_quotas: bool,
}

impl Fixed {
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

    /// Which settings are others, and wait for the next start.
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

/// Reads the settings anew, and gives what there is to say of it. Settings that are wrong
/// change nothing.
pub(super) fn reload(
    args: &ServeArgs,
    fixed: &Fixed,
    spooler: &Arc<Spooler>,
    server: &mut Server,
) -> Vec<Said> {
    match reloaded(args, fixed, spooler, server) {
        Ok(said) => said,
        Err(failure) => {
            let what = format!("the settings are as they were: {failure}");
            vec![Said::warning("not-reloaded", what)]
        }
    }
}

fn reloaded(
    args: &ServeArgs,
    fixed: &Fixed,
    spooler: &Arc<Spooler>,
    server: &mut Server,
) -> Result<Vec<Said>, Failure> {
    let mut plan = Plan::new(args)?;
    // The key may be readable for who started the server alone.
    let before = server.certificate();
    let (certificate, uncertified) = match certificate(plan.certificate.as_ref()) {
        Ok(certificate) => (certificate, None),
        Err(why) => (before.clone(), Some(why)),
    };
    plan.network.certificate = certificate;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new("cannot take the new settings", error.to_string())
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
        said.push(Said::told("settings-changed", change.to_string()));
    }
    let now = accounted();
    for (setting, is_other) in
        [("quotas", accounted_before.0 != now.0), ("uncounted-pages", accounted_before.1 != now.1)]
    {
        if is_other {
            said.push(Said::told("settings-changed", format!("{setting}: changed")));
        }
    }
    said.extend(listens(&begun));
    for (at, printer) in &ended {
        let what = format!("listening no more for raw data on {at} for {printer}");
        said.push(Said::told("settings-changed", what));
    }
    if let Some(certificate) = &plan.network.certificate
        && before.is_none_or(|before| before.fingerprint != certificate.fingerprint)
    {
        said.extend(known_by(certificate));
    }
    if let Some(why) = uncertified {
        let what = format!("the certificate is as it was: {why}");
        said.push(Said::warning("not-reloaded", what));
    }
    if !waits.is_empty() {
        let what = format!("not before the next start: {}", waits.join(", "));
        said.push(Said::warning("settings-wait", what));
    }
    let printers = spooler.look(|table| table.listed().count());
    let what = match changes.len() {
        0 => format!("settings read: no printer of {printers} changed"),
        1 => format!("settings read: 1 printer changed, {printers} now"),
        changed => format!("settings read: {changed} printers changed, {printers} now"),
    };
    said.push(Said::told("reloaded", what));
    Ok(said)
}

/// A line for each port for raw data.
pub(super) fn listens(raw: &PrinterPorts) -> Vec<Said> {
    raw.iter().map(|(at, name)| Said::listens("raw data", at, Some(name.clone()))).collect()
}
