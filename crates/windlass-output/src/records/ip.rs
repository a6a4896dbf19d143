//! Requested IP settings of packets, as text.

use windlass_drive::ip::{CODE_POINTS, Ip};

use crate::Text;

/// Returns the requested IP settings of packets; none if there are none.
pub fn ip_text(ip: &Ip) -> Option<Text> {
    let name =
        |point: u8| CODE_POINTS.iter().find(|(_, named)| *named == point).map(|(name, _)| *name);
    let mut parts = Vec::new();
    if let Some(tos) = ip.tos {
        let named = name(tos >> 2).map(|name| format!(", {name}")).unwrap_or_default();
        parts.push(format!("type of service {tos:#04x} (code point {}{named})", tos >> 2));
    }
    parts.extend(ip.ttl.map(|ttl| format!("{ttl} hops")));
    parts.extend(ip.bind.address.map(|address| format!("from {address}")));
    parts.extend(ip.bind.device.as_ref().map(|device| format!("by {device}")));
    (!parts.is_empty()).then(|| Text::from(parts.join("; ")))
}
