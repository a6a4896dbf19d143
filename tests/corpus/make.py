#!/usr/bin/env python3
# SPDX-License-Identifier: CC0-1.0
"""Make captures of real Linux TCP whose limit is known, because we set it.

    make.py --list              the scenarios, and what each must show
    make.py NAME...             make these (a prefix will do: `make.py loss-`)
    make.py --all               make them all
    make.py --look FILE...      our own reading of a capture, to check by eye
    make.py --toml              write corpus.toml for the files that are there

Root is needed: two network namespaces, a TUN device in each, and a relay
process between them that delays, paces, drops, reorders and duplicates.
Everything made is taken away again, and only by its own name or pid.
Standard library, `ip` and `tcpdump` only. What a scenario says is in
SCENARIOS; what the kernel itself said of the transfer (TCP_INFO) is kept
beside each capture as evidence.
"""
import argparse
import json
import os
import tempfile

from lab import answering, bulk, bulk_eor, bursts, make_tun, make_veth, requests, sink
from look import cut, direction, later, look, pack, read_pcap, some, write_pcap

HERE = os.path.dirname(os.path.abspath(__file__))


# ------------------------------------------------------------ scenarios

BIG = 2 * 1024 * 1024  # a receive buffer that never limits here
MB = 1000 * 1000


def S(limit, because, what, rtt, sender, receiver=None, **kw):
    d = dict(limit=limit, because=because, what=what, rtt=rtt, sender=sender, **kw)
    if receiver:
        d["receiver"] = receiver
    return d


