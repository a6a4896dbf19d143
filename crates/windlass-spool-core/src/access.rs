//! Access control: policies that grant rights by a client's origin and by its authenticated user.

use std::net::IpAddr;
use std::str::FromStr;

use windlass_wire::filter::IpNet;

use crate::requester::Rights;

/// Error of a text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a network: write an address such as 192.0.2.1, or a network such as 192.0.2.0/24"
)]
pub struct NetError(String);

/// Parses a network: an address with a prefix length, or a single address.
///
/// # Errors
/// Returns an error if the text is not a network.
pub fn net(text: &str) -> Result<IpNet, NetError> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map(|network| network.trunc()).map_err(|_| NetError(text.to_owned()))
}

/// Origin of a client's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An address in this network.
    Network(IpNet),
    /// Any address of this host.
    ThisHost,
    /// The Unix socket.
    Socket,
}

impl FromStr for Origin {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        match text {
            "this-host" => Ok(Self::ThisHost),
            "socket" => Ok(Self::Socket),
            network => net(network).map(Self::Network),
        }
    }
}

/// Users that a policy matches, once the kernel or a password has authenticated them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// Any authenticated user.
    Known,
    /// The user with this name.
    User(String),
    /// The members of a group of this host.
    Group(String),
}

impl Principal {
    /// Reads a word as CUPS does: `ann` is a user, `@lpadmin` a group, `*` any authenticated user.
    pub fn new(word: &str) -> Self {
        match word.strip_prefix('@') {
            Some(group) => Self::Group(group.to_owned()),
            None if word == "*" => Self::Known,
            None => Self::User(word.to_owned()),
        }
    }
}

/// Rights of the clients that match an origin and a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Origins that match; empty for any origin.
    pub from: Vec<Origin>,
    /// Users that match; empty for anybody, authenticated or not.
    pub users: Vec<Principal>,
    /// Rights that the policy grants.
    pub rights: Rights,
}

/// Client whose rights are looked up.
pub struct Asker<'a> {
    /// Address of the client; `None` for the Unix socket.
    pub address: Option<IpAddr>,
    /// True if the address is one of this host's.
    pub is_own: bool,
    /// Name of the user, once authenticated.
    pub user: Option<&'a str>,
    /// Tells whether the user is a member of a group of this host.
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
        let is = |place: &Origin| match (place, address) {
            (Origin::Socket, address) => address.is_none(),
            (_, None) => false,
            (Origin::ThisHost, Some(address)) => is_own || address.to_canonical().is_loopback(),
            // An IPv4-mapped IPv6 address counts as the IPv4 address.
            (Origin::Network(net), Some(address)) => net.contains(&address.to_canonical()),
        };
        self.from.is_empty() || self.from.iter().any(is)
    }

    fn is_of_user(&self, asker: &Asker<'_>) -> bool {
        let is = |who: &Principal| match (who, asker.user) {
            (_, None) => false,
            (Principal::Known, Some(_)) => true,
            (Principal::User(name), Some(user)) => name == user,
            (Principal::Group(group), Some(_)) => (asker.is_in)(group),
        };
        self.users.is_empty() || self.users.iter().any(is)
    }
}

/// Rights of this host's own TCP clients, unless a policy says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalRights {
    /// All.
    #[default]
    Administer,
    /// Print, see jobs, and cancel their own.
    Print,
    /// Nothing.
    Nothing,
}

/// Access control in a few settings, without policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleAccess {
    /// Networks whose clients may print, besides this host.
    pub clients: Vec<IpNet>,
    /// Networks whose clients may administer.
    pub admins: Vec<IpNet>,
    /// Users who may administer, once authenticated.
    pub admin_users: Vec<Principal>,
    /// Rights of this host's own TCP clients.
    pub local: LocalRights,
}

impl Default for SimpleAccess {
    fn default() -> Self {
        // As CUPS's SystemGroup on Debian.
        let admin_users = vec![Principal::new("root"), Principal::new("@lpadmin")];
        Self { clients: Vec::new(), admins: Vec::new(), admin_users, local: LocalRights::default() }
    }
}

/// Access control by an ordered list of policies. The first match applies; without a match, nothing
/// is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    policies: Vec<Policy>,
}

impl Default for Access {
    /// Allows access from this host alone.
    fn default() -> Self {
        Self::plain(SimpleAccess::default())
    }
}

impl Access {
    /// Uses these policies, preceded by one that lets root administer over the Unix socket in any
    /// name.
    ///
    /// Root can do anything to the server anyway, so no setting locks root out.
    pub fn new(policies: Vec<Policy>) -> Self {
        let root = Policy {
            from: vec![Origin::Socket],
            users: vec![Principal::new("root")],
            rights: Rights { believed: true, ..Rights::ALL },
        };
        Self { policies: std::iter::once(root).chain(policies).collect() }
    }

    /// Builds the policies from a few settings.
    pub fn plain(plain: SimpleAccess) -> Self {
        let believed = |rights| Rights { believed: true, ..rights };
        let of = |from, rights| Policy { from, users: Vec::new(), rights };
        let networks = |nets: Vec<IpNet>| nets.into_iter().map(Origin::Network).collect::<Vec<_>>();
        let mut policies = Vec::new();
        if plain.local == LocalRights::Nothing {
            // This rule comes first: it holds in whatever network this host is.
            policies.push(of(vec![Origin::ThisHost], Rights::NONE));
        }
        if !plain.admin_users.is_empty() {
            // Clients without anonymous print rights may not connect to authenticate.
            let mut from = vec![Origin::Socket];
            from.extend((plain.local != LocalRights::Nothing).then_some(Origin::ThisHost));
            from.extend(networks(plain.admins.clone()));
            from.extend(networks(plain.clients.clone()));
            policies.push(Policy { from, users: plain.admin_users, rights: Rights::ALL });
        }
        policies.push(of(vec![Origin::Socket], Rights::USER));
        policies.push(of(
            vec![Origin::ThisHost],
            match plain.local {
                LocalRights::Administer => believed(Rights::ALL),
                LocalRights::Print => believed(Rights::USER),
                LocalRights::Nothing => Rights::NONE,
            },
        ));
        // A policy without an origin would match every origin.
        for (nets, rights) in [(plain.admins, Rights::ALL), (plain.clients, Rights::USER)] {
            if !nets.is_empty() {
                policies.push(of(networks(nets), believed(rights)));
            }
        }
        Self::new(policies)
    }

    /// Returns whether a client may connect: it has a right, or would have one after
    /// authentication.
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

    /// Returns the rights of a client.
    pub fn rights(&self, asker: &Asker<'_>) -> Rights {
        let fits = |policy: &&Policy| {
            policy.is_of_place(asker.address, asker.is_own) && policy.is_of_user(asker)
        };
        let Some(policy) = self.policies.iter().find(fits) else { return Rights::NONE };
        // A request's user name is believed of unauthenticated clients, and of users that the
        // policy names: a print server speaks for others.
        let is_known = asker.user.is_some() && policy.users.is_empty();
        Rights { believed: policy.rights.believed && !is_known, ..policy.rights }
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
