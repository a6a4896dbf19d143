//! Wait for a connection: unanswered SYNs belong to the user's wait.

use windlass_base::thresholds::A_QUARTER;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Evidence, Remedy, Side};
use windlass_base::{Sentence, Span, sentence};

use super::case::Case;
use super::evidence::shown;
use super::remedy::advice;

/// Wait for a connection that is a great part of the user's wait.
pub(crate) struct OpeningWait<'a> {
    /// The time from the first SYN to the answer, without the path's round trip.
    waited: Span,
    /// Share of the wait in the opening and the transfer together.
    share: f64,
    /// The number of SYNs, and the last of them.
    syns: u32,
    packet: u64,
    opener: &'a str,
    /// The host that answered: the transfer's sender or its receiver.
    side: Side,
    answerer: &'a str,
}

impl OpeningWait<'_> {
    /// Puts the wait in front of the verdict's sentence.
    pub(crate) fn before(&self, verdict: &Sentence, transfer: Span) -> Sentence {
        sentence!(
            "{} waited {} for {} to open the connection: it sent {} SYNs before an answer came. Then the transfer took {transfer}: {verdict}",
            self.opener,
            self.waited,
            self.answerer,
            self.syns,
        )
    }

    /// Adds the remedy: in first place if the opening was most of the wait.
    pub(crate) fn advise(&self, remedies: &mut Vec<Remedy>) {
        let remedy = advice(
            self.side,
            "find out why the first SYNs had no answer: a listen queue that is full (on Linux, ss \
             -ltn and nstat -az TcpExtListenOverflows; raise listen()'s backlog and \
             net.core.somaxconn), a firewall that drops them, or a path that loses them",
        )
        .set_by(Tuning::ListenBacklog);
        let place = if self.share >= 0.5 { 0 } else { remedies.len() };
        remedies.insert(place, remedy);
    }

    pub(crate) fn evidence(&self) -> Evidence {
        shown(&[self.packet], sentence!("the last SYN of {self.syns}"))
    }
}

/// Returns the wait for the connection, where it is worth a word.
pub(crate) fn wait<'a>(case: &Case<'a>) -> Option<OpeningWait<'a>> {
    let opening = &case.facts.opening;
    let handshake = &opening.handshake;
    let opener = handshake.opener?;
    let offer = handshake.offers[opener].filter(|offer| offer.sent > 1)?;
    let took = handshake.took()?;
    let rtt = handshake.rtt().or(case.facts.path.rtt).unwrap_or_default();
    let waited = (took - rtt).or_zero();
    let share = waited.share_of(took + case.total());
    let is_sender = opener == opening.direction;
    let (opener, answerer, side) = if is_sender {
        (case.sender, case.receiver, Side::Receiver)
    } else {
        (case.receiver, case.sender, Side::Sender)
    };
    let (syns, packet) = (offer.sent, offer.packet);
    let wait = OpeningWait { waited, share, syns, packet, opener, side, answerer };
    (share >= A_QUARTER.get()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::handshake::Handshake;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, TIME};

    /// A transfer whose opener waited so long, with so many SYNs.
    fn waiting(waited: Span, syns: u32, direction: usize) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let opening = &mut transfer.facts.opening;
        let mut handshake = Handshake::default();
        handshake.offers = opening.handshake.offers;
        let answered = handshake.offers[1].unwrap().time;
        handshake.opener = Some(0);
        handshake.offers[0].as_mut().unwrap().sent = syns;
        handshake.asked_first(answered - RTT - waited);
        handshake.completed(answered, 0);
        opening.handshake = handshake;
        opening.direction = direction;
        transfer
    }

    #[test]
    fn a_fifth_of_the_time_is_worth_a_word() {
        let share = A_QUARTER.get();
        // Of the opening, a round trip among it, and the transfer.
        let enough = (TIME + RTT).scaled(share / (1.0 - share));
        let worth = |waited, syns| wait(&waiting(waited, syns, 0).case()).is_some();
        assert!(worth(enough + Span::from_micros(1), 2));
        assert!(!worth(enough - Span::from_micros(1), 2));
        assert!(!worth(enough * 10, 1), "an answer that is slow is no SYN without one");
        assert!(wait(&OrdinaryTransfer::new().case()).is_none());
    }

    #[test]
    fn who_answers_is_to_look() {
        let said = |direction| {
            let transfer = waiting(TIME * 3, 3, direction);
            let case = transfer.case();
            let wait = wait(&case).unwrap();
            let mut remedies = vec![advice(Side::Path, "other")];
            wait.advise(&mut remedies);
            let sentence = wait.before(&"It is so.".into(), TIME).to_string();
            (remedies[0].side, sentence)
        };
        let (side, sentence) = said(0);
        assert_eq!(side, Side::Receiver);
        assert!(sentence.starts_with("10.0.0.1 waited 4.5 s for 10.0.0.2"), "{sentence}");
        assert!(sentence.contains("sent 3 SYNs") && sentence.ends_with("1.5 s: It is so."));
        assert_eq!(said(1).0, Side::Sender);
    }

    #[test]
    fn a_smaller_part_of_the_time_is_advised_about_last() {
        let transfer = waiting(TIME, 2, 0);
        let mut remedies = vec![advice(Side::Path, "other")];
        wait(&transfer.case()).unwrap().advise(&mut remedies);
        assert_eq!(remedies[0].side, Side::Path);
    }
}