SCENARIOS = {
    # --- receiver-window
    "receiver-window-path-rtt": S(
        "receiver-window", "path-rtt", "SO_RCVBUF 16 KiB, path of 36 ms, no window scale in use",
        0.036, bulk(1000000), sink(rcvbuf=16384)),
    "receiver-window-path-rtt-scaled": S(
        "receiver-window", "path-rtt", "SO_RCVBUF 64 KiB, window scale, path of 10 ms",
        0.010, bulk(2000000), sink(rcvbuf=65536)),
    "receiver-window-ack-latency": S(
        "receiver-window", "ack-latency", "device: window 2920 = 2 frames, ACK 117 ms after data, path of 6 ms",
        0.006, bulk(100000), device=dict(window=2920, ack_after=0.117),
        facts=dict(window_bytes=(2920, 0), ack_latency_seconds=(0.117, 0.03))),
    "receiver-window-ack-latency-16k": S(
        "receiver-window", "ack-latency", "device: window 16 KiB, no whole number of frames, ACK after 60 ms",
        0.002, bulk(500000), device=dict(window=16384, ack_after=0.060),
        facts=dict(window_bytes=(16384, 0), ack_latency_seconds=(0.060, 0.03))),
    "receiver-window-below-mss-linux": S(
        "receiver-window", "window-below-mss", "Linux with SO_RCVBUF at its least: window 576 under an MSS of 1448, 10 ms",
        0.010, bulk(100000), sink(rcvbuf=1024)),
    "receiver-window-path-rtt-long": S(
        "receiver-window", "path-rtt", "SO_RCVBUF 48 KiB, path of 150 ms",
        0.150, bulk(1200000), sink(rcvbuf=49152)),
    "receiver-window-acks-lost": S(
        "receiver-window", "path-rtt", "30 % of the ACKs are lost and no data; SO_RCVBUF 32 KiB, path of 40 ms",
        0.040, bulk(800000), sink(rcvbuf=32768), rev=dict(ack_loss=0.3, seed=2), caveat_snd=["ack-loss"]),
    "receiver-window-below-mss": S(
        "receiver-window", "window-below-mss", "device: window 1024 under an MSS of 1460, ACK after 10 ms, path of 4 ms",
        0.004, bulk(100000), device=dict(window=1024, ack_after=0.010), facts=dict(window_bytes=(1024, 0))),
    # --- zero-window
    "zero-window-not-reading": S(
        "zero-window", "receiver-not-reading", "Linux reader with SO_RCVBUF 16 KiB sleeps 1.2 s, 2 s and 1 s",
        0.010, bulk(600000), sink(rcvbuf=16384, pauses=[(100000, 1.2), (250000, 2.0), (400000, 1.0)])),
    "zero-window-slow-reader": S(
        "application", "receiver-limited", "Linux reader with SO_RCVBUF 16 KiB takes 4 KiB every 200 ms, path of 4 ms",
        0.004, bulk(110000), sink(rcvbuf=16384, read=4096, every=0.2), facts=dict(persist_probes=(0, 0))),
    "zero-window-device-stall": S(
        "zero-window", "receiver-not-reading",
        "device: window 8760, ACK after 5 ms; at 60 kB it stops reading for 2.2 s, then opens by itself",
        0.004, bulk(120000), device=dict(window=8760, ack_after=0.005, stalls=[(60000, 2.2)]),
        facts=dict(longest_stall_seconds=(2.2, 0.03))),
    "zero-window-opens-late": S(
        "zero-window", "window-opens-late", "device: ACK with window 0 after 1 ms, window 2920 follows 12 ms later",
        0.004, bulk(400000), device=dict(window=2920, ack_after=0.001, close_for=0.012)),
    "zero-window-no-update": S(
        "zero-window", "no-window-update",
        "device: closes when its 8760 bytes are full and opens only in the answer to the second probe",
        0.006, bulk(100000), device=dict(window=8760, ack_after=0.002, probes_to_open=2)),
    # --- send-buffer. The kernel lets a writer exceed SO_SNDBUF by one super-packet, so the
    # smallest buffers bind as set only where segments leave one by one (gso=False).
    "send-buffer-path-rtt": S(
        "send-buffer", "path-rtt", "SO_SNDBUF 16 KiB, 64 KiB writes, path of 40 ms, receiver's window far larger",
        0.040, bulk(700000, sndbuf=16384), sink(rcvbuf=BIG), gso=False,
        rcv_accept=["congestion-window/steady", "unknown"]),
    "send-buffer-path-rtt-small-writes": S(
        "send-buffer", "path-rtt", "SO_SNDBUF 16 KiB, 1000-byte writes, path of 40 ms",
        0.040, bulk(600000, write=1000, sndbuf=16384), sink(rcvbuf=BIG), gso=False,
        rcv_accept=["congestion-window/steady", "unknown"]),
    "send-buffer-path-rtt-8k": S(
        "send-buffer", "path-rtt", "SO_SNDBUF 8 KiB, 64 KiB writes, path of 40 ms",
        0.040, bulk(400000, sndbuf=8192), sink(rcvbuf=BIG), gso=False,
        rcv_accept=["congestion-window/steady", "unknown"]),
    "send-buffer-path-rtt-gso": S(
        "send-buffer", "path-rtt", "SO_SNDBUF 16 KiB with offload on: what is in flight swells to super-packets, 60 ms",
        0.060, bulk(2500000, sndbuf=16384), sink(rcvbuf=BIG), rcv_accept=["congestion-window/steady", "unknown"]),
    "send-buffer-delayed-ack-150ms": S(
        "send-buffer", "delayed-ack",
        "SO_SNDBUF at its least, device with a window of 32 KiB withholds its ACK for 150 ms or until half of it came",
        0.004, bulk(60000, sndbuf=2048), device=dict(window=32768, ack_after=0.150, ack_share=0.5), gso=False,
        facts=dict(ack_latency_seconds=(0.150, 0.03), window_bytes=(32768, 0))),
    "send-buffer-delayed-ack-500ms": S(
        "send-buffer", "delayed-ack",
        "the same with 0.5 s: Linux's RTO fires first, a spurious retransmission brings the ACK early",
        0.004, bulk(60000, sndbuf=2048), device=dict(window=32768, ack_after=0.5, ack_share=0.5), gso=False,
        facts=dict(window_bytes=(32768, 0))),
    "send-buffer-delayed-ack-8k": S(
        "send-buffer", "delayed-ack", "SO_SNDBUF 8 KiB, window 64,240, ACK withheld 150 ms or until 35 % of the window",
        0.010, bulk(200000, sndbuf=8192), device=dict(window=64240, ack_after=0.150, ack_share=0.35), gso=False,
        facts=dict(ack_latency_seconds=(0.150, 0.03), window_bytes=(64240, 0))),
    "send-buffer-path-rtt-short-tails": S(
        "send-buffer", "path-rtt", "SO_SNDBUF 8 KiB, TCP_NODELAY, 8,192-byte writes: flights end in short segments; 40 ms",
        0.040, bulk(300000, write=8192, sndbuf=8192, nodelay=True), sink(rcvbuf=BIG), gso=False,
        rcv_accept=["congestion-window/steady", "unknown"]),
    "send-buffer-delayed-ack-short-tails": S(
        "send-buffer", "delayed-ack",
        "SO_SNDBUF 4 KiB, TCP_NODELAY, 4,096-byte writes: flights end in short segments; ACK withheld 120 ms",
        0.004, bulk(120000, write=4096, sndbuf=4096, nodelay=True), gso=False,
        device=dict(window=65535, ack_after=0.120, ack_share=0.35),
        facts=dict(ack_latency_seconds=(0.120, 0.03), window_bytes=(65535, 0))),
    "send-buffer-delayed-ack-gso": S(
        "send-buffer", "delayed-ack",
        "SO_SNDBUF 8 KiB with offload on: uneven flights of super-packets; window 64,240, ACK withheld 150 ms or to 60 %",
        0.010, bulk(200000, sndbuf=8192), device=dict(window=64240, ack_after=0.150, ack_share=0.6),
        facts=dict(ack_latency_seconds=(0.150, 0.03), window_bytes=(64240, 0))),
    # --- congestion-window
    "congestion-window-slow-start": S(
        "congestion-window", "slow-start", "300 kB over a path of 200 ms, nothing lost, windows autotuned",
        0.200, bulk(300000), sink()),
    "congestion-window-slow-start-short": S(
        "congestion-window", "slow-start", "120 kB over a path of 100 ms, nothing lost",
        0.100, bulk(120000), sink(rcvbuf=BIG)),
    "congestion-window-after-loss-reno": S(
        "congestion-window", "after-loss", "reno, path of 150 ms, no capacity limit, packets 40 to 43 lost, then none",
        0.150, bulk(1200000, cc="reno"), sink(rcvbuf=BIG), fwd=dict(drop=range(40, 44))),
    "congestion-window-after-loss-cubic": S(
        "congestion-window", "after-loss", "cubic, path of 100 ms, no capacity limit, packets 60 to 63 lost, then none",
        0.100, bulk(1500000), sink(rcvbuf=BIG), fwd=dict(drop=range(60, 64))),
    "congestion-window-after-loss-early": S(
        "congestion-window", "after-loss", "path of 80 ms, packet 5 lost, then none: slow start ends, and the window grows on "
        "by little, far beyond what it was then",
        0.080, bulk(3000000), sink(rcvbuf=BIG), fwd=dict(drop=(5,))),
    "congestion-window-steady": S(
        "congestion-window", "steady", "route clamps cwnd to 10 frames, path of 60 ms",
        0.060, bulk(700000), sink(rcvbuf=BIG), rcv_accept=["send-buffer/path-rtt", "unknown"], route="cwnd lock 10"),
    "congestion-window-reordering": S(
        "congestion-window", "reordering", "reno without undo or timestamps; 4 % of data packets 20 ms late, nothing lost; path of 40 ms",
        0.040, bulk(3000000, cc="reno"), sink(rcvbuf=BIG), fwd=dict(reorder=0.04, reorder_by=0.020, seed=8),
        snd_sysctl=["net.ipv4.tcp_max_reordering=3", "net.ipv4.tcp_dsack=0", "net.ipv4.tcp_timestamps=0"], again="not lost", caveat=["reordering"]),
    # --- loss
    "loss-fast-recovery-2pc": S(
        "loss", "fast-recovery", "2 % of data packets lost at random, path of 40 ms",
        0.040, bulk(900000), sink(rcvbuf=BIG), accept=["congestion-window/after-loss"], fwd=dict(loss=0.02, seed=5)),
    "loss-fast-recovery-5pc": S(
        "loss", "fast-recovery", "5 % of data packets lost at random, path of 60 ms",
        0.060, bulk(500000), sink(rcvbuf=BIG), accept=["congestion-window/after-loss"], fwd=dict(loss=0.05, seed=5)),
    "loss-timeout-25pc": S(
        "loss", "timeout", "25 % of data packets lost at random, path of 10 ms",
        0.010, bulk(200000), sink(rcvbuf=BIG), fwd=dict(loss=0.25, seed=11)),
    "loss-timeout-outages": S(
        "loss", "timeout", "10 Mbit/s, and the path is out for the last 150 ms of every 400 ms, path of 20 ms",
        0.020, bulk(700000), sink(rcvbuf=BIG), fwd=dict(rate=10e6, queue=1 << 20, outages=(0.4, 0.15))),
    "loss-receiver-discards": S(
        "loss", "receiver-discards", "device: window 29,200, keeps nothing behind a hole; 2 % of data packets lost, 20 ms",
        0.020, bulk(1000000), device=dict(window=29200, keeps=False), fwd=dict(loss=0.02, seed=4),
        again="not lost"),
    "loss-black-hole": S(
        "loss", "black-hole", "packets over 1,300 bytes vanish, and no ICMP; tcp_mtu_probing = 1 finds a way; path of 10 ms",
        0.010, bulk(60000), sink(rcvbuf=BIG), fwd=dict(mtu=1300), snd_sysctl=["net.ipv4.tcp_mtu_probing=1"],
        again="not lost",
        rcv_accept=["loss/fast-recovery", "application/sender-idle", "loss/timeout", "unknown"]),
    "loss-ack-loss": S(
        "loss", "ack-loss", "20 % of the ACKs are lost, a window of two segments, no tail loss probes; path of 10 ms",
        0.010, bulk(300000), sink(rcvbuf=5000), rev=dict(ack_loss=0.2, seed=6),
        snd_sysctl=["net.ipv4.tcp_early_retrans=0"], again="not lost", caveat=["ack-loss"]),
    "loss-slow-timer": S(
        "loss", "slow-timer", "2 % of data packets lost, no fast retransmit, a retransmission timer of 2 s at least; 10 ms",
        0.010, bulk(300000), sink(rcvbuf=16384), route="rto_min 2s", fwd=dict(loss=0.02, seed=3),
        snd_sysctl=["net.ipv4.tcp_early_retrans=0", "net.ipv4.tcp_sack=0", "net.ipv4.tcp_reordering=300"], caveat=["slow-timer"]),
    # --- path-capacity
    "path-capacity-policer": S(
        "path-capacity", "policer", "a token bucket of 500 kB/s and 100 kB drops the rest and queues nothing, path of 30 ms",
        0.030, bulk(6000000), sink(rcvbuf=BIG), fwd=dict(police=(500000, 100000)),
        rcv_accept=["loss/fast-recovery"]),
    "path-capacity": S(
        "path-capacity", "queue", "5 Mbit/s behind a drop-tail queue of 64 kB, path of 20 ms",
        0.020, bulk(1500000), sink(rcvbuf=BIG), fwd=dict(rate=5e6, queue=64000),
        facts=dict(bottleneck_bytes_per_second=(625000 * 1448 / 1500, 0.05))),
    "path-capacity-window-over-bdp": S(
        "path-capacity", "queue", "2 Mbit/s, deep queue, a fixed window of about 64 kB over a BDP of 5 kB, path of 20 ms",
        0.020, bulk(800000), sink(rcvbuf=65536), fwd=dict(rate=2e6, queue=1 << 20),
        facts=dict(bottleneck_bytes_per_second=(250000 * 1448 / 1500, 0.05))),
    "path-capacity-shallow-queue": S(
        "path-capacity", "queue", "4 Mbit/s behind a queue of 20 kB, path of 20 ms: it overflows again and again, and stays full",
        0.020, bulk(1500000), sink(rcvbuf=BIG), fwd=dict(rate=4e6, queue=20000), accept=["congestion-window/after-loss"],
        facts=dict(bottleneck_bytes_per_second=(500000 * 1448 / 1500, 0.05))),
    "path-capacity-bbr": S(
        "path-capacity", "queue", "bbr, 5 Mbit/s behind a drop-tail queue of 64 kB, path of 20 ms",
        0.020, bulk(1500000, cc="bbr"), sink(rcvbuf=BIG), fwd=dict(rate=5e6, queue=64000),
        facts=dict(bottleneck_bytes_per_second=(625000 * 1448 / 1500, 0.05))),
    "path-capacity-window-full": S(
        "path-capacity", "queue",
        "reno, 2 Mbit/s, deep queue: the 64 kB window is always full, yet only for the queue it builds (BDP 5 kB)",
        0.020, bulk(1000000, cc="reno"), sink(rcvbuf=65536), fwd=dict(rate=2e6, queue=1 << 20),
        facts=dict(bottleneck_bytes_per_second=(250000 * 1448 / 1500, 0.05))),
    "path-capacity-marks": S(
        "path-capacity", "marks", "5 Mbit/s behind a queue that marks what waits for more than 5 ms (ECN), path of 40 ms",
        0.040, bulk(4000000), sink(rcvbuf=BIG), fwd=dict(rate=5e6, queue=64000, mark=0.005),
        snd_sysctl=["net.ipv4.tcp_ecn=1"]),
    "path-capacity-marks-once": S(
        "path-capacity", "marks", "20 Mbit/s behind a queue that marks what waits for more than 5 ms (ECN), path of 80 ms: "
        "a slow start is cut short, and cubic takes long to regain what the path has room for",
        0.080, bulk(3000000), sink(rcvbuf=BIG), fwd=dict(rate=20e6, queue=200000, mark=0.005),
        snd_sysctl=["net.ipv4.tcp_ecn=1"]),
    # --- application
    "application-sender-idle": S(
        "application", "sender-idle", "20 kB every 200 ms, path of 20 ms",
        0.020, bursts(20, 20000, 0.2), sink(rcvbuf=BIG)),
    "application-sender-idle-long-path": S(
        "application", "sender-idle", "10 kB every 120 ms, path of 100 ms: something is mostly in flight",
        0.100, bursts(30, 10000, 0.12), sink(rcvbuf=BIG)),
    "application-sender-steady": S(
        "application", "sender-idle", "3,000 bytes every 10 ms, path of 50 ms: never idle for a round trip, always short of cwnd",
        0.050, bursts(250, 3000, 0.010), sink(rcvbuf=BIG)),
    "application-awaits-answer": S(
        "application", "awaits-answer", "8 kB, then waits for a 1-byte answer that the receiver gives after 50 ms",
        0.006, requests(50, [8000], 1), answering(8000, 1, think=0.050)),
    "application-receiver-limited": S(
        "application", "receiver-limited", "Linux reader with SO_RCVBUF 32 KiB takes 4 KiB every 40 ms, path of 4 ms",
        0.004, bulk(700000), sink(rcvbuf=32768, read=4096, every=0.04)),
    "application-receiver-limited-silly": S(
        "application", "receiver-limited",
        "device: window 8,192, reads 500 bytes each 5 ms and offers them at once, path of 4 ms",
        0.004, bulk(300000), device=dict(window=8192, reads=(500, 0.005))),
    "application-receiver-limited-long-path": S(
        "application", "receiver-limited", "Linux reader with SO_RCVBUF 128 KiB takes 8 KiB every 20 ms, path of 50 ms",
        0.050, bulk(2500000), sink(rcvbuf=131072, read=8192, every=0.02)),
    # --- segments
    "small-segments": S(
        "small-segments", None, "TCP_NODELAY, 100-byte writes that may not be joined, cwnd of 10 packets, path of 20 ms",
        0.020, bulk_eor(60000, 100), sink(rcvbuf=BIG), accept=["congestion-window/steady"], route="cwnd lock 10"),
    "small-segments-send-buffer": S(
        "small-segments", None, "TCP_NODELAY, 100-byte writes, SO_SNDBUF 16 KiB filled by per-packet overhead, 20 ms",
        0.020, bulk_eor(100000, 100, sndbuf=16384), sink(rcvbuf=BIG), accept=["send-buffer/path-rtt"]),
    "nagle-delayed-ack": S(
        "nagle-delayed-ack", None, "two writes of 300 bytes, then the answer is read; Linux delays its ACK 40 ms",
        0.004, requests(60, [300, 300], 100), answering(600, 100)),
    "nagle-delayed-ack-device": S(
        "nagle-delayed-ack", None, "two writes of 300 bytes, then the answer is read; device delays its ACK 200 ms",
        0.004, requests(25, [300, 300], 100), device=dict(window=8760, ack_after=0.190, reply=(600, 100))),
    # --- not what they seem
    "reordering": S(
        "receiver-window", "path-rtt", "no loss; 3 % of data packets arrive 4 ms late; SO_RCVBUF 32 KiB, path of 40 ms",
        0.040, bulk(800000), sink(rcvbuf=32768), fwd=dict(reorder=0.03, reorder_by=0.004, seed=3)),
    "duplicated-by-network": S(
        "receiver-window", "path-rtt", "the network delivers 5 % of data packets twice; SO_RCVBUF 16 KiB, path of 36 ms",
        0.036, bulk(600000), sink(rcvbuf=16384), fwd=dict(duplicate=0.05, seed=9)),
    "super-packets": S(
        "path-capacity", "queue",
        "veth with segmentation offload (packets over 1,500 bytes, checksums unfilled), 50 Mbit/s at a router, deep queue",
        None, bulk(3000000), sink(rcvbuf=BIG), make="veth", caveat=["super-packets"],
        facts=dict(bottleneck_bytes_per_second=(6250000, 0.06))),
}

