//! Queries to IPP devices about themselves.

use std::time::Duration;

use windlass_print::{Access, Asker, Error, Monitor, Target, dial_within};
use windlass_wire::ipp::{Group, GroupTag, Operation};

/// Asks a device for attributes of its printer, within the time given. Returns `None` if the device
/// has none.
pub(crate) fn attributes(
    target: &Target,
    (user, wanted): (&str, &[&str]),
    monitor: &Monitor,
    (access, contact): (&Access, Duration),
) -> Result<Option<Group>, Error> {
    let bare = dial_within(contact);
    let dial = access.over(&bare, contact);
    let mut asker = Asker::new(target, user, monitor, &dial, contact);
    let mut request = asker.request(Operation::GET_PRINTER_ATTRIBUTES, &target.uri());
    request.want(wanted);
    let answer = asker.ask(&request)?;
    Ok(answer.groups.into_iter().find(|group| group.tag == GroupTag::PRINTER))
}
