# SPDX-License-Identifier: CC0-1.0
"""Captures read, rewritten, and read by a plain eye that shares nothing with the analyser."""
import gzip
import os
import random
import struct

from lab import PORT, checksum


# ------------------------------------------------------------ captures, read and rewritten

def read_pcap(path):
    """-> (header, link type, [(seconds, original length, 16-byte header, bytes)])"""
    data = (gzip.open if path.endswith(".gz") else open)(path, "rb").read()
    magic = data[:4]
    if magic not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        raise ValueError("not a little-endian pcap: " + path)
    unit = 1e-9 if magic[0] == 0x4D else 1e-6
    link, at, out = struct.unpack_from("I", data, 20)[0], 24, []
    while at + 16 <= len(data):
        sec, sub, cap, orig = struct.unpack_from("IIII", data, at)
        out.append((sec + sub * unit, orig, data[at:at + 16], data[at + 16:at + 16 + cap]))
        at += 16 + cap
    return data[:24], link, out


def write_pcap(path, header, records):
    with open(path, "wb") as f:
        f.write(header)
        for _, _, h, b in records:
            f.write(h + b)


def segments(records, link):
    """-> [(index from 1, time, source, (ip, port) pair, seq, ack, flags, window, payload, options)]"""
    skip = {101: 0, 12: 0, 1: 14}[link]
    for n, (t, orig, _, b) in enumerate(records, 1):
        b = b[skip:]
        ihl = (b[0] & 15) * 4
        if b[9] != 6 or len(b) < ihl + 20:
            continue
        sp, dp, seq, ack, off, flags, win = struct.unpack_from("!HHIIBBH", b, ihl)
        total = struct.unpack_from("!H", b, 2)[0] or orig - skip
        hl = (off >> 4) * 4
        yield n, t, (b[12:16], sp), (b[16:20], dp), seq, ack, flags, win, total - ihl - hl, b[ihl + 20:ihl + hl]


def option(opts, kind):
    i = 0
    while i < len(opts):
        if opts[i] == 0:
            return None
        if opts[i] == 1:
            i += 1
            continue
        if i + 1 >= len(opts) or opts[i + 1] < 2:
            return None
        if opts[i] == kind:
            return opts[i + 2:i + opts[i + 1]]
        i += opts[i + 1]
    return None


def quantile(values, q):
    v = sorted(values)
    return v[min(len(v) - 1, int(q * len(v)))] if v else None


