//! What the kernel knows of a TCP connection: `TCP_INFO`.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::socket::{Numbers, get};

/// The kernel's `struct tcp_info` up to `tcpi_total_rto_time`, as in `linux/tcp.h`.
/// Kernels only ever add to its end: an older one writes less of it.
#[cfg_attr(test, derive(Default))]
#[repr(C)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    /// The sender's shift in the low half, the receiver's in the high one.
    scales: u8,
    /// Bit 0: `delivery_rate_app_limited`.
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

// SAFETY: a structure of numbers.
unsafe impl Numbers for Raw {}

/// `TCP_INFINITE_SSTHRESH`: no loss has set a threshold.
const INFINITE: u32 = 0x7fff_ffff;

/// What `tcpi_min_rtt` says before there is a sample.
const NO_SAMPLE: u32 = u32::MAX;

/// `TCP_CA_Loss`: the retransmission timer ran out, and its losses are being sent again.
const AFTER_TIMEOUT: u8 = 4;

/// `TCPI_OPT_TIMESTAMPS`.
const TIMESTAMPS: u8 = 1;

/// A moment of a TCP connection, as its kernel sees it.
///
/// Times are those that the kernel keeps, in microseconds. Segments count as the
/// stack handed them down: one that a card cuts up counts as its pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Whether both directions are open (`TCP_ESTABLISHED`).
    pub is_established: bool,
    /// True if the connection is over in both directions (`TCP_CLOSE`).
    pub is_closed: bool,
    /// The smoothed RTT; nothing before the first sample.
    pub rtt: Option<Duration>,
    /// The least RTT that was seen of late (`tcpi_min_rtt`).
    pub least_rtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Whether the retransmission timer ran out, and what was lost then is not repaired yet
    /// (`tcpi_ca_state`, `tcpi_retransmits`).
    pub is_after_timeout: bool,
    /// The size of the segments that are sent, in bytes. Linux sends no more than
    /// half of the largest window at once, so a small window makes it small.
    pub mss: u32,
    /// What fits into a segment by what this end told the other, without the
    /// time stamps.
    pub own_mss: u32,
    /// The congestion window, in segments.
    pub congestion_window: u32,
    /// The slow-start threshold, in segments; nothing before the first loss.
    pub slow_start_threshold: Option<u32>,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes in the send buffer that were never sent.
    pub unsent: u32,
    /// Bytes that the peer has acknowledged.
    pub acknowledged: u64,
    /// Bytes that came from the peer, in order.
    pub received: u64,
    /// Data segments sent, with those sent again.
    pub segments_sent: u32,
    /// Segments that were sent again.
    pub retransmissions: u32,
    /// Segments that arrived, with those beyond a hole and those sent again (Linux 4.18).
    pub delivered: u32,
    /// Of these, segments that a queue on the path marked (ECN, `tcpi_delivered_ce`, Linux 4.18).
    pub marked: u32,
    /// Bytes sent, with those sent again (Linux 4.19).
    pub sent: u64,
    /// Bytes that were sent again (Linux 4.19).
    pub retransmitted: u64,
    /// Segments that the peer says to have got twice (Linux 4.19).
    pub needless: u32,
    /// How often the peer's ACKs showed that segments had overtaken others (Linux 4.19).
    pub reorderings: u32,
    /// Segments that came from the peer out of order (Linux 5.4).
    pub out_of_order: u32,
    /// The largest packet that the path is believed to take (`tcpi_pmtu`), in bytes.
    pub path_mtu: u32,
    /// The rate at which data was delivered of late, in bytes per second.
    pub delivery_rate: u64,
    /// Whether [`Self::delivery_rate`] is the program's doing.
    pub is_application_limited: bool,
    /// The rate at which the kernel paces, in bytes per second; nothing where it
    /// does not.
    pub pacing_rate: Option<u64>,
    /// The pace that the program asked for (`SO_MAX_PACING_RATE`), in bytes per second; nothing
    /// where it did not.
    pub asked_pace: Option<u64>,
    /// Whether the kernel keeps the three clocks that follow (Linux 4.10).
    pub has_clocks: bool,
    /// How long there was something to send or to be acknowledged (Linux 4.10).
    pub busy: Duration,
    /// The part of [`Self::busy`] in which the peer's window held it up.
    pub receiver_limited: Duration,
    /// The part of [`Self::busy`] in which the send buffer held it up.
    pub buffer_limited: Duration,
    /// The window that the peer advertises, in bytes (Linux 5.4).
    pub peer_window: Option<u32>,
    /// The window that this end advertises, in bytes (Linux 6.2).
    pub own_window: Option<u32>,
    /// How long losses waited for a retransmission timer and were repaired after it, from when
    /// it first ran out (Linux 6.7).
    pub after_timeouts: Option<Duration>,
    /// How long ago the last ACK came.
    pub since_ack: Duration,
    /// The shifts of the windows: the peer's, which applies to what is sent, and
    /// the own one.
    pub scales: (u8, u8),
    /// Probes of a closed window that went unanswered.
    pub probes: u8,
    /// Timers in a row that ran out: of retransmissions, or of probes since a window closed.
    pub backoff: u8,
}

