//! Letter and colour of each limit, the same in every report.

use windlass_base::Limit;

use super::{Mark, Style};

/// Returns the mark of a limit in a bar.
pub fn mark(limit: Limit) -> Mark {
    let (letter, style) = match limit {
        Limit::ReceiverWindow => ('W', Style::Hue(0)),
        Limit::ZeroWindow => ('0', Style::Bad),
        Limit::SendBuffer => ('B', Style::Hue(1)),
        Limit::CongestionWindow => ('C', Style::Hue(2)),
        Limit::Loss => ('L', Style::Hue(5)),
        Limit::PathCapacity => ('P', Style::Good),
        Limit::Application => ('a', Style::Dim),
        Limit::SmallSegments => ('s', Style::Warn),
        Limit::NagleDelayedAck => ('n', Style::Hue(3)),
        Limit::Unknown => ('?', Style::Plain),
    };
    Mark { letter, style, name: limit.id().to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_limit_has_its_own_letter() {
        let letters: BTreeSet<char> = Limit::ALL.iter().map(|limit| mark(*limit).letter).collect();
        assert_eq!(letters.len(), Limit::ALL.len());
    }
}
