//! Requests to a spool server.

use std::time::Duration;

use windlass_base::Failure;
use windlass_print::{Access, Asker, Monitor, Protocol, Target, dial_within, escape};

use super::ServerArgs;
use crate::commands::login;
use crate::commands::print::user_name;

/// A spool server that gets requests.
#[derive(Debug)]
pub(super) struct Server {
    target: Target,
    user: String,
    patience: Duration,
    access: Access,
}

impl Server {
    pub(super) fn new(args: &ServerArgs) -> Result<Self, Failure> {
        let text = args.server.as_str();
        let wrong = |error| {
            Failure::usage(format!("cannot use the spool server {text:?}"), error)
                .advise("Write it as HOST:PORT, ipps://HOST:PORT/ or /run/cups/cups.sock.")
        };
        let is_uri = text.contains("://");
        let protocol = (!is_uri).then_some(Protocol::Ipp);
        let target = if text.starts_with('/') {
            Target::at_socket(text)
        } else {
            Target::new(text, protocol, None)
        };
        let target = target.map_err(wrong)?;
        if target.protocol != Protocol::Ipp {
            return Err(wrong(windlass_print::TargetError::Scheme(
                target.protocol.scheme().to_owned(),
            )));
        }
        let user = user_name(args.user.as_ref(), target.user.as_ref());
        let access = args.login.access(&user)?;
        Ok(Self { target, user, patience: args.patience.to_duration(), access })
    }

    /// Returns the host and port of the server.
    pub(super) fn authority(&self) -> String {
        self.target.authority()
    }

    /// Returns the URI of the server itself.
    pub(super) fn uri(&self) -> String {
        format!("{}://{}/", self.target.scheme(), self.authority())
    }

    /// Returns the URI of a printer.
    pub(super) fn printer(&self, name: &str) -> String {
        let scheme = self.target.scheme();
        format!("{scheme}://{}/printers/{}", self.authority(), escape::segment(name))
    }

    /// Returns the URI of a class.
    pub(super) fn class(&self, name: &str) -> String {
        format!("ipp://{}/classes/{}", self.authority(), escape::segment(name))
    }

    /// Returns the URI of a job.
    pub(super) fn job(&self, id: &str) -> String {
        format!("{}://{}/jobs/{id}", self.target.scheme(), self.authority())
    }

    /// Sends requests over one connection.
    pub(super) fn asking<T>(&self, work: impl FnOnce(&mut Asker<'_>) -> T) -> T {
        let monitor = Monitor::default();
        let dial = dial_within(self.patience);
        // Requests about the server go to its root, whatever the URI says.
        let root = Target { queue: "/".to_owned(), ..self.target.clone() };
        let dial = self.access.over(&dial, self.patience);
        let done = work(&mut Asker::new(&root, &self.user, &monitor, &dial, self.patience));
        login::tell(&self.access);
        done
    }
}