impl TcpInfo {
    /// Returns the bytes of data that were acknowledged. The kernel counts a SYN and a FIN as a
    /// byte each (RFC 4898), but not among those that it sent (Linux 4.19).
    pub fn acknowledged_data(&self) -> u64 {
        match self.sent.saturating_sub(self.retransmitted) {
            0 if self.acknowledged > 2 => self.acknowledged,
            sent => self.acknowledged.min(sent),
        }
    }
}

/// Asks the kernel about a connection.
///
/// # Errors
/// Where the socket is no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let (raw, length) = get::<Raw>(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(read(&raw, length))
}

/// Reads what the kernel wrote elsewhere, as behind `INET_DIAG_INFO`: what an older kernel does
/// not have is not there, and what a newer one has more is passed over.
pub(crate) fn parse(bytes: &[u8]) -> TcpInfo {
    let mut raw = MaybeUninit::<Raw>::zeroed();
    let length = bytes.len().min(size_of::<Raw>());
    // SAFETY: there is room for that many bytes, which lie elsewhere; and any bytes are a value.
    let raw = unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), raw.as_mut_ptr().cast::<u8>(), length);
        raw.assume_init()
    };
    read(&raw, length)
}

fn read(raw: &Raw, length: usize) -> TcpInfo {
    let has = |offset: usize, bytes: usize| length >= offset + bytes;
    let micros = |value: u32| Duration::from_micros(u64::from(value));
    TcpInfo {
        is_established: raw.state == 1,
        is_closed: raw.state == 7,
        rtt: (raw.rtt > 0).then(|| micros(raw.rtt)),
        least_rtt: (raw.min_rtt > 0 && raw.min_rtt != NO_SAMPLE).then(|| micros(raw.min_rtt)),
        rto: micros(raw.rto),
        is_after_timeout: raw.ca_state == AFTER_TIMEOUT || raw.retransmits > 0,
        mss: raw.snd_mss,
        own_mss: raw.advmss.saturating_sub(if raw.options & TIMESTAMPS == 0 { 0 } else { 12 }),
        congestion_window: raw.snd_cwnd,
        slow_start_threshold: (raw.snd_ssthresh < INFINITE).then_some(raw.snd_ssthresh),
        unacknowledged: raw.unacked,
        unsent: raw.notsent_bytes,
        acknowledged: raw.bytes_acked,
        received: raw.bytes_received,
        segments_sent: raw.data_segs_out,
        retransmissions: raw.total_retrans,
        delivered: raw.delivered,
        marked: raw.delivered_ce,
        sent: raw.bytes_sent,
        retransmitted: raw.bytes_retrans,
        needless: raw.dsack_dups,
        reorderings: raw.reord_seen,
        out_of_order: raw.rcv_ooopack,
        path_mtu: raw.pmtu,
        delivery_rate: raw.delivery_rate,
        is_application_limited: raw.flags & 1 == 1,
        // What is not paced has all ones.
        pacing_rate: (raw.pacing_rate != u64::MAX).then_some(raw.pacing_rate),
        asked_pace: (![0, u64::MAX, u64::from(u32::MAX)].contains(&raw.max_pacing_rate))
            .then_some(raw.max_pacing_rate),
        has_clocks: has(offset_of!(Raw, sndbuf_limited), size_of::<u64>()),
        busy: Duration::from_micros(raw.busy_time),
        receiver_limited: Duration::from_micros(raw.rwnd_limited),
        buffer_limited: Duration::from_micros(raw.sndbuf_limited),
        peer_window: has(offset_of!(Raw, snd_wnd), size_of::<u32>()).then_some(raw.snd_wnd),
        own_window: has(offset_of!(Raw, rcv_wnd), size_of::<u32>()).then_some(raw.rcv_wnd),
        after_timeouts: has(offset_of!(Raw, total_rto_time), size_of::<u32>())
            .then(|| Duration::from_millis(u64::from(raw.total_rto_time))),
        since_ack: Duration::from_millis(u64::from(raw.last_ack_recv)),
        scales: (raw.scales & 0xf, raw.scales >> 4),
        probes: raw.probes,
        backoff: raw.backoff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

    #[test]
    fn the_fields_lie_where_the_kernel_puts_them() {
        // From linux/tcp.h, 64 bits: two fields at each end of a group.
        assert_eq!(offset_of!(Raw, rto), 8);
        assert_eq!(offset_of!(Raw, total_retrans), 100);
        assert_eq!(offset_of!(Raw, pacing_rate), 104);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
        assert_eq!(offset_of!(Raw, bytes_sent), 200);
        assert_eq!(offset_of!(Raw, snd_wnd), 228);
        assert_eq!(offset_of!(Raw, rcv_wnd), 232);
        assert_eq!(offset_of!(Raw, total_rto_time), 244);
        assert_eq!(size_of::<Raw>(), 248);
    }

    #[test]
    fn a_connection_tells_what_it_carried() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[1; 5_000]).unwrap();
        let mut got = vec![0; 5_000];
        far.read_exact(&mut got).unwrap();
        // The answer carries the acknowledgment.
        far.write_all(b"!").unwrap();
        near.read_exact(&mut got[..1]).unwrap();
        let info = tcp_info(&near).unwrap();
        assert!(info.is_established);
        // The SYN counts as one, as in RFC 4898.
        assert!((5_000..=5_001).contains(&info.acknowledged), "{info:?}");
        assert_eq!(info.sent, 5_000);
        assert_eq!((info.retransmissions, info.retransmitted), (0, 0));
        assert!(info.delivered > 0 && !info.is_after_timeout, "{info:?}");
        assert_eq!(info.received, 1);
        assert!(info.rtt.is_some() && info.mss > 500 && info.congestion_window > 0, "{info:?}");
        assert!(info.peer_window.is_none_or(|window| window > 0));
        assert_eq!(info.slow_start_threshold, None);
        drop(far);
        assert_eq!(near.read(&mut got).unwrap(), 0);
        assert!(!tcp_info(&near).unwrap().is_established);
    }

    #[test]
    fn the_ends_of_a_connection_are_no_data() {
        let of = |acknowledged, sent, retransmitted| {
            TcpInfo { acknowledged, sent, retransmitted, ..TcpInfo::default() }.acknowledged_data()
        };
        assert_eq!([of(1, 0, 0), of(5_002, 5_000, 0), of(5_001, 6_000, 1_000)], [0, 5_000, 5_000]);
        assert_eq!(of(5_001, 0, 0), 5_001, "before Linux 4.19 nobody knows better");
    }

    #[test]
    fn what_an_old_kernel_does_not_write_is_not_known() {
        let raw = Raw { snd_wnd: 7, min_rtt: NO_SAMPLE, snd_ssthresh: INFINITE, ..Raw::default() };
        assert_eq!(read(&raw, 200).peer_window, None);
        let whole = read(&raw, size_of::<Raw>());
        assert_eq!(whole.peer_window, Some(7));
        assert_eq!((whole.least_rtt, whole.slow_start_threshold), (None, None));
    }

    #[test]
    fn bytes_of_any_length_are_read_as_far_as_they_go() {
        // Nothing is set but `tcpi_rtt`, at 68, and the last field of an old kernel's, at 100.
        let mut bytes = vec![0; 400];
        bytes[68..72].copy_from_slice(&1_500_u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&7_u32.to_ne_bytes());
        let of = |length: usize| parse(&bytes[..length]);
        assert_eq!((of(0).rtt, of(68).rtt, of(0).peer_window), (None, None, None));
        let old = of(104);
        assert_eq!((old.rtt, old.retransmissions), (Some(Duration::from_micros(1_500)), 7));
        assert!(!old.has_clocks && of(192).has_clocks && !of(191).has_clocks);
        assert_eq!((of(231).peer_window, of(232).peer_window), (None, Some(0)));
        assert_eq!((of(235).own_window, of(236).own_window), (None, Some(0)));
        assert_eq!((of(247).after_timeouts, of(248).after_timeouts), (None, Some(Duration::ZERO)));
        assert_eq!(of(248), of(400), "what is not known yet changes nothing");
    }

    #[test]
    fn another_socket_has_none() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(tcp_info(&socket).is_err());
    }
}
