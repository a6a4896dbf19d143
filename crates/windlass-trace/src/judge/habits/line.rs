//! Waits in which a line delivered all it could, as the even spacing of data far from its
//! sender tells, or the constant sum of what several connections got of it.

use windlass_base::thresholds::{A_QUARTER, HALF_AGAIN, HALF_OF_IT, MOST_OF_IT, STEPS_A_ROUND};
use windlass_base::{Bytes, Span};

use crate::estimate::trains::LineSpacing;
use crate::follow::ledger::{Interval, WaitKind};
use crate::judge::checks::Checks;
use crate::judge::facts::Facts;

/// Returns how much of a wait the line took that spaced the data.
pub(crate) fn line_time(
    facts: &Facts,
    line: Option<LineSpacing>,
    wait: &Interval,
    checks: &mut Checks,
) -> Span {
    if !matches!(wait.kind, WaitKind::Idle | WaitKind::Open) {
        return Span::ZERO;
    }
    let of_all = time_of_all(facts, wait, checks);
    // At the sender each pause is its own.
    if wait.kind == WaitKind::Idle
        && facts.capture.is_far
        && let Some(shared) = facts.shared()
        && checks.at_least("time that the shared line was full", shared.busy, HALF_OF_IT)
    {
        return wait.charged.scaled(shared.busy).max(of_all.unwrap_or_default());
    }
    if let Some(time) = of_all {
        return time;
    }
    let Some(line) = line else { return Span::ZERO };
    let sending = line.rate.time_for(Bytes::new(wait.activity.sent)).min(wait.charged);
    let share = sending.share_of(wait.charged);
    let is_busy = checks.at_least("time that the line sent", share, MOST_OF_IT);
    match wait.kind {
        // The data came neither at once nor a round trip after an ACK.
        WaitKind::Idle if is_busy => wait.charged,
        WaitKind::Idle if checks.at_least("time that the line sent", share, A_QUARTER) => sending,
        WaitKind::Open
            if is_busy
                && checks.is(
                    "no window and no burst in each round trip makes this rate",
                    !is_window_rate(facts, line),
                ) =>
        {
            wait.charged
        }
        _ => Span::ZERO,
    }
}

/// Returns how much of a wait the line was full by the spacing of all data for this receiver.
fn time_of_all(facts: &Facts, wait: &Interval, checks: &mut Checks) -> Option<Span> {
    let whole = wait.end.since(wait.start);
    let share = facts.full_times()?.within(wait.start, wait.end).share_of(whole);
    let what = "time that the line to the receiver was full";
    if checks.at_least(what, share, MOST_OF_IT) {
        return Some(wait.charged);
    }
    (wait.kind == WaitKind::Idle && checks.at_least(what, share, A_QUARTER))
        .then(|| wait.charged.scaled(share))
}

