//! A spool server that is asked.

use std::time::Duration;

use windlass_base::Failure;
use windlass_print::{Asker, Monitor, Protocol, Target, dial_within, escape};

use super::ServerArgs;
use crate::commands::print::user_name;

/// A spool server that is asked.
#[derive(Debug)]
pub(super) struct Server {
    target: Target,
    user: String,
    patience: Duration,
}

impl Server {
    pub(super) fn new(args: &ServerArgs) -> Result<Self, Failure> {
        let text = args.server.as_str();
        let wrong = |error| {
            Failure::usage(format!("cannot ask the spool server {text:?}"), error)
                .advise("Write it as HOST:PORT or ipp://HOST:PORT/.")
        };
        let is_uri = text.contains("://");
        let protocol = (!is_uri).then_some(Protocol::Ipp);
        let target = Target::new(text, protocol, None).map_err(wrong)?;
        if target.protocol != Protocol::Ipp {
            return Err(wrong(windlass_print::TargetError::Scheme(
                target.protocol.scheme().to_owned(),
            )));
        }
        let user = user_name(args.user.as_ref(), target.user.as_ref());
        Ok(Self { target, user, patience: args.patience.to_duration() })
    }

    /// What the server is called.
    pub(super) fn authority(&self) -> String {
        self.target.authority()
    }

    /// The URI of the server itself.
    pub(super) fn uri(&self) -> String {
        format!("ipp://{}/", self.authority())
    }

    /// The URI of a printer.
    pub(super) fn printer(&self, name: &str) -> String {
        format!("ipp://{}/printers/{}", self.authority(), escape::segment(name))
    }

    /// The URI of a job.
    pub(super) fn job(&self, id: &str) -> String {
        format!("ipp://{}/jobs/{id}", self.authority())
    }

    /// Asks questions, over one connection.
    pub(super) fn asking<T>(&self, work: impl FnOnce(&mut Asker<'_>) -> T) -> T {
        let monitor = Monitor::default();
        let dial = dial_within(self.patience);
        // Requests about the server go to its root, whatever the URI says.
        let root = Target { queue: "/".to_owned(), ..self.target.clone() };
        work(&mut Asker::new(&root, &self.user, &monitor, &dial, self.patience))
    }
}
