//! Known disagreements, each with its reason. What is not here must agree.

/// Captures that a tool is known to read otherwise.
pub(crate) struct KnownDifference {
    pub(crate) tool: &'static str,
    pub(crate) figure: &'static str,
    pub(crate) files: &'static [&'static str],
    pub(crate) why: &'static str,
}

impl KnownDifference {
    pub(crate) fn covers(&self, tool: &str, figure: &str, file: &str) -> bool {
        self.tool == tool && self.figure == figure && self.files.contains(&file)
    }
}

const fn tshark(
    figure: &'static str,
    files: &'static [&'static str],
    why: &'static str,
) -> KnownDifference {
    KnownDifference { tool: "tshark", figure, files, why }
}

const fn tcptrace(
    figure: &'static str,
    files: &'static [&'static str],
    why: &'static str,
) -> KnownDifference {
    KnownDifference { tool: "tcptrace", figure, files, why }
}

const CAPTURED_TWICE: &[&str] = &[
    "twice-same.pcap.gz",
    "twice-routed.pcap.gz",
    "both-ends-merged.pcap.gz",
    "tcptrace_hardware_dups.pcap",
];

const LOST_ON_THE_WAY_SEEN_AT_THE_RECEIVER: &[&str] = &[
    "congestion-window-after-loss-reno.rcv.pcap.gz",
    "congestion-window-after-loss-cubic.rcv.pcap.gz",
    "congestion-window-after-loss-early.rcv.pcap.gz",
    "loss-fast-recovery-2pc.rcv.pcap.gz",
    "loss-fast-recovery-5pc.rcv.pcap.gz",
    "loss-timeout-25pc.rcv.pcap.gz",
    "loss-timeout-outages.rcv.pcap.gz",
    "path-capacity.rcv.pcap.gz",
    "path-capacity-shallow-queue.rcv.pcap.gz",
    "loss-receiver-discards.rcv.pcap.gz",
    "loss-black-hole.rcv.pcap.gz",
    "path-capacity-policer.rcv.pcap.gz",
    "loss-slow-timer.rcv.pcap.gz",
];

const DUPLICATED: &[&str] = &["duplicated-by-network.rcv.pcap.gz"];

