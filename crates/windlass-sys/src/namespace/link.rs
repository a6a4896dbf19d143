//! Making interfaces in a namespace, and removing them.

use std::os::fd::AsRawFd;

use super::interface::{ABOUT, named};
use super::{Namespace, NamespaceStep, Refused};
use crate::netlink::Message;

/// `VETH_INFO_PEER` in `linux/veth.h`.
const VETH_PEER: u16 = 1;

/// `IFLA_VLAN_ID` in `linux/if_link.h`.
const VLAN_ID: u16 = 1;

impl Namespace {
    /// Makes a pair of Ethernet interfaces that are joined by a wire: `name` in
    /// here, and `peer_name` in `peer`, which may be this namespace too. Both
    /// are down.
    ///
    /// The rights over both namespaces are needed. Root has them. All others
    /// have them where the one was made [`Self::beside`] the other: the kernel
    /// refuses the pair (`EPERM`) where each has a user namespace of its own.
    ///
    /// # Errors
    /// Where a name is taken or not allowed, or the kernel has no such
    /// interfaces.
    pub fn add_veth(&self, name: &str, peer: &Self, peer_name: &str) -> Result<(), Refused> {
        let message = kind("veth", checked(name)?, |message| {
            // The peer is said as a message within the message.
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

    /// Makes an interface for the packets of a VLAN (IEEE 802.1Q) on an Ethernet
    /// interface: what is sent through it leaves `parent` with a tag.
    ///
    /// # Errors
    /// Where there is no such parent, the name is taken or not allowed, or the
    /// VLAN's number is beyond 4094.
    pub fn add_vlan(&self, parent: &str, name: &str, id: u16) -> Result<(), Refused> {
        let parent = self.index(parent)?.to_ne_bytes();
        let message =
            kind("vlan", checked(name)?, |message| message.with(VLAN_ID, &id.to_ne_bytes()));
        self.tell(message.with(libc::IFLA_LINK, &parent))
    }

    /// Removes an interface; with one end of a pair the other goes, too.
    ///
    /// # Errors
    /// Where there is no such interface, or it cannot be removed, as `lo`.
    pub fn remove(&self, interface: &str) -> Result<(), Refused> {
        let message = Message::new(libc::RTM_DELLINK, 0, &[0; ABOUT]);
        self.tell(message.named(libc::IFLA_IFNAME, interface))
    }
}

/// A message that makes an interface of a kind, with what that kind needs.
fn kind(kind: &str, name: &str, data: impl FnOnce(Message) -> Message) -> Message {
    let new = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let message = Message::new(libc::RTM_NEWLINK, new, &[0; ABOUT]);
    message.named(libc::IFLA_IFNAME, name).nested(libc::IFLA_LINKINFO, |info| {
        info.named(libc::IFLA_INFO_KIND, kind).nested(libc::IFLA_INFO_DATA, data)
    })
}

/// A name that an interface may have by its length: the kernel would take none
/// for a wish of its own choice.
fn checked(name: &str) -> Result<&str, Refused> {
    named(name).map_err(Refused::at(NamespaceStep::Interface))?;
    Ok(name)
}
