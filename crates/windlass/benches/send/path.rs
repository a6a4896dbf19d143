//! Path of the traffic: the loopback, or a veth pair between two namespaces.

use std::process::Command;

use anyhow::{Context, Result};
use windlass_sys::namespace::Namespace;

use crate::veth::{Shape, TO, Veth};

/// A path with two ends.
pub(crate) struct Path {
    /// The receiver's address.
    pub(crate) address: String,
    ends: Option<Veth>,
}

impl Path {
    pub(crate) fn loopback() -> Result<Self> {
        Ok(Self { address: "127.0.0.1".to_owned(), ends: None })
    }

    pub(crate) fn veth() -> Result<Self> {
        let ends = Veth::new(Shape { has_addresses: true, has_offloads: true });
        let ends = ends.context("there are no namespaces here")?;
        Ok(Self { address: TO.to_string(), ends: Some(ends) })
    }

    /// A command at the sender.
    pub(crate) fn sender(&self, program: &str) -> Command {
        at(self.ends.as_ref().map(|ends| &ends.sender), program)
    }

    /// Returns whether no other program sends on the path.
    pub(crate) const fn is_private(&self) -> bool {
        self.ends.is_some()
    }

    /// The bytes of IP that the receiver's kernel has taken in so far (`InOctets` of `IpExt` in
    /// /proc/net/netstat).
    pub(crate) fn octets_in(&self) -> Result<f64> {
        let output = self.receiver("cat").arg("/proc/net/netstat").output()?;
        let text = String::from_utf8(output.stdout)?;
        let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
        let (names, values) = lines.next().zip(lines.next()).context("no IpExt is counted")?;
        let mut both = names.split_whitespace().zip(values.split_whitespace());
        let found = both.find(|(name, _)| *name == "InOctets").context("no InOctets")?;
        Ok(found.1.parse()?)
    }

    /// A command at the receiver.
    pub(crate) fn receiver(&self, program: &str) -> Command {
        at(self.ends.as_ref().map(|ends| &ends.receiver), program)
    }
}

fn at(end: Option<&Namespace>, program: &str) -> Command {
    let mut command = Command::new(program);
    if let Some(end) = end {
        end.enter(&mut command);
    }
    command
}