# Files made from others by rewriting records: what a capture point gets wrong, TCP did not.
# name: (from, rewrite, capture_point, limit, because, what, also accepted, caveats)
DERIVED = {
    "twice-same": ("receiver-window-path-rtt.snd", lambda r, k: [x for p in r for x in (p, later(p, 4e-6))],
                   "sender", "receiver-window", "path-rtt",
                   "each packet recorded twice, alike (mirror port, `any` device): not retransmissions",
                   [], ["duplicated"]),
    "twice-routed": ("send-buffer-path-rtt.snd", lambda r, k: [x for p in r for x in (p, later(p, 60e-6, ttl=-1))],
                     "router", "send-buffer", "path-rtt",
                     "each packet recorded before and after a router: the same IP ID, TTL one less",
                     ["congestion-window/steady"], ["duplicated"]),
    "both-ends-merged": ("receiver-window-path-rtt", lambda r, k: r, "both", "receiver-window", "path-rtt",
                         "sender's and receiver's captures merged: each packet twice, 18 ms apart, the flight looks doubled",
                         ["unknown"], ["duplicated"]),
    "no-handshake": ("receiver-window-path-rtt.snd", lambda r, k: r[50:], "sender", "receiver-window", "path-rtt",
                     "capture begins mid-flow; no window scale was in use, but the capture cannot know",
                     [], ["no-handshake", "scale-unknown"]),
    "no-handshake-scaled": ("receiver-window-path-rtt-scaled.snd", lambda r, k: r[50:], "sender",
                            "receiver-window", "path-rtt",
                            "capture begins mid-flow; windows are scaled by 1, which the flight gives away",
                            ["unknown"], ["no-handshake", "scale-unknown"]),
    "no-handshake-capacity": ("path-capacity.snd", lambda r, k: r[400:], "sender", "path-capacity", "queue",
                              "capture begins mid-flow; windows are scaled by 6: unscaled they look small",
                              [], ["no-handshake", "scale-unknown"]),
    "data-only-idle": ("application-sender-idle.snd", lambda r, k: direction(r, k, 1),
                       "sender", "application", "sender-idle",
                       "only the data direction was captured", ["unknown"], ["one-sided"]),
    "data-only-window": ("receiver-window-path-rtt.snd", lambda r, k: direction(r, k, 1),
                         "sender", "unknown", None, "only the data direction was captured: the window is not to be seen",
                         [], ["one-sided"]),
    "acks-only-window": ("receiver-window-path-rtt.snd", lambda r, k: direction(r, k, 0),
                         "sender", "unknown", None, "only the ACKs were captured",
                         ["receiver-window/path-rtt"], ["one-sided"]),
    "capture-loss": ("receiver-window-path-rtt.snd", lambda r, k: some(r, 0.03), "sender", "receiver-window", "path-rtt",
                     "3 % of the records are missing from the file, all of them acknowledged: not lost by TCP",
                     [], ["capture-loss"]),
    "capture-loss-idle": ("application-sender-idle.rcv", lambda r, k: some(r, 0.03), "receiver",
                          "application", "sender-idle",
                          "3 % of the records are missing from the file, and all was acknowledged",
                          [], ["capture-loss"]),
    "snap-68": ("zero-window-not-reading.snd", lambda r, k: [cut(p, 68) for p in r], "sender",
                "zero-window", "receiver-not-reading", "snap length 68", [], []),
}