def look(path):
    """A plain reading, independent of the analyser, to check a scenario by eye."""
    _, link, records = read_pcap(path)
    segs = list(segments(records, link))
    up = {}
    for s in segs:
        up[s[2]] = up.get(s[2], 0) + s[8]
    sender = max(up, key=up.get)
    scale, mss, t_syn, rtt = 0, 1460, None, None
    scales = {}
    for _, t, src, _, seq, ack, fl, win, ln, op in segs:
        if fl & 2:
            w, m = option(op, 3), option(op, 2)
            scales[src] = w[0] if w else None
            if m:
                mss = min(mss, struct.unpack("!H", m)[0])
            if option(op, 8):
                mss = min(mss, 1448)
            if not fl & 16:
                t_syn = t
        elif t_syn and rtt is None and src == sender and fl & 16:
            rtt = t - t_syn
    scale = next((v for k, v in scales.items() if k != sender), None)
    if None in scales.values() or scale is None:
        scale = 0
    base, nxt, una, edge, prev = None, None, None, None, None
    room_t = zero_t = idle_t = total_t = recover_t = rto_t = 0.0
    recover_to, last_data, high_psh = None, None, 0
    retr = ooo = probes = data = 0
    flights, windows, lat, lens, gaps, sent_at = [], [], [], [], [], {}
    first = last = None
    win = None
    for n, t, src, dst, seq, ack, fl, w, ln, op in segs:
        if nxt is not None and prev is not None and una is not None:
            dt = t - prev
            total_t += dt
            flight = nxt - una
            if win == 0 and edge is not None and edge <= nxt:
                zero_t += dt
            elif edge is not None and edge - nxt < mss and flight > 0:
                room_t += dt
            elif flight <= 0:
                idle_t += dt
            if recover_to is not None:
                recover_t += dt
            if dt > 0.15:
                gaps.append((n, round(dt, 3)))
        prev = t
        if src == sender:
            if base is None:
                base = seq
            rel = ((seq - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
            if nxt is not None and ln == 0 and rel == (una or 0) - 1 and fl & 16 and not fl & 3:
                probes += 1
            if ln > 0:
                data += 1
                lens.append(ln)
                first = first or t
                if fl & 8:
                    high_psh += 1
                if nxt is not None and rel + ln <= nxt:
                    retr += 1
                    if recover_to is None:
                        recover_to = nxt
                        if last_data and t - last_data > 0.19:
                            rto_t += t - last_data
                    elif last_data and t - last_data > 0.19:
                        rto_t += t - last_data
                        recover_t -= t - last_data
                elif nxt is not None and rel > nxt:
                    ooo += 1
                last_data = t
            end = rel + ln + (1 if fl & 3 else 0)
            if nxt is None or end > nxt:
                nxt = end
                if ln:
                    sent_at[end] = t
                    flights.append(nxt - (una or 0))
        elif base is not None and fl & 16:
            rel = ((ack - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
            win = w if fl & 2 else w << scale
            if rel > (una or 0):
                if rel in sent_at:
                    lat.append(t - sent_at[rel])
                una, last = rel, t
                if recover_to is not None and una >= recover_to:
                    recover_to = None
            una = una if una is not None else rel
            windows.append(win)
            edge = max(edge or 0, rel + win)
    d = (last or 0) - (first or 0)
    acks = len(segs) - data
    return {"packets": len(records), "link": link, "largest": max(r[1] for r in records), "data": data, "acks": acks,
            "bytes": up[sender], "seconds": round(d, 3), "rate": round(up[sender] / d) if d else None,
            "handshake_rtt_ms": round(rtt * 1e3, 2) if rtt else None,
            "ack_ms_p50_p90_max": [round(1e3 * quantile(lat, q), 2) if lat else None for q in (.5, .9, 1)],
            "mss": mss, "wscale": scale, "window_min_p50_max": [quantile(windows, q) for q in (0, .5, 1)],
            "flight_p50_p90_max": [quantile(flights, q) for q in (.5, .9, 1)],
            "segment_p10_p50": [quantile(lens, q) for q in (.1, .5)],
            "again": retr, "ahead": ooo, "probes": probes,
            "share_window": round(room_t / total_t, 3) if total_t else None,
            "share_recovery": round(recover_t / total_t, 3) if total_t else None,
            "share_rto": round(rto_t / total_t, 3) if total_t else None, "psh": high_psh,
            "share_zero": round(zero_t / total_t, 3) if total_t else None,
            "share_nothing_in_flight": round(idle_t / total_t, 3) if total_t else None,
            "gaps_over_150ms": len(gaps), "first_gaps": gaps[:6]}


# ------------------------------------------------------------ what a capture point gets wrong

def later(record, by, ttl=0):
    t, orig, h, b = record
    t += by
    b = bytearray(b)
    if ttl:
        b[8] += ttl
        b[10:12] = b"\0\0"
        b[10:12] = struct.pack("!H", checksum(bytes(b[:20])))
    sec = int(t)
    return t, orig, struct.pack("II", sec, int(round((t - sec) * 1e6)) % 1000000) + h[8:], bytes(b)


def cut(record, n):
    t, orig, h, b = record
    return t, orig, h[:8] + struct.pack("I", min(n, len(b))) + h[12:], b[:n]


def ports(record, link):
    b = record[3][{101: 0, 1: 14}[link]:]
    return struct.unpack_from("!HH", b, (b[0] & 15) * 4)


def direction(records, link, port_at):
    """Only what goes to (1) or comes from (0) the receiver's port."""
    return [r for r in records if ports(r, link)[port_at] == PORT]


def some(records, share, seed=6):
    """Without a share of the records; the first ten and last ten stay."""
    rng = random.Random(seed)
    return [r for i, r in enumerate(records) if i < 10 or i >= len(records) - 10 or rng.random() >= share]


def pack(path, to):
    with open(path, "rb") as f, open(to + ".part", "wb") as g:
        with gzip.GzipFile("", "wb", 9, g, mtime=0) as z:
            z.write(f.read())
    os.replace(to + ".part", to)
