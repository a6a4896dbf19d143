//! The attributes of a job template, as a job keeps them.

use windlass_wire::ipp::{Attribute, Decoder, Group, GroupTag, Limits, Message, Version};

/// Encodes job template attributes as a job stores them; `None` if they are too long.
pub(crate) fn packed(attributes: Vec<Attribute>) -> Option<Box<[u8]>> {
    if attributes.is_empty() {
        return Some(Box::default());
    }
    let groups = vec![Group { tag: GroupTag::JOB, attributes }];
    let message = Message { version: Version(2, 0), code: 0, request_id: 1, groups };
    message.encode().ok().map(Vec::into_boxed_slice)
}

/// Decodes the attributes of a template.
pub fn template(octets: &[u8]) -> Vec<Attribute> {
    if octets.is_empty() {
        return Vec::new();
    }
    let mut decoder = Decoder::new(Limits::default());
    let taken = decoder.take(octets);
    let message = taken.ok().and_then(|_| decoder.message());
    message.and_then(|mut message| message.groups.pop()).map_or_else(Vec::new, |of| of.attributes)
}
