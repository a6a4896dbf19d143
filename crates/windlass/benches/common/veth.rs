//! Two private network namespaces with a wire between them.

use std::net::Ipv4Addr;

use anyhow::Result;
use windlass_sys::namespace::Namespace;

/// The interfaces of the sender and of the receiver.
pub(crate) const SENDER: &str = "sender";
pub(crate) const RECEIVER: &str = "receiver";

/// Their addresses.
pub(crate) const FROM: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const TO: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// The two ends of the wire.
pub(crate) struct Veth {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
}

/// Settings of both ends.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Without addresses nothing passes but what a generator sends.
    pub(crate) has_addresses: bool,
    /// True if TCP passes more at once than the wire carries.
    pub(crate) has_offloads: bool,
}

impl Veth {
    pub(crate) fn new(shape: Shape) -> Result<Self> {
        let sender = Namespace::new()?;
        let receiver = sender.beside()?;
        sender.add_veth(SENDER, &receiver, RECEIVER)?;
        for (end, name, address) in [(&sender, SENDER, FROM), (&receiver, RECEIVER, TO)] {
            // A kernel without IPv6 asks no neighbours.
            let _ = end.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            if !shape.has_offloads {
                end.set_offloads(name, false)?;
            }
            if shape.has_addresses {
                end.add_address(name, address.into(), 24)?;
            }
            end.bring_up(name)?;
            end.bring_up("lo")?;
        }
        Ok(Self { sender, receiver })
    }
}