pub(crate) const KNOWN: &[KnownDifference] = &[
    // tshark
    tshark(
        "retransmissions",
        &[
            "congestion-window-after-loss-reno.snd.pcap.gz",
            "congestion-window-after-loss-reno.rcv.pcap.gz",
            "congestion-window-after-loss-cubic.snd.pcap.gz",
            "congestion-window-after-loss-cubic.rcv.pcap.gz",
            "congestion-window-after-loss-early.snd.pcap.gz",
            "congestion-window-after-loss-early.rcv.pcap.gz",
            "loss-fast-recovery-2pc.snd.pcap.gz",
            "loss-fast-recovery-2pc.rcv.pcap.gz",
            "loss-fast-recovery-5pc.snd.pcap.gz",
            "loss-fast-recovery-5pc.rcv.pcap.gz",
            "loss-timeout-25pc.snd.pcap.gz",
            "loss-timeout-25pc.rcv.pcap.gz",
            "loss-timeout-outages.rcv.pcap.gz",
            "path-capacity.snd.pcap.gz",
            "path-capacity-shallow-queue.snd.pcap.gz",
            "path-capacity-shallow-queue.rcv.pcap.gz",
            "loss-receiver-discards.snd.pcap.gz",
            "loss-receiver-discards.rcv.pcap.gz",
            "loss-black-hole.snd.pcap.gz",
            "loss-black-hole.rcv.pcap.gz",
            "path-capacity-policer.snd.pcap.gz",
            "path-capacity-policer.rcv.pcap.gz",
            "congestion-window-reordering.snd.pcap.gz",
            "no-handshake-capacity.pcap.gz",
            "suricata_bug4376_vlan_sack.pcap",
            "tcptrace_sack_nasa_sim.pcap",
            "tcptrace_urgent_zwin.pcap",
            "zeek_206_example_a.pcap",
            "zeek_pppoe_qinq_retrans.pcap",
        ],
        "tshark calls what fills a hole soon after the last segment, or within a round trip, out \
         of order, though its IP identification is later than its neighbours'.",
    ),
    tshark(
        "retransmissions",
        &["reordering.rcv.pcap.gz", "congestion-window-reordering.rcv.pcap.gz"],
        "tshark calls overtaken segments fast retransmissions after three duplicate ACKs; their \
         IP identifications are in the order of their numbers, so they were sent once.",
    ),
    tshark(
        "fast",
        &["reordering.rcv.pcap.gz", "congestion-window-reordering.rcv.pcap.gz"],
        "tshark calls overtaken segments fast retransmissions after three duplicate ACKs.",
    ),
    tshark(
        "probes",
        &[
            "own_linux618_zerowindow_probes.pcap",
            "sanders_zerowindowdead.pcapng",
            "snap-68.pcap.gz",
            "zero-window-device-stall.snd.pcap.gz",
            "zero-window-device-stall.rcv.pcap.gz",
            "zero-window-no-update.snd.pcap.gz",
            "zero-window-no-update.rcv.pcap.gz",
            "zero-window-not-reading.snd.pcap.gz",
            "zero-window-not-reading.rcv.pcap.gz",
        ],
        "tshark takes Linux's persist probes of no bytes for keep-alives.",
    ),
    tshark("late data", CAPTURED_TWICE, "tshark counts the second copy of a packet as sent again."),
    tshark(
        "retransmissions",
        CAPTURED_TWICE,
        "tshark counts the second copy of a packet as sent again.",
    ),
    tshark(
        "duplicate ACKs",
        &["twice-same.pcap.gz", "twice-routed.pcap.gz", "both-ends-merged.pcap.gz"],
        "tshark counts the second copy of an ACK as a duplicate.",
    ),
    tshark(
        "handshake",
        &["twice-same.pcap.gz", "twice-routed.pcap.gz", "both-ends-merged.pcap.gz"],
        "tshark measures from one copy of the handshake to another.",
    ),
    tshark(
        "ACK latency, median",
        &["tcptrace_hardware_dups.pcap"],
        "tshark measures from one copy of a segment to another's ACK.",
    ),
    tshark("late data", DUPLICATED, "The network made the copies: the sender sent each once."),
    tshark(
        "retransmissions",
        DUPLICATED,
        "The network made the copies: the sender sent each once.",
    ),
    tshark("needless", DUPLICATED, "The network made the copies: the sender sent each once."),
    tshark(
        "duplicate ACKs, of D-SACK too",
        &["no-handshake-capacity.pcap.gz"],
        "The first ACK of the capture carries a SACK block: tshark has none before it.",
    ),
    tshark(
        "handshake",
        &["data-only-idle.pcap.gz", "data-only-window.pcap.gz"],
        "tshark measures from the SYN to the third segment, though the second is not there.",
    ),
    tshark(
        "ACK latency, median",
        &[
            "loss-timeout-25pc.snd.pcap.gz",
            "loss-timeout-outages.snd.pcap.gz",
            "loss-receiver-discards.rcv.pcap.gz",
            "sanders_dupack.pcapng",
            "tcptrace_psc_fddi.pcap",
        ],
        "tshark measures ACKs of segments that were sent again too; Karn's rule leaves them out.",
    ),
    tshark(
        "ACK latency, median",
        &[
            "suricata_bug4376_vlan_sack.pcap",
            "loss-fast-recovery-2pc.rcv.pcap.gz",
            "loss-fast-recovery-5pc.rcv.pcap.gz",
            "loss-timeout-25pc.rcv.pcap.gz",
            "congestion-window-reordering.rcv.pcap.gz",
            "loss-slow-timer.rcv.pcap.gz",
            "path-capacity-shallow-queue.rcv.pcap.gz",
            "reordering.rcv.pcap.gz",
        ],
        "tshark measures segments that waited for another to be repaired; the ACK was not theirs.",
    ),
    tshark(
        "ACK latency, most",
        &["sanders_dupack.pcapng"],
        "tshark measures the ACK of the one segment that was sent again; Karn's rule leaves it \
         out.",
    ),
    // tcptrace
    tcptrace(
        "connection",
        &["suricata_sll2_tso.pcap", "zeek_pppoe_qinq_retrans.pcap"],
        "tcptrace does not read Linux cooked v2, nor PPPoE under QinQ.",
    ),
    tcptrace(
        "retransmissions",
        LOST_ON_THE_WAY_SEEN_AT_THE_RECEIVER,
        "tcptrace calls whatever fills a hole out of order: the first copy was lost before the \
         capture.",
    ),
    tcptrace(
        "retransmissions",
        &["no-handshake-capacity.pcap.gz", "tcptrace_urgent_zwin.pcap"],
        "tcptrace calls what was sent before the capture, or is missing from it, and is sent \
         again, out of order.",
    ),
    tcptrace(
        "late data",
        &["tcptrace_urgent_zwin.pcap"],
        "tcptrace counts the byte of a probe that is sent once more as the window opens.",
    ),
    tcptrace("late data", CAPTURED_TWICE, "tcptrace counts the second copy of a packet."),
    tcptrace("retransmissions", CAPTURED_TWICE, "tcptrace counts the second copy of a packet."),
    tcptrace("late data", DUPLICATED, "The network made the copies: the sender sent each once."),
    tcptrace(
        "retransmissions",
        DUPLICATED,
        "The network made the copies: the sender sent each once.",
    ),
    tcptrace(
        "late data",
        &["suricata_bug4376_vlan_sack.pcap", "zeek_206_example_a.pcap"],
        "tcptrace counts a SYN that is sent again as data.",
    ),
    tcptrace(
        "retransmissions",
        &["suricata_bug4376_vlan_sack.pcap", "zeek_206_example_a.pcap"],
        "tcptrace counts a SYN that is sent again as data.",
    ),
    tcptrace(
        "probes",
        &[
            "own_linux618_zerowindow_probes.pcap",
            "snap-68.pcap.gz",
            "zero-window-device-stall.snd.pcap.gz",
            "zero-window-device-stall.rcv.pcap.gz",
            "zero-window-no-update.snd.pcap.gz",
            "zero-window-no-update.rcv.pcap.gz",
            "zero-window-not-reading.snd.pcap.gz",
            "zero-window-not-reading.rcv.pcap.gz",
        ],
        "tcptrace does not know persist probes of no bytes.",
    ),
    tcptrace(
        "probes",
        &["zero-window-slow-reader.rcv.pcap.gz"],
        "tcptrace takes a full segment that is sent again, and meets a closed window, for a probe.",
    ),
    tcptrace(
        "late data",
        &["zero-window-slow-reader.rcv.pcap.gz"],
        "tcptrace takes a full segment that is sent again, and meets a closed window, for a probe.",
    ),
    tcptrace(
        "retransmissions",
        &["zero-window-slow-reader.rcv.pcap.gz"],
        "tcptrace takes a full segment that is sent again, and meets a closed window, for a probe.",
    ),
    tcptrace(
        "bytes",
        &[
            "acks-only-window.pcap.gz",
            "capture-loss.pcap.gz",
            "capture-loss-idle.pcap.gz",
            "no-handshake-capacity.pcap.gz",
            "tcptrace_urgent_zwin.pcap",
        ],
        "What was acknowledged was transferred, though the capture does not hold it.",
    ),
    tcptrace(
        "RTT, least",
        &[
            "no-handshake-capacity.pcap.gz",
            "receiver-window-ack-latency.snd.pcap.gz",
            "receiver-window-ack-latency-16k.snd.pcap.gz",
            "receiver-window-below-mss.snd.pcap.gz",
            "send-buffer-delayed-ack-150ms.snd.pcap.gz",
            "send-buffer-delayed-ack-500ms.snd.pcap.gz",
            "send-buffer-delayed-ack-8k.snd.pcap.gz",
            "send-buffer-delayed-ack-short-tails.snd.pcap.gz",
            "send-buffer-delayed-ack-gso.snd.pcap.gz",
            "tcptrace_psc_fddi.pcap",
            "zero-window-no-update.snd.pcap.gz",
            "zero-window-opens-late.snd.pcap.gz",
        ],
        "tcptrace measures the ACK of the FIN as well, which comes at once.",
    ),
    tcptrace(
        "ACK latency, most",
        &["loss-timeout-25pc.snd.pcap.gz"],
        "tcptrace measures a segment that waited for another to be repaired.",
    ),
    tcptrace(
        "ACK latency, most",
        &[
            "application-receiver-limited.snd.pcap.gz",
            "application-receiver-limited-long-path.snd.pcap.gz",
            "congestion-window-slow-start-short.snd.pcap.gz",
            "small-segments-send-buffer.snd.pcap.gz",
            "suricata_ipv6_loopback_gso.pcap",
        ],
        "tcptrace measures the ACK of the FIN as well.",
    ),
    tcptrace(
        "ACK latency, most",
        &["application-receiver-limited-silly.snd.pcap.gz"],
        "tcptrace measures the answer to the SYN as well.",
    ),
];
