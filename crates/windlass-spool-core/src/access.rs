//! Who may do what: policies by where somebody asks from and who it is known to be.

use std::net::IpAddr;
use std::str::FromStr;

use windlass_wire::filter::IpNet;

use crate::requester::Rights;

/// Why words are no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network: it is an address such as 192.0.2.1, or one with bits as 192.0.2.0/24"
)]
pub struct NetError(String);

/// Reads a network: an address of it with the bits that its hosts share, or an address
/// alone.
///
/// # Errors
/// Where it is none.
pub fn net(text: &str) -> Result<IpNet, NetError> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map(|network| network.trunc()).map_err(|_| NetError(text.to_owned()))
}

/// From where somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// From an address of a network.
    Network(IpNet),
    /// From this host, by any of its addresses.
    ThisHost,
    /// Over the Unix socket.
    Socket,
}

impl FromStr for Place {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        match text {
            "this-host" => Ok(Self::ThisHost),
            "socket" => Ok(Self::Socket),
            network => net(network).map(Self::Network),
        }
    }
}

/// A user who is known, by the kernel or by a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whoever is known.
    Known,
    /// One of this name.
    User(String),
    /// One of a group of this host.
    Group(String),
}

impl Who {
    /// Of a word, as CUPS has them: `ann` is a user, `@lpadmin` a group, `*` anybody who is
    /// known.
    pub fn new(word: &str) -> Self {
        match word.strip_prefix('@') {
            Some(group) => Self::Group(group.to_owned()),
            None if word == "*" => Self::Known,
            None => Self::User(word.to_owned()),
        }
    }
}

/// What some may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// From where they ask; from anywhere where there is none.
    pub from: Vec<Place>,
    /// Who they are; anybody, known or not, where there is none.
    pub users: Vec<Who>,
    /// What they may.
    pub rights: Rights,
}

/// Somebody of whom it is asked what he may.
pub struct Asker<'a> {
    /// The address; none for the Unix socket.
    pub address: Option<IpAddr>,
    /// Whether the address is one of this host's.
    pub is_own: bool,
    /// The user's name, where it is known.
    pub user: Option<&'a str>,
    /// Whether the user is in a group of this host.
    pub is_in: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker")
            .field("address", &self.address)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Policy {
    fn is_of_place(&self, address: Option<IpAddr>, is_own: bool) -> bool {
        let is = |place: &Place| match (place, address) {
            (Place::Socket, address) => address.is_none(),
            (_, None) => false,
            (Place::ThisHost, Some(address)) => is_own || address.to_canonical().is_loopback(),
            // An IPv4 address in the clothes of IPv6 counts as what it is.
            (Place::Network(net), Some(address)) => net.contains(&address.to_canonical()),
        };
        self.from.is_empty() || self.from.iter().any(is)
    }

    fn is_of_user(&self, asker: &Asker<'_>) -> bool {
        let is = |who: &Who| match (who, asker.user) {
            (_, None) => false,
            (Who::Known, Some(_)) => true,
            (Who::User(name), Some(user)) => name == user,
            (Who::Group(group), Some(_)) => (asker.is_in)(group),
        };
        self.users.is_empty() || self.users.iter().any(is)
    }
}

/// What clients of this host may that connect by TCP, where no policy says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Local {
    /// All.
    #[default]
    Administer,
    /// Print, see jobs, and cancel their own.
    Print,
    /// Nothing.
    Nothing,
}

/// Who may do what, by few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Networks from which one may print, beside this host.
    pub clients: Vec<IpNet>,
    /// Networks from which one may administer.
    pub admins: Vec<IpNet>,
    /// Users who may administer, where they are known.
    pub admin_users: Vec<Who>,
    /// What this host's own clients may by TCP.
    pub local: Local,
}

impl Default for Plain {
    fn default() -> Self {
        // As CUPS's SystemGroup on Debian.
        let admin_users = vec![Who::new("root"), Who::new("@lpadmin")];
        Self { clients: Vec::new(), admins: Vec::new(), admin_users, local: Local::default() }
    }
}

/// Who may do what. The first policy that fits holds; whom none fits, may nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    policies: Vec<Policy>,
}

impl Default for Access {
    /// This host alone.
    fn default() -> Self {
        Self::plain(Plain::default())
    }
}

impl Access {
    /// By policies. In front of them stands that root administers over the Unix socket,
    /// in any name: who could do anything to the server is not locked out by its settings.
    pub fn new(policies: Vec<Policy>) -> Self {
        let root = Policy {
            from: vec![Place::Socket],
            users: vec![Who::new("root")],
            rights: Rights { believed: true, ..Rights::ALL },
        };
        Self { policies: std::iter::once(root).chain(policies).collect() }
    }

    /// By few words.
    pub fn plain(plain: Plain) -> Self {
        let believed = |rights| Rights { believed: true, ..rights };
        let of = |from, rights| Policy { from, users: Vec::new(), rights };
        let networks = |nets: Vec<IpNet>| nets.into_iter().map(Place::Network).collect::<Vec<_>>();
        let mut policies = Vec::new();
        if plain.local == Local::Nothing {
            // Whatever network this host is in.
            policies.push(of(vec![Place::ThisHost], Rights::NONE));
        }
        if !plain.admin_users.is_empty() {
            // Nobody who may not print without a name may connect to say one.
            let mut from = vec![Place::Socket];
            from.extend((plain.local != Local::Nothing).then_some(Place::ThisHost));
            from.extend(networks(plain.admins.clone()));
            from.extend(networks(plain.clients.clone()));
            policies.push(Policy { from, users: plain.admin_users, rights: Rights::ALL });
        }
        policies.push(of(vec![Place::Socket], Rights::USER));
        policies.push(of(
            vec![Place::ThisHost],
            match plain.local {
                Local::Administer => believed(Rights::ALL),
                Local::Print => believed(Rights::USER),
                Local::Nothing => Rights::NONE,
            },
        ));
        // A policy without a place would be for all of them.
        for (nets, rights) in [(plain.admins, Rights::ALL), (plain.clients, Rights::USER)] {
            if !nets.is_empty() {
                policies.push(of(networks(nets), believed(rights)));
            }
        }
        Self::new(policies)
    }

    /// Whether somebody may connect: there is a right that he has, or would have if he
    /// were known.
    pub fn may_connect(&self, address: Option<IpAddr>, is_own: bool) -> bool {
        for policy in self.policies.iter().filter(|one| one.is_of_place(address, is_own)) {
            if policy.rights != Rights::NONE {
                return true;
            }
            if policy.users.is_empty() {
                return false;
            }
        }
        false
    }

    /// What somebody may.
    pub fn rights(&self, asker: &Asker<'_>) -> Rights {
        let fits = |policy: &&Policy| {
            policy.is_of_place(asker.address, asker.is_own) && policy.is_of_user(asker)
        };
        let Some(policy) = self.policies.iter().find(fits) else { return Rights::NONE };
        // Belief in what requests say is for those of whom nothing is known, or for users
        // who are named: a print server speaks for others.
        let is_known = asker.user.is_some() && policy.users.is_empty();
        Rights { believed: policy.rights.believed && !is_known, ..policy.rights }
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