def derive(name, out):
    src, rewrite = DERIVED[name][:2]
    if DERIVED[name][2] == "both":
        header, link, a = read_pcap(f"{out}/{src}.snd.pcap.gz")
        records = a + read_pcap(f"{out}/{src}.rcv.pcap.gz")[2]
    else:
        header, link, records = read_pcap(f"{out}/{src}.pcap.gz")
    records = sorted(rewrite(records, link), key=lambda r: r[0])
    with tempfile.TemporaryDirectory(prefix="windlass-corpus-") as work:
        write_pcap(f"{work}/{name}.pcap", header, records)
        pack(f"{work}/{name}.pcap", f"{out}/{name}.pcap.gz")
    print(f"== {name}: {len(records)} records", flush=True)


VANTAGES = ("snd", "rcv")


def make_one(name, out, tries=3):
    sc = SCENARIOS[name]
    for _ in range(tries):
        with tempfile.TemporaryDirectory(prefix="windlass-corpus-") as work:
            kernel, line = (make_veth if sc.get("make") == "veth" else make_tun)(name, sc, work)
            if line and (line["late_max_us"] >= 2000 or line["largest_packet"] > 1500):
                print(f"  {name}: relay was {line['late_max_us']} us late, again", flush=True)
                continue
            for v in VANTAGES:
                pack(f"{work}/{name}.{v}.pcap", f"{out}/{name}.{v}.pcap.gz")
        truth = read_truth(out)
        truth[name] = {"kernel": kernel, "relay": line}
        with open(f"{out}/truth.json.part", "w") as f:
            json.dump(truth, f, indent=1, sort_keys=True)
        os.replace(f"{out}/truth.json.part", f"{out}/truth.json")
        return
    raise RuntimeError("the machine is too busy for an honest delay line")


