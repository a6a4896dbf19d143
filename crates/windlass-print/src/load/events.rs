//! Finished jobs, by the events that the spooler stores for subscribers (RFC 3995 and RFC 3996).

use std::borrow::Cow;

use windlass_wire::ipp::{Group, GroupTag, JobState, Message, Operation, Value};
use windlass_wire::target::Target;

use super::outcome::ReportedJob;
use crate::ask::Asker;
use crate::error::Error;

/// Requested duration of a subscription, in seconds; the spooler may shorten it.
const LEASE: i32 = 3_600;

/// Subscription to events.
#[derive(Debug)]
pub(super) struct Subscription {
    place: Target,
    id: i32,
    /// Number of the next event.
    next: i32,
}

impl Subscription {
    /// Subscribes to the end of each job.
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
        let id =
            id.ok_or_else(|| Error::Protocol("the answer has no subscription number".to_owned()))?;
        Ok(Self { place: place.clone(), id, next: 1 })
    }

    /// Returns the jobs that have finished since the last call, each with its number here if its
    /// name has one.
    pub(super) fn ended(
        &mut self,
        asker: &mut Asker<'_>,
        number: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Vec<ReportedJob>, Error> {
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

    /// Cancels the subscription.
    pub(super) fn end(&self, asker: &mut Asker<'_>) {
        let mut request = asker.request_at(Operation::CANCEL_SUBSCRIPTION, &self.place);
        request.add("notify-subscription-id", Value::Integer(self.id));
        // The subscription expires by itself, too.
        let _: Result<Message, Error> = asker.ask(&request);
    }
}

/// Reads a job from a spooler's answer; `id` names the attribute with its number.
pub(super) fn seen(
    group: &Group,
    id: &str,
    number: &dyn Fn(&str) -> Option<u64>,
) -> Option<ReportedJob> {
    let reasons = group.attribute("job-state-reasons");
    let words = reasons.iter().flat_map(|all| &all.values).filter_map(Value::text);
    Some(ReportedJob {
        id: group.number(id)?,
        state: group.number("job-state").and_then(JobState::new)?,
        reasons: words.map(Cow::into_owned).collect::<Vec<_>>().join(" "),
        number: group.text("job-name").and_then(|name| number(&name)),
    })
}
