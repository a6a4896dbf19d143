//! Jobs that are over, by the events that the spooler keeps for who asks
//! (RFC 3995 and RFC 3996).

use std::borrow::Cow;

use windlass_wire::ipp::{Group, GroupTag, JobState, Message, Operation, Value};
use windlass_wire::target::Target;

use super::outcome::Seen;
use crate::ask::Asker;
use crate::error::Error;

/// How long the spooler is to keep events, in seconds; it may say less.
const LEASE: i32 = 3_600;

/// Events that are kept for windlass.
#[derive(Debug)]
pub(super) struct Subscription {
    place: Target,
    id: i32,
    /// The number of the next event.
    next: i32,
}

impl Subscription {
    /// Asks that the end of each job is kept.
    pub(super) fn begin(asker: &mut Asker<'_>, place: &Target) -> Result<Self, Error> {
        let mut request = asker.request_at(Operation::CREATE_PRINTER_SUBSCRIPTIONS, place);
        request.groups.push(
            Group::new(GroupTag::SUBSCRIPTION)
                .with("notify-pull-method", Value::keyword("ippget"))
                .with("notify-events", Value::keyword("job-completed"))
                .with("notify-lease-duration", Value::Integer(LEASE)),
        );
        let answer = asker.ask(&request)?;
        let id = answer.number(GroupTag::SUBSCRIPTION, "notify-subscription-id");
        let id = id.ok_or_else(|| Error::Protocol("its subscription has no number".to_owned()))?;
        Ok(Self { place: place.clone(), id, next: 1 })
    }

    /// The jobs that are over since the last time, each with its number here, where its
    /// name tells that.
    pub(super) fn ended(
        &mut self,
        asker: &mut Asker<'_>,
        number: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Vec<Seen>, Error> {
        let mut request = asker.request_at(Operation::GET_NOTIFICATIONS, &self.place);
        request.add("notify-subscription-ids", Value::Integer(self.id));
        request.add("notify-sequence-numbers", Value::Integer(self.next));
        let answer = asker.ask(&request)?;
        let mut ended = Vec::new();
        for event in answer.groups.iter().filter(|group| group.tag == GroupTag::EVENT) {
            let sequence = event.number("notify-sequence-number").unwrap_or(0);
            self.next = self.next.max(sequence.saturating_add(1));
            ended.extend(seen(event, "notify-job-id", number).filter(|it| it.state.is_over()));
        }
        Ok(ended)
    }

    /// No events are to be kept any more.
    pub(super) fn end(&self, asker: &mut Asker<'_>) {
        let mut request = asker.request_at(Operation::CANCEL_SUBSCRIPTION, &self.place);
        request.add("notify-subscription-id", Value::Integer(self.id));
        // It ends by itself, too.
        let _: Result<Message, Error> = asker.ask(&request);
    }
}

/// A job in what a spooler tells, with its number in an attribute of this name.
pub(super) fn seen(group: &Group, id: &str, number: &dyn Fn(&str) -> Option<u64>) -> Option<Seen> {
    let reasons = group.attribute("job-state-reasons");
    let words = reasons.iter().flat_map(|all| &all.values).filter_map(Value::text);
    Some(Seen {
        id: group.number(id)?,
        state: group.number("job-state").and_then(JobState::new)?,
        reasons: words.map(Cow::into_owned).collect::<Vec<_>>().join(" "),
        number: group.text("job-name").and_then(|name| number(&name)),
    })
}
