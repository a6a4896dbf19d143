//! The kernel's state of a TCP connection: `TCP_INFO`.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::socket::{Numbers, get};

/// The kernel's `struct tcp_info` up to `tcpi_total_rto_time`, as in `linux/tcp.h`. Kernels only
/// ever add fields at its end, so an older one writes a shorter structure.
#[cfg_attr(test, derive(Default))]
#[repr(C)]
struct RawTcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    /// Window scale of the sender in the low half, that of the receiver in the high half.
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
unsafe impl Numbers for RawTcpInfo {}

/// `TCP_INFINITE_SSTHRESH`: no loss has set a threshold.
const INFINITE: u32 = 0x7fff_ffff;

/// Value of `tcpi_min_rtt` before the first sample.
const NO_SAMPLE: u32 = u32::MAX;

/// `TCP_CA_Loss`: the retransmission timer ran out, and its losses are being sent again.
const AFTER_TIMEOUT: u8 = 4;

/// `TCPI_OPT_TIMESTAMPS`.
const TIMESTAMPS: u8 = 1;

/// Snapshot of a TCP connection, as its kernel sees it.
///
/// Times are the kernel's, in microseconds. Segments count as the stack handed them to the network
/// card: one that the card splits counts as its pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// True if both directions are open (`TCP_ESTABLISHED`).
    pub is_established: bool,
    /// True if the connection is over in both directions (`TCP_CLOSE`).
    pub is_closed: bool,
    /// The smoothed RTT; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// The minimum RTT over the kernel's recent window (`tcpi_min_rtt`).
    pub least_rtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// True if the retransmission timer expired, and the loss is not repaired yet (`tcpi_ca_state`,
    /// `tcpi_retransmits`).
    pub is_after_timeout: bool,
    /// Size of the segments sent, in bytes. Linux sends at most half of the largest window at once,
    /// so a small window makes the segments small.
    pub mss: u32,
    /// MSS that this end announced, without time stamps.
    pub own_mss: u32,
    /// The congestion window, in segments.
    pub congestion_window: u32,
    /// The slow-start threshold, in segments; `None` before the first loss.
    pub slow_start_threshold: Option<u32>,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes in the send buffer that were never sent.
    pub unsent: u32,
    /// Bytes acknowledged by the peer.
    pub acknowledged: u64,
    /// Bytes received from the peer, in order.
    pub received: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u32,
    /// Segments retransmitted.
    pub retransmissions: u32,
    /// Segments delivered to the peer, also out of order and retransmitted (Linux 4.18).
    pub delivered: u32,
    /// Of these, segments that a queue on the path marked (ECN, `tcpi_delivered_ce`, Linux 4.18).
    pub marked: u32,
    /// Bytes sent, retransmissions included (Linux 4.19).
    pub sent: u64,
    /// Bytes retransmitted (Linux 4.19).
    pub retransmitted: u64,
    /// Segments that the peer reported as received twice, by D-SACK (Linux 4.19).
    pub needless: u32,
    /// Number of times that the peer's ACKs showed reordering (Linux 4.19).
    pub reorderings: u32,
    /// Segments received out of order (Linux 5.4).
    pub out_of_order: u32,
    /// The path MTU known to the kernel, in bytes (`tcpi_pmtu`).
    pub path_mtu: u32,
    /// The latest delivery rate, in bytes per second.
    pub delivery_rate: u64,
    /// True if the sending program limited [`Self::delivery_rate`].
    pub is_application_limited: bool,
    /// The kernel's pacing rate, in bytes per second; `None` without pacing.
    pub pacing_rate: Option<u64>,
    /// The maximum pacing rate set by the program (`SO_MAX_PACING_RATE`), in bytes per second;
    /// `None` if it set none.
    pub asked_pace: Option<u64>,
    /// True if the kernel keeps the three clocks that follow (Linux 4.10).
    pub has_clocks: bool,
    /// Time with data to send or to be acknowledged (Linux 4.10).
    pub busy: Duration,
    /// Part of [`Self::busy`] in which the peer's window was the limit.
    pub receiver_limited: Duration,
    /// Part of [`Self::busy`] in which the send buffer was the limit.
    pub buffer_limited: Duration,
    /// The window advertised by the peer, in bytes (Linux 5.4).
    pub peer_window: Option<u32>,
    /// The window advertised by this end, in bytes (Linux 6.2).
    pub own_window: Option<u32>,
    /// Time in recovery from retransmission timeouts, from the first timeout until the losses were
    /// repaired (Linux 6.7).
    pub after_timeouts: Option<Duration>,
    /// Time since the last ACK.
    pub since_ack: Duration,
    /// Window scales: the peer's, which applies to data sent, and this end's.
    pub scales: (u8, u8),
    /// Unanswered probes of a closed window.
    pub probes: u8,
    /// Consecutive timeouts: of retransmissions, or of probes since a window closed.
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

