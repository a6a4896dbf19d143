//! Settings of a test that a kernel did not grant.

use windlass_base::{Bytes, Sentence, sentence};

use crate::report::StreamReport;
use crate::transfer::{End, Transfer};

/// Bytes of a segment that the timestamp option takes (RFC 7323, section 3.2, padded).
const TIMESTAMPS: u32 = 12;

/// Returns a sentence on each setting of a direction that a kernel did not grant, by the reports of
/// its streams at the sender and at the receiver.
pub fn not_granted(
    transfer: &Transfer,
    from: End,
    senders: &[StreamReport],
    receivers: &[StreamReport],
) -> Vec<Sentence> {
    let mut found = Vec::new();
    if transfer.udp {
        return found;
    }
    if let Some(asked) = &transfer.congestion
        && let Some(other) = senders.iter().find(|stream| stream.congestion != *asked)
    {
        found.push(sentence!(
            "congestion control {asked}: the sender uses {}, which its route sets (congctl of ip \
             route)",
            other.congestion.as_str()
        ));
    }
    let least = |of: fn(&StreamReport) -> Bytes, all: &[StreamReport]| all.iter().map(of).min();
    // The requested receive buffer is twice the window, and the kernel grants twice that.
    if let Some(window) = transfer.buffers(from.other()).window
        && let Some(buffer) = least(|stream| stream.granted_receive_buffer_bytes, receivers)
        && buffer.get() < window.get().saturating_mul(4)
        && !offers(window, senders)
    {
        let half = Bytes::new(buffer.get() / 2);
        found.push(sentence!(
            "window of {window}: net.core.rmem_max of the receiver allows a buffer of {half}, data \
             and overhead together"
        ));
    }
    if let Some(asked) = transfer.buffers(from).send
        && let Some(buffer) = least(|stream| stream.granted_send_buffer_bytes, senders)
        && buffer.get() < asked.get().saturating_mul(2)
    {
        let half = Bytes::new(buffer.get() / 2);
        found.push(sentence!(
            "send buffer of {asked}: net.core.wmem_max of the sender allows {half}"
        ));
    }
    if let Some(asked) = transfer.mss
        && let Some(segment) = senders.iter().map(|stream| stream.mss_bytes).min()
        && segment + TIMESTAMPS < u32::from(asked)
    {
        let (asked, segment) = (Bytes::new(asked.into()), Bytes::new(segment.into()));
        found.push(sentence!(
            "MSS of {asked}: segments have {segment}, as an interface's MTU, the path's or the \
             other end allows no more"
        ));
    }
    found
}

/// Returns whether a receiver offered the whole window, a tenth aside.
fn offers(window: Bytes, senders: &[StreamReport]) -> bool {
    let offered = senders.iter().filter_map(|stream| stream.sender?.max_peer_window_bytes);
    offered.min().is_some_and(|offered| offered.get() >= window.get() / 10 * 9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::SenderStream;
    use crate::transfer::Buffers;

    /// Returns the sentences on a test whose sender and receiver have one stream each.
    fn told(transfer: &Transfer, stream: &StreamReport) -> Vec<String> {
        let streams = std::slice::from_ref(stream);
        let found = not_granted(transfer, End::Client, streams, streams);
        found.iter().map(ToString::to_string).collect()
    }

    fn granted() -> StreamReport {
        StreamReport {
            congestion: "cubic".to_owned(),
            mss_bytes: 1_448,
            granted_receive_buffer_bytes: Bytes::new(400_000),
            granted_send_buffer_bytes: Bytes::new(200_000),
            ..StreamReport::default()
        }
    }

    #[test]
    fn a_setting_that_was_granted_is_not_named() {
        let buffers =
            Buffers { window: Some(Bytes::new(100_000)), send: Some(Bytes::new(100_000)) };
        let congestion = Some("cubic".to_owned());
        let transfer = Transfer {
            client: buffers,
            server: buffers,
            mss: Some(1_460),
            congestion,
            ..Transfer::default()
        };
        assert_eq!(told(&transfer, &granted()), Vec::<String>::new());
        let fewer = StreamReport {
            congestion: "reno".to_owned(),
            mss_bytes: 1_447,
            granted_receive_buffer_bytes: Bytes::new(399_998),
            granted_send_buffer_bytes: Bytes::new(199_998),
            ..granted()
        };
        let said = told(&transfer, &fewer);
        assert_eq!(said.len(), 4, "{said:?}");
        let offered = Some(Bytes::new(90_000));
        let kernel = SenderStream { max_peer_window_bytes: offered, ..SenderStream::default() };
        let offered = StreamReport { sender: Some(kernel), ..fewer };
        assert_eq!(told(&transfer, &offered).len(), 3, "the window was offered nevertheless");
        assert!(told(&Transfer { udp: true, ..transfer }, &offered).is_empty());
        assert!(told(&Transfer::default(), &offered).is_empty());
    }
}
