//! Making interfaces in a namespace, and removing them.

use std::os::fd::AsRawFd;

use super::interface::{ABOUT, named};
use super::{Namespace, NamespaceStep, Refusal};
use crate::netlink::Message;

/// `VETH_INFO_PEER` in `linux/veth.h`.
const VETH_PEER: u16 = 1;

/// `IFLA_VLAN_ID` in `linux/if_link.h`.
const VLAN_ID: u16 = 1;

impl Namespace {
    /// Makes a pair of Ethernet interfaces that are connected to each other: `name` in here, and
    /// `peer_name` in `peer`, which may be this namespace too. Both are down.
    ///
    /// The call needs the rights over both namespaces, which root has. All others have them if one
    /// was made [`Self::beside`] the other. The kernel refuses the pair (`EPERM`) if each has a
    /// user namespace of its own.
    ///
    /// # Errors
    /// Fails if a name is taken or not allowed, or the kernel lacks such interfaces.
    pub fn add_veth(&self, name: &str, peer: &Self, peer_name: &str) -> Result<(), Refusal> {
        let message = kind("veth", checked(name)?, |message| {
            // The peer is a message within the message.
            message.nested(VETH_PEER, |peer_is| {
                let place = peer.net.as_raw_fd().to_ne_bytes();
                peer_is
                    .then(&[0; ABOUT])
                    .named(libc::IFLA_IFNAME, peer_name)
                    .with(libc::IFLA_NET_NS_FD, &place)
            })
        });
        checked(peer_name)?;
        self.tell(message)
    }

    /// Makes an interface for the packets of a VLAN (IEEE 802.1Q) on an Ethernet interface: packets
    /// sent through it leave `parent` with a tag.
    ///
    /// # Errors
    /// Fails if there is no such parent, the name is taken or not allowed, or the VLAN's number is
    /// beyond 4094.
    pub fn add_vlan(&self, parent: &str, name: &str, id: u16) -> Result<(), Refusal> {
        let parent = self.index(parent)?.to_ne_bytes();
        let message =
            kind("vlan", checked(name)?, |message| message.with(VLAN_ID, &id.to_ne_bytes()));
        self.tell(message.with(libc::IFLA_LINK, &parent))
    }

    /// Removes an interface. Removing one end of a pair removes the other, too.
    ///
    /// # Errors
    /// Fails if there is no such interface, or it cannot be removed, as `lo`.
    pub fn remove(&self, interface: &str) -> Result<(), Refusal> {
        let message = Message::new(libc::RTM_DELLINK, 0, &[0; ABOUT]);
        self.tell(message.named(libc::IFLA_IFNAME, interface))
    }
}

/// Makes a message that adds an interface of a kind, with the data of that kind.
fn kind(kind: &str, name: &str, data: impl FnOnce(Message) -> Message) -> Message {
    let new = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let message = Message::new(libc::RTM_NEWLINK, new, &[0; ABOUT]);
    message.named(libc::IFLA_IFNAME, name).nested(libc::IFLA_LINKINFO, |info| {
        info.named(libc::IFLA_INFO_KIND, kind).nested(libc::IFLA_INFO_DATA, data)
    })
}

/// Checks the length of an interface's name. The kernel would take an empty one as a request to
/// choose a name itself.
fn checked(name: &str) -> Result<&str, Refusal> {
    named(name).map_err(Refusal::at(NamespaceStep::Interface))?;
    Ok(name)
}