def read_truth(out):
    try:
        with open(f"{out}/truth.json") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def show(name, out):
    truth = read_truth(out)[name]
    k = truth["kernel"]
    busy = max(k["busy_time_us"], 1)
    print(f"== {name}: {SCENARIOS[name]['limit']} / {SCENARIOS[name]['because']}")
    print(f"   kernel: busy {busy / 1e6:.2f} s, rwnd {k['rwnd_limited_us'] / busy:.0%}, sndbuf "
          f"{k['sndbuf_limited_us'] / busy:.0%}, retrans {k['total_retrans']}, cwnd {k['snd_cwnd']}, "
          f"ssthresh {k['snd_ssthresh']}, dsack {k['dsack_dups']}, snd_wnd {k['snd_wnd']}, sndbuf {k['sndbuf']}")
    print("   relay:", truth["relay"])
    for v in VANTAGES:
        p = f"{out}/{name}.{v}.pcap.gz"
        print(f"   {v} {os.path.getsize(p)}:", {a: b for a, b in look(p).items() if b not in (0, [], None)}, flush=True)


def spare(v):
    return json.dumps(v)  # JSON's strings, numbers and arrays of them are TOML's


def write_toml(out):
    """corpus.toml: what each file is and must show. A fact's tolerance is a share of its value."""
    lines = ["# Written by make.py --toml. Every capture: what it is, where it was taken, the verdict it must give.",
             "# `accept`: verdicts that are as honest from this capture point. `caveat`: what the reader should be told.",
             "# A fact's tolerance is a share of its value; 0 means exactly. [capture.kernel] is the sender's own",
             "# TCP_INFO at the end (microseconds), [capture.relay] what the delay line did: evidence, not expectation.",
             'schema = "windlass.corpus/1"', ""]

    def entry(file, what, capture_point, limit, because, accept, caveat, facts, truth, rtt=None):
        nonlocal lines
        p = f"{out}/{file}"
        lines.extend(["[[capture]]", f"file = {spare(file)}", f"what = {spare(what)}", f"capture_point = {spare(capture_point)}",
                      f"limit = {spare(limit)}"])
        if because:
            lines.append(f"because = {spare(because)}")
        if accept:
            lines.append(f"accept = {spare(accept)}")
        if caveat:
            lines.append(f"caveat = {spare(caveat)}")
        lines.append(f"packets = {len(read_pcap(p)[2])}")
        lines.append("[capture.facts]")
        for k, (v, tol) in facts.items():
            v = v if isinstance(v, int) else round(v, 6)
            lines.append(f"{k} = {{ value = {v}, tolerance = {tol} }}")
        if truth:
            k = truth["kernel"]
            lines.append("[capture.kernel]")
            lines += [f"{x} = {k[x]}" for x in ("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us", "total_retrans",
                                               "dsack_dups", "snd_cwnd", "snd_ssthresh", "min_rtt_us", "sndbuf")]
            if truth["relay"]:
                lines.append("[capture.relay]")
                lines.append(f"path_rtt_seconds = {rtt}")
                lines += [f"{x} = {y}" for x, y in truth["relay"].items()]
        lines.append("")

    known, truths = {}, read_truth(out)
    for name, sc in SCENARIOS.items():
        for v in VANTAGES:
            file = f"{name}.{v}.pcap.gz"
            if not os.path.exists(f"{out}/{file}"):
                continue
            truth = truths[name]
            seen, kernel, line = look(f"{out}/{file}"), truth["kernel"], truth["relay"]
            facts = {"bytes": (kernel["bytes_acked"] - 1, 0), "seconds": (seen["seconds"], 0.05),
                     "bytes_per_second": ((kernel["bytes_acked"] - 1) / seen["seconds"], 0.05)}
            if sc["rtt"]:
                # as the handshake shows it here: a device answers its SYN up to 2 ms late
                facts["rtt_seconds"] = (seen["handshake_rtt_ms"] / 1e3, 0.1 if sc["rtt"] >= 0.02 else 0.25)
            if line:
                facts["acks_lost"] = (line.get("dropped_ack_direction", 0), 0)
            if v == "snd":
                facts["retransmissions"] = (kernel["total_retrans"], 0)
            if line:
                facts["packets_lost"] = (line["dropped_data_direction"], 0)
            if sc["limit"] == "receiver-window":
                facts["window_bytes"] = (seen["window_min_p50_max"][2], 0.02)
            if sc["limit"] == "zero-window":
                facts["persist_probes"] = (seen["probes"], 0)
            facts.update(sc.get("facts", {}))
            if sc.get("again") == "not lost":  # what is sent again is more than what the path lost
                facts.pop("packets_lost", None)
            known[f"{name}.{v}"] = facts
            entry(file, sc["what"], {"snd": "sender", "rcv": "receiver"}[v], sc["limit"], sc["because"],
                  sc.get("accept", []) + (sc.get("rcv_accept", []) if v == "rcv" else []),
                  sc.get("caveat", []) + (["receiver-side"] if v == "rcv" else sc.get("caveat_snd", [])), facts, truth, sc["rtt"])
    for name, (src, _, capture_point, limit, because, what, accept, caveat) in DERIVED.items():
        if not os.path.exists(f"{out}/{name}.pcap.gz"):
            continue
        base = known.get(src) or known.get(src + ".snd") or {}
        drop = set()
        if "no-handshake" in caveat:
            drop = {"bytes", "seconds", "packets_lost", "acks_lost", "retransmissions", "rtt_seconds"}
            if name == "no-handshake-scaled":  # a sixth of the transfer was slow start, and is cut off
                base = {**base, "bytes_per_second": (look(f"{out}/{name}.pcap.gz")["rate"], 0.05)}
        elif "one-sided" in caveat:
            drop = {"window_bytes", "rtt_seconds", "packets_lost", "acks_lost", "seconds", "bytes_per_second"}
        entry(f"{name}.pcap.gz", what, capture_point, limit, because, accept, caveat,
              {k: v for k, v in base.items() if k not in drop}, None)
    with open(f"{out}/corpus.toml.part", "w") as f:
        f.write("\n".join(lines))
    os.replace(f"{out}/corpus.toml.part", f"{out}/corpus.toml")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--look", action="store_true")
    ap.add_argument("--toml", action="store_true")
    ap.add_argument("--out", default=HERE)
    a = ap.parse_args()
    if a.list:
        for n, sc in SCENARIOS.items():
            print(f"{n:38} {sc['limit']}{' / ' + sc['because'] if sc['because'] else ''}: {sc['what']}")
        for n, d in DERIVED.items():
            print(f"{n:38} {d[3]}{' / ' + d[4] if d[4] else ''}: {d[5]} (from {d[0]})")
    elif a.look:
        for f in a.names:
            print(f, json.dumps(look(f), indent=1))
    elif a.toml:
        write_toml(a.out)
    else:
        names = [n for n in SCENARIOS if a.all or any(n.startswith(p) for p in a.names)]
        derived = [n for n in DERIVED if a.all or any(n.startswith(p) for p in a.names)]
        if not names and not derived:
            ap.error("which? see --list")
        os.makedirs(a.out, exist_ok=True)
        for n in names:
            try:
                make_one(n, a.out)
                show(n, a.out)
            except Exception as e:  # one scenario's failure is told, the rest go on
                print(f"== {n}: FAILED {e}", flush=True)
        for n in derived:
            derive(n, a.out)


if __name__ == "__main__":
    main()
