//! Requesters and their rights.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// User name of a request that is neither authenticated nor believed.
pub const ANONYMOUS: &str = "anonymous";

/// Rights of a requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Print.
    pub print: bool,
    /// See the jobs of others.
    pub see: bool,
    /// Cancel, hold, release and change one's own jobs.
    pub own: bool,
    /// Do all of that with any job, and stop, start and change printers.
    pub administer: bool,
    /// True if the user name in a request is believed without authentication.
    pub believed: bool,
}

/// A single right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To print.
    Print,
    /// To see the jobs of others.
    See,
    /// To act on one's own jobs.
    Own,
    /// To administer.
    Administer,
}

impl Rights {
    /// No rights.
    pub const NONE: Self =
        Self { print: false, see: false, own: false, administer: false, believed: false };

    /// Rights of a user who prints.
    pub const USER: Self = Self { print: true, see: true, own: true, ..Self::NONE };

    /// Rights of an administrator.
    pub const ALL: Self = Self { administer: true, ..Self::USER };

    /// Returns whether these rights include a right.
    pub const fn has(self, right: Right) -> bool {
        self.administer
            || match right {
                Right::Print => self.print,
                Right::See => self.see,
                Right::Own => self.own,
                Right::Administer => false,
            }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Print => "print",
            Self::See => "see the jobs of others",
            Self::Own => "cancel or change jobs",
            Self::Administer => "administer",
        })
    }
}

/// Peer of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A network address.
    Network(SocketAddr),
    /// A user of this host on the Unix socket, as the kernel reports.
    Local {
        /// User name.
        user: Arc<str>,
        /// User ID.
        uid: u32,
    },
}

impl Peer {
    /// Returns the host name that jobs show.
    pub fn host(&self) -> String {
        match self {
            Self::Network(address) => address.ip().to_canonical().to_string(),
            // CUPS uses this word, too.
            Self::Local { .. } => "localhost".to_owned(),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address) => address.fmt(f),
            Self::Local { user, uid } => write!(f, "{user} (user {uid} of this host)"),
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Network(address)
    }
}

/// Requester of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Peer that sent the request.
    pub peer: Peer,
    /// Name of the user, if the kernel or a password authenticates it.
    pub user: Option<Arc<str>>,
    /// Rights of the requester.
    pub rights: Rights,
    /// True if the requester could still authenticate with a password.
    pub can_log_in: bool,
}

impl Requester {
    /// Returns an unauthenticated requester.
    pub fn unknown(peer: impl Into<Peer>, rights: Rights) -> Self {
        Self { peer: peer.into(), user: None, rights, can_log_in: false }
    }

    /// Returns the user name that counts: the name in the request if names are believed, otherwise
    /// the authenticated one.
    pub fn name(&self, said: Option<String>) -> String {
        // Surrounding blanks do not make another user.
        let said = said.map(|name| name.trim().to_owned());
        let said = said.filter(|name| self.may_name_others() && !name.is_empty());
        let known = || self.user.as_deref().unwrap_or(ANONYMOUS).to_owned();
        said.unwrap_or_else(known)
    }

    /// Returns whether the user name in a request counts: if names are believed, and for
    /// administrators whom the kernel authenticates.
    fn may_name_others(&self) -> bool {
        self.rights.believed || (self.rights.administer && matches!(self.peer, Peer::Local { .. }))
    }

    /// Returns the user whom the kernel authenticates, if the request names another user and this
    /// one may not act for others. After password authentication the authenticated name counts,
    /// whatever the request says: clients put the local user of their host there.
    pub fn acts_for_another(&self, said: Option<&str>) -> Option<&str> {
        let said = said.filter(|said| !said.is_empty())?;
        let Peer::Local { user, uid } = &self.peer else { return None };
        // A user without a name on this host cannot give the right name.
        let is_other = !user.eq_ignore_ascii_case(said) && **user != *format!("#{uid}");
        (is_other && !self.may_name_others()).then_some(user)
    }

    /// Returns whether the requester has a name that counts, so that jobs can be their own.
    pub const fn is_somebody(&self) -> bool {
        self.user.is_some() || self.rights.believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_believed_where_that_is_allowed() {
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        let believed = Rights { believed: true, ..Rights::USER };
        let name = |user: Option<&str>, rights, said: &str| {
            let user = user.map(Arc::from);
            Requester { user, ..Requester::unknown(peer, rights) }.name(Some(said.to_owned()))
        };
        assert_eq!(name(None, believed, "ann"), "ann");
        assert_eq!(name(None, believed, ""), ANONYMOUS);
        assert_eq!(name(None, Rights::USER, "ann"), ANONYMOUS);
        assert_eq!(name(Some("bob"), Rights::USER, "ann"), "bob");
        assert_eq!(name(Some("server"), believed, "ann"), "ann");
        assert_eq!(name(Some("server"), believed, ""), "server");
    }

    #[test]
    fn only_who_administers_acts_for_others_over_the_socket() {
        let local = |user: &str, rights| Requester {
            user: Some(Arc::from(user)),
            ..Requester::unknown(Peer::Local { user: Arc::from(user), uid: 1_001 }, rights)
        };
        let ann = local("ann", Rights::USER);
        assert_eq!(ann.acts_for_another(Some("bob")), Some("ann"));
        assert_eq!(ann.acts_for_another(Some("Ann")), None, "names have no case (RFC 8011)");
        assert_eq!(ann.acts_for_another(Some("")), None);
        assert_eq!(ann.acts_for_another(None), None);
        let admin = local("ann", Rights::ALL);
        assert_eq!(admin.acts_for_another(Some("bob")), None);
        assert_eq!(admin.name(Some("bob".to_owned())), "bob");
        assert_eq!(local("#1001", Rights::USER).acts_for_another(Some("bob")), None);
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        let known =
            Requester { user: Some(Arc::from("ann")), ..Requester::unknown(peer, Rights::ALL) };
        assert_eq!(known.acts_for_another(Some("bob")), None);
        assert_eq!(known.name(Some("bob".to_owned())), "ann", "a password counts more");
    }
}