/// Reads the kernel's state of a connection.
///
/// # Errors
/// Fails if the socket is no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let (raw, length) = get::<RawTcpInfo>(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(read(&raw, length))
}

/// Parses a structure that the kernel wrote elsewhere, as behind `INET_DIAG_INFO`. Fields that an
/// older kernel lacks are absent, and additional fields of a newer one are ignored.
pub(crate) fn parse(bytes: &[u8]) -> TcpInfo {
    let mut raw = MaybeUninit::<RawTcpInfo>::zeroed();
    let length = bytes.len().min(size_of::<RawTcpInfo>());
    // SAFETY: there is room for that many bytes, which lie elsewhere; and any bytes are a value.
    let raw = unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), raw.as_mut_ptr().cast::<u8>(), length);
        raw.assume_init()
    };
    read(&raw, length)
}

fn read(raw: &RawTcpInfo, length: usize) -> TcpInfo {
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
        // All ones mean that the connection is not paced.
        pacing_rate: (raw.pacing_rate != u64::MAX).then_some(raw.pacing_rate),
        asked_pace: (![0, u64::MAX, u64::from(u32::MAX)].contains(&raw.max_pacing_rate))
            .then_some(raw.max_pacing_rate),
        has_clocks: has(offset_of!(RawTcpInfo, sndbuf_limited), size_of::<u64>()),
        busy: Duration::from_micros(raw.busy_time),
        receiver_limited: Duration::from_micros(raw.rwnd_limited),
        buffer_limited: Duration::from_micros(raw.sndbuf_limited),
        peer_window: has(offset_of!(RawTcpInfo, snd_wnd), size_of::<u32>()).then_some(raw.snd_wnd),
        own_window: has(offset_of!(RawTcpInfo, rcv_wnd), size_of::<u32>()).then_some(raw.rcv_wnd),
        after_timeouts: has(offset_of!(RawTcpInfo, total_rto_time), size_of::<u32>())
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
        assert_eq!(offset_of!(RawTcpInfo, rto), 8);
        assert_eq!(offset_of!(RawTcpInfo, total_retrans), 100);
        assert_eq!(offset_of!(RawTcpInfo, pacing_rate), 104);
        assert_eq!(offset_of!(RawTcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(RawTcpInfo, bytes_sent), 200);
        assert_eq!(offset_of!(RawTcpInfo, snd_wnd), 228);
        assert_eq!(offset_of!(RawTcpInfo, rcv_wnd), 232);
        assert_eq!(offset_of!(RawTcpInfo, total_rto_time), 244);
        assert_eq!(size_of::<RawTcpInfo>(), 248);
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
        // The SYN counts as a byte, as in RFC 4898.
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
        let raw = RawTcpInfo {
            snd_wnd: 7,
            min_rtt: NO_SAMPLE,
            snd_ssthresh: INFINITE,
            ..RawTcpInfo::default()
        };
        assert_eq!(read(&raw, 200).peer_window, None);
        let whole = read(&raw, size_of::<RawTcpInfo>());
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
