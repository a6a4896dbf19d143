//! Two namespaces with a wire between them, for tests.

use crate::namespace::Namespace;

/// The namespace of the interface `left`, and that of `right`. Both are up and
/// have no address: nothing passes that a test does not send.
pub(crate) struct Pair {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
}

impl Pair {
    /// Makes them; where that is not allowed, says what is skipped.
    pub(crate) fn make(test: &str) -> Option<Self> {
        let made = Namespace::new().and_then(|left| {
            let right = left.beside()?;
            left.add_veth("left", &right, "right")?;
            for (namespace, name) in [(&left, "left"), (&right, "right")] {
                // A system without IPv6 has no such setting, and sends nothing.
                let _ = namespace.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
                namespace.bring_up(name)?;
            }
            Ok(Self { left, right })
        });
        made.inspect_err(|refused| eprintln!("skipped: {test}: {refused}")).ok()
    }
}
