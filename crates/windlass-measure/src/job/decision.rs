//! Decision between two verdicts on a job.
//!
//! Packets contain each ACK, but the kernel is sampled only every 50 ms. The packets therefore
//! decide, except for facts that no packet shows.

use windlass_base::verdict::{Confidence, Verdict};
use windlass_base::{Cause, Limit};

use super::choice::VerdictSource;

/// Verdict of a job, and its source.
#[derive(Debug, Default)]
pub(super) struct Decision {
    pub(super) verdict: Option<Verdict>,
    pub(super) by: Option<VerdictSource>,
}

impl Decision {
    /// Decides between the verdicts of packets and kernel, as far as they exist.
    pub(super) fn of(packets: Option<&Verdict>, kernel: Option<&Verdict>) -> Self {
        let is_known = |verdict: &&Verdict| verdict.cause != Cause::Unknown;
        let kernel_knows = kernel.filter(is_known);
        let (verdict, by) = match (packets, kernel_knows) {
            (Some(packets), Some(kernel)) if is_the_kernels(packets, kernel) => {
                (kernel, VerdictSource::Kernel)
            }
            (Some(packets), kernel) => {
                let mut verdict = packets.clone();
                if kernel.is_some_and(|kernel| contradicts(kernel, packets)) {
                    verdict.confidence = verdict.confidence.min(Confidence::Medium);
                }
                return Self { verdict: Some(verdict), by: Some(VerdictSource::Packets) };
            }
            (None, _) => match kernel {
                Some(kernel) => (kernel, VerdictSource::Kernel),
                None => return Self::default(),
            },
        };
        Self { verdict: Some(verdict.clone()), by: Some(by) }
    }
}

/// Returns whether the kernel knows a fact that no packet shows: a saturated processor, or a send
/// buffer that in packets looks like a steady congestion window.
fn is_the_kernels(packets: &Verdict, kernel: &Verdict) -> bool {
    match packets.cause {
        Cause::Unknown => kernel.confidence > Confidence::Low,
        Cause::SenderIdle => kernel.cause == Cause::Processor,
        Cause::Steady => kernel.cause.limit() == Limit::SendBuffer,
        _ => false,
    }
}

/// Returns whether the kernel is confident of another limit.
fn contradicts(kernel: &Verdict, packets: &Verdict) -> bool {
    kernel.confidence > Confidence::Low && kernel.cause.limit() != packets.cause.limit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Rate;

    fn verdict(cause: Cause, confidence: Confidence) -> Verdict {
        Verdict {
            cause,
            between: Vec::new(),
            share: 1.0,
            limit_share: 1.0,
            sentence: "It waits.".into(),
            evidence: Vec::new(),
            law: None,
            predicted_bytes_per_second: None,
            measured_bytes_per_second: Rate::ZERO,
            next: None,
            remedies: Vec::new(),
            confidence,
            caveats: Vec::new(),
        }
    }

    fn decided(packets: Option<Cause>, kernel: Option<(Cause, Confidence)>) -> Option<String> {
        let packets = packets.map(|cause| verdict(cause, Confidence::High));
        let kernel = kernel.map(|(cause, confidence)| verdict(cause, confidence));
        let Decision { verdict, by } = Decision::of(packets.as_ref(), kernel.as_ref());
        let Verdict { cause, confidence, .. } = verdict?;
        Some(format!("{cause} {} by {:?}", confidence.id(), by?))
    }

    #[test]
    fn the_packets_decide() {
        use Confidence::{High, Low, Medium};
        let of = |packets, kernel| decided(Some(packets), Some(kernel)).unwrap();
        let is = |text: &str, packets, kernel| assert_eq!(of(packets, kernel), text);
        let reader = Cause::ReceiverLimited;
        is("application/receiver-limited high by Packets", reader, (reader, Medium));
        is("application/receiver-limited high by Packets", reader, (Cause::Unknown, Low));
        // Two confident verdicts that differ.
        let other = (Cause::WindowAckLatency, Medium);
        is("application/receiver-limited medium by Packets", reader, other);
        assert_eq!(decided(Some(reader), None).unwrap(), is_high(reader));
        assert_eq!(decided(None, None), None);
        assert_eq!(
            decided(None, Some((reader, High))).unwrap().split(' ').next_back(),
            Some("Kernel")
        );
    }

    fn is_high(cause: Cause) -> String {
        format!("{cause} high by Packets")
    }

    #[test]
    fn what_no_packet_shows_is_the_kernels_to_tell() {
        use Confidence::{High, Low};
        let of = |packets, kernel| decided(Some(packets), Some(kernel)).unwrap();
        let ends = |text: String, by| assert!(text.ends_with(by), "{text}");
        ends(of(Cause::SenderIdle, (Cause::Processor, High)), "Kernel");
        ends(of(Cause::Steady, (Cause::BufferPathRtt, High)), "Kernel");
        ends(of(Cause::Unknown, (Cause::PathQueue, High)), "Kernel");
        ends(of(Cause::Unknown, (Cause::PathQueue, Low)), "Packets");
        ends(of(Cause::WindowPathRtt, (Cause::Processor, High)), "Packets");
    }
}