/// Returns whether the receiver's window may be what makes for this rate, or data comes in
/// bursts, one in each round trip.
fn is_window_rate(facts: &Facts, line: LineSpacing) -> bool {
    let Some(rtt) = facts.path.rtt else { return true };
    // A receiver that withholds its ACKs makes the round trip that long.
    let latency = facts.acks.latency.median().unwrap_or_default();
    let rtt = rtt.max(latency + facts.capture.distance);
    if line.gap / 2 > rtt.scaled(HALF_AGAIN.get()) {
        // A sender that waited for ACKs would have sent sooner.
        return false;
    }
    let flight = line.rate.bytes_per_second() * rtt.as_seconds();
    line.gap * STEPS_A_ROUND.get() > rtt || flight > facts.window.most as f64 * MOST_OF_IT.get()
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::A_TENTH;
    use windlass_base::{Rate, Timestamp};

    use super::*;
    use crate::estimate::arrivals::Aggregate;
    use crate::estimate::shared_bottlenecks::FullTimes;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, STEP, TIME, quantiles, share_of};

    /// Returns how much of the wait a line took that spaced the data.
    fn time_of(transfer: &OrdinaryTransfer, line: Option<LineSpacing>) -> Span {
        line_time(&transfer.facts, line, &transfer.facts.waits[0], &mut Checks::silent())
    }

    /// Returns a line that carries two segments in so much time.
    fn line(gap: Span) -> LineSpacing {
        LineSpacing { rate: Bytes::new(2 * SEGMENT).per(gap), gap, few: false }
    }

    /// Returns a transfer at its receiver with this share of what a line carries, less by some
    /// bytes.
    fn sent(kind: WaitKind, line: LineSpacing, share: f64, less: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::far();
        transfer.wait().kind = kind;
        let carries = windlass_base::whole_part(line.rate.bytes_per_second() * TIME.as_seconds());
        transfer.activity().sent = share_of(share, carries) - less;
        transfer.facts.window.most = 1 << 20;
        transfer
    }

    /// A line so fast that no window or burst of an ordinary transfer makes its rate.
    const FAST: Span = Span::from_micros(292);

    #[test]
    fn a_busy_line_has_the_whole_wait() {
        let line = line(FAST);
        for kind in [WaitKind::Idle, WaitKind::Open] {
            let busy = sent(kind, line, MOST_OF_IT.get(), 0);
            assert_eq!(time_of(&busy, Some(line)), TIME);
            let idle = sent(kind, line, MOST_OF_IT.get(), 200);
            assert!(time_of(&idle, Some(line)) < TIME);
        }
        assert_eq!(time_of(&sent(WaitKind::Window, line, 1.0, 0), Some(line)), Span::ZERO);
    }

    #[test]
    fn a_line_has_its_part_of_a_pause() {
        let line = line(FAST);
        assert!(time_of(&sent(WaitKind::Idle, line, A_QUARTER.get(), 0), Some(line)) > Span::ZERO);
        assert_eq!(
            time_of(&sent(WaitKind::Idle, line, A_QUARTER.get(), 200), Some(line)),
            Span::ZERO
        );
        assert_eq!(
            time_of(&sent(WaitKind::Open, line, A_QUARTER.get(), 0), Some(line)),
            Span::ZERO
        );
    }

    #[test]
    fn a_window_does_not_make_the_rate_of_a_line_that_takes_less() {
        let line = line(FAST);
        let mut transfer = sent(WaitKind::Open, line, 1.0, 0);
        let flight = line.rate.bytes_per_second() * RTT.as_seconds();
        transfer.facts.window.most = windlass_base::whole_part(flight / MOST_OF_IT.get()) + 1;
        assert_eq!(time_of(&transfer, Some(line)), TIME);
        transfer.facts.window.most -= 2;
        assert_eq!(time_of(&transfer, Some(line)), Span::ZERO);
    }

    #[test]
    fn a_line_sends_several_pairs_in_a_round_trip() {
        let gap = RTT / STEPS_A_ROUND.get();
        let transfer = |gap| sent(WaitKind::Open, line(gap), 1.0, 0);
        assert_eq!(time_of(&transfer(gap), Some(line(gap))), TIME);
        let slower = gap + Span::from_micros(10);
        assert_eq!(time_of(&transfer(slower), Some(line(slower))), Span::ZERO);
    }

    #[test]
    fn a_line_slower_than_acks_waits_for_none() {
        let gap = RTT.scaled(HALF_AGAIN.get()) * 2;
        let transfer = |gap| sent(WaitKind::Open, line(gap), 1.0, 0);
        assert_eq!(time_of(&transfer(gap), Some(line(gap))), Span::ZERO);
        let slower = gap + Span::from_micros(10);
        assert_eq!(time_of(&transfer(slower), Some(line(slower))), TIME);
    }

    #[test]
    fn a_receiver_that_withholds_its_acks_makes_the_round_trip() {
        let gap = RTT.scaled(HALF_AGAIN.get()) * 2 + Span::from_micros(10);
        let mut transfer = sent(WaitKind::Open, line(gap), 1.0, 0);
        transfer.facts.acks.latency = quantiles([RTT]);
        assert_eq!(time_of(&transfer, Some(line(gap))), Span::ZERO);
    }

    #[test]
    fn a_pause_is_of_a_shared_line_that_is_mostly_full() {
        let rate = Rate::from_bytes_per_second(1e6);
        let time = |busy| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.wait().kind = WaitKind::Idle;
            let (mean, most, own) = (rate, rate, rate);
            let (is_line, connections, span) = (true, 2, RTT);
            transfer.facts.line.aggregate =
                Some(Aggregate { is_line, rate, busy, connections, mean, most, own, span });
            time_of(&transfer, None)
        };
        let full = HALF_OF_IT.get();
        assert_eq!(time(full), TIME.scaled(full));
        assert_eq!(time(full - 1e-9), Span::ZERO);
    }

    /// Returns a transfer at its receiver whose line is full for so much of the wait, and carries
    /// so much more than the transfer.
    fn full_for(kind: WaitKind, time: Span, others: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::far();
        transfer.wait().kind = kind;
        let bytes = Bytes::new(transfer.facts.counts.bytes + others);
        let rate = Rate::from_bytes_per_second(2e6);
        let full = FullTimes::of(rate, bytes, (Timestamp::ZERO, Timestamp::ZERO + time));
        transfer.facts.line.full_times = Some(full);
        transfer
    }

    const OTHERS: u64 = 2_000_000;

    #[test]
    fn a_line_to_the_receiver_that_is_full_has_the_wait() {
        let busy = TIME.scaled(MOST_OF_IT.get());
        for kind in [WaitKind::Idle, WaitKind::Open] {
            assert_eq!(time_of(&full_for(kind, busy, OTHERS), None), TIME);
            assert!(time_of(&full_for(kind, busy - STEP, OTHERS), None) < TIME);
        }
    }

    #[test]
    fn a_line_to_the_receiver_has_its_part_of_a_pause() {
        let part = TIME.scaled(A_QUARTER.get());
        assert_eq!(time_of(&full_for(WaitKind::Idle, part, OTHERS), None), part);
        assert_eq!(time_of(&full_for(WaitKind::Idle, part - STEP, OTHERS), None), Span::ZERO);
        assert_eq!(time_of(&full_for(WaitKind::Open, part, OTHERS), None), Span::ZERO);
    }

    #[test]
    fn others_have_a_share_of_the_line_to_the_receiver() {
        let own = OrdinaryTransfer::new().facts.counts.bytes as f64;
        let others = windlass_base::whole_part(own / (1.0 - A_TENTH.get()) - own);
        assert_eq!(time_of(&full_for(WaitKind::Open, TIME, others + 1), None), TIME);
        assert_eq!(time_of(&full_for(WaitKind::Open, TIME, others - 1), None), Span::ZERO);
    }
}
