//! Who asks, and what he may.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Whose name it is where nobody is known, and none is believed.
pub const ANONYMOUS: &str = "anonymous";

/// What somebody may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Print.
    pub print: bool,
    /// See the jobs of others.
    pub see: bool,
    /// Cancel, hold, release and change his own jobs.
    pub own: bool,
    /// All of that with any job, and stop, start and change printers.
    pub administer: bool,
    /// Whether the name that a request says is believed without proof.
    pub believed: bool,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To print.
    Print,
    /// To see the jobs of others.
    See,
    /// To do something with his own jobs.
    Own,
    /// To administer.
    Administer,
}

impl Rights {
    /// None.
    pub const NONE: Self =
        Self { print: false, see: false, own: false, administer: false, believed: false };

    /// Those of who prints.
    pub const USER: Self = Self { print: true, see: true, own: true, ..Self::NONE };

    /// Those of who administers.
    pub const ALL: Self = Self { administer: true, ..Self::USER };

    /// Whether a right is among them.
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

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address.
    Network(SocketAddr),
    /// A user of this host over the Unix socket, as the kernel says.
    Local {
        /// The name.
        user: Arc<str>,
        /// The number.
        uid: u32,
    },
}

impl Peer {
    /// The host, as jobs tell it.
    pub fn host(&self) -> String {
        match self {
            Self::Network(address) => address.ip().to_canonical().to_string(),
            // CUPS's word for it, too.
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

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// From where.
    pub peer: Peer,
    /// The user's name, where the kernel or a password says it.
    pub user: Option<Arc<str>>,
    /// What he may.
    pub rights: Rights,
    /// Whether he could say by a password who he is.
    pub can_log_in: bool,
}

impl Requester {
    /// Of whom nothing is known but where he is.
    pub fn unknown(peer: impl Into<Peer>, rights: Rights) -> Self {
        Self { peer: peer.into(), user: None, rights, can_log_in: false }
    }

    /// The name by which a request counts that says this one: where names are believed what
    /// it says, else who is known.
    pub fn name(&self, said: Option<String>) -> String {
        // Blanks around it make no other user.
        let said = said.map(|name| name.trim().to_owned());
        let said = said.filter(|name| self.may_name_others() && !name.is_empty());
        let known = || self.user.as_deref().unwrap_or(ANONYMOUS).to_owned();
        said.unwrap_or_else(known)
    }

    /// Returns whether what a request says of its user counts: where names are believed, and of
    /// administrators whom the kernel knows.
    fn may_name_others(&self) -> bool {
        self.rights.believed || (self.rights.administer && matches!(self.peer, Peer::Local { .. }))
    }

    /// Returns the user whom the kernel knows to ask, where the request is said to be another's
    /// and he may not act for others. Of who has said a password his own name counts, whatever
    /// the request says: clients write there who uses their host.
    pub fn acts_for_another(&self, said: Option<&str>) -> Option<&str> {
        let said = said.filter(|said| !said.is_empty())?;
        let Peer::Local { user, uid } = &self.peer else { return None };
        // One whom the host has no name for cannot say the right one.
        let is_other = !user.eq_ignore_ascii_case(said) && **user != *format!("#{uid}");
        (is_other && !self.may_name_others()).then_some(user)
    }

    /// Whether a name that counts says who somebody is: then its jobs are his own.
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
