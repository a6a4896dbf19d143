# SPDX-License-Identifier: CC0-1.0
"""Two namespaces, a delay line between them, and what sends and receives over it."""
import ctypes
import errno
import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import time
import traceback

SND_IP, RCV_IP = "192.0.2.1", "192.0.2.2"  # RFC 5737
PORT = 9100
SPIN = 0.0002  # busy-wait the last 200 us before a packet is due
TCP_CONGESTION = 13
LIBC = ctypes.CDLL(None, use_errno=True)


# ------------------------------------------------------------ namespaces

def run(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def enter(ns):
    fd = os.open(f"/var/run/netns/{ns}", os.O_RDONLY)
    if LIBC.setns(fd, 0x40000000) != 0:  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


def realtime(priority):
    """The machine is shared: a late relay would be a fact of ours, not TCP's."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass


def open_tun(ns, name):
    enter(ns)
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))  # IFF_TUN|IFF_NO_PI
    return fd


# ------------------------------------------------------------ the delay line

class Link:
    """One direction: drops, then a drop-tail queue at `rate`, then delay.

    mtu      the largest packet; larger ones vanish, and nobody tells
    police   (bytes a second, burst): a token bucket, which drops what it has no tokens for
    mark     what waits longer for the line is marked, where its sender allows that (ECN)
    """

    def __init__(self, delay, rate=None, queue=1 << 30, loss=0.0, drop=(), outages=None,
                 reorder=0.0, reorder_by=0.0, duplicate=0.0, ack_loss=0.0, mtu=None, police=None, mark=None,
                 seed=1):
        self.delay, self.rate, self.queue = delay, rate, queue
        self.loss, self.drop, self.outages = loss, set(drop), outages
        self.reorder, self.reorder_by, self.duplicate = reorder, reorder_by, duplicate
        self.ack_loss = ack_loss
        self.mtu, self.police, self.mark = mtu, police, mark
        self.tokens, self.filled = police[1] if police else 0, None
        self.rng = random.Random(seed)
        self.free_at = 0.0
        self.began = None
        self.data = 0  # data packets seen, from 1
        self.dropped = 0
        self.overflowed = 0

    def accept(self, packet, now):
        """-> the times at which this packet leaves the far end (none: dropped)."""
        times = self._accept(packet, now)
        if not times:
            self.dropped += 1
        return times

    def _accept(self, packet, now):
        ihl = (packet[0] & 15) * 4
        payload = len(packet) - ihl - (packet[ihl + 12] >> 4) * 4
        if payload > 0:
            self.data += 1
            r = self.rng
            if self.data in self.drop:
                return []
            if self.outages:  # (period, length): the last `length` seconds of each period
                self.began = self.began or now
                if (now - self.began) % self.outages[0] > self.outages[0] - self.outages[1]:
                    return []
            if self.loss and r.random() < self.loss:
                return []
            if self.mtu and len(packet) > self.mtu:
                return []
            if self.police and not self.passes(len(packet), now):
                return []
        elif self.ack_loss and self.rng.random() < self.ack_loss and not packet[ihl + 13] & 7:
            return []
        out = now
        if self.rate:
            start = max(now, self.free_at)
            if (start - now) * self.rate / 8 + len(packet) > self.queue:
                self.overflowed += 1
                return []
            if self.mark and start - now > self.mark and packet[1] & 3:
                packet[1] |= 3
                packet[10:12] = b"\0\0"
                packet[10:12] = struct.pack("!H", checksum(packet[:ihl]))
            out = self.free_at = start + len(packet) * 8 / self.rate
        due = out + self.delay
        if payload > 0 and self.reorder and self.rng.random() < self.reorder:
            due += self.reorder_by
        if payload > 0 and self.duplicate and self.rng.random() < self.duplicate:
            return [due, due + 0.0001]
        return [due]

    def passes(self, size, now):
        rate, burst = self.police
        self.tokens = min(burst, self.tokens + rate * (now - (self.filled or now)))
        self.filled = now
        if self.tokens < size:
            return False
        self.tokens -= size
        return True


def relay(fd_a, fd_b, ab, ba, stats_path):
    """Forward a->b through ab and b->a through ba, until SIGTERM."""
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    heap, n, late_max, late_sum, sent, biggest = [], 0, 0.0, 0.0, 0, 0
    poll = select.poll()
    poll.register(fd_a, select.POLLIN)
    poll.register(fd_b, select.POLLIN)
    clock = time.monotonic
    while not stop:
        wait = 0.05
        if heap:
            wait = heap[0][0] - clock() - SPIN
        if wait > 0.001:
            poll.poll(int(wait * 1000))
        elif wait > 0:
            poll.poll(0)
        for fd, out, link in ((fd_a, fd_b, ab), (fd_b, fd_a, ba)):
            while True:
                try:
                    packet = bytearray(os.read(fd, 65600))
                except BlockingIOError:
                    break
                if packet[0] >> 4 != 4 or packet[9] != 6:
                    continue
                biggest = max(biggest, len(packet))
                for due in link.accept(packet, clock()):
                    n += 1
                    heapq.heappush(heap, (due, n, out, packet))
        while heap and heap[0][0] <= clock():
            due, _, out, packet = heapq.heappop(heap)
            try:
                os.write(out, packet)
            except OSError as e:
                if e.errno not in (errno.EIO, errno.EAGAIN):
                    raise
            late = clock() - due
            late_max, late_sum, sent = max(late_max, late), late_sum + late, sent + 1
    with open(stats_path, "w") as f:
        json.dump({"forwarded": sent, "late_max_us": round(late_max * 1e6),
                   "late_mean_us": round(late_sum / max(sent, 1) * 1e6), "largest_packet": biggest,
                   "dropped_data_direction": ab.dropped, "dropped_ack_direction": ba.dropped,
                   "of_them_queue_overflow": ab.overflowed}, f)


# ------------------------------------------------------------ a receiver with habits Linux lacks

def checksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    s = (s & 0xFFFF) + (s >> 16)
    return ~(s + (s >> 16)) & 0xFFFF


class Device:
    """A TCP receiver on a packet socket; the kernel of its namespace owns no address.

    window          bytes advertised (shifted by wscale where that is given)
    ack_after       seconds from the first unacknowledged byte to the ACK
    ack_share       ACK at once when this share of the window is unacknowledged
    close_for       ACK with window 0, then an update this many seconds later
    probes_to_open  ACK with window 0 when full; open only on the nth probe
    stalls          [(after_bytes, seconds)]: stop reading, window shrinks to 0
    reply           (bytes in, bytes out): answer each so many bytes
    keeps           keep what comes behind a hole; without it, drop it
    reads           (bytes, seconds): its program reads so much each time, and each time the
                    window is offered anew, however small (silly windows)
    """

    def __init__(self, window, ack_after=0.0, ack_share=None, close_for=None, probes_to_open=None,
                 stalls=(), wscale=None, mss=1460, reply=None, keeps=True,
                 reads=None):
        self.__dict__.update(locals())
        self.stalls = list(stalls)

    def packet(self, flags, seq, win, options=b"", payload=b""):
        self.ident = (self.ident + 1) & 0xFFFF
        tcp = struct.pack("!HHIIBBHHH", PORT, self.peer_port, seq & 0xFFFFFFFF, self.nxt & 0xFFFFFFFF,
                          (20 + len(options)) // 4 << 4, flags, win, 0, 0) + options + payload
        pseudo = socket.inet_aton(RCV_IP) + self.peer + struct.pack("!BBH", 0, 6, len(tcp))
        tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), self.ident, 0, 64, 6, 0,
                         socket.inet_aton(RCV_IP), self.peer)
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.sock.sendto(ip + tcp, self.out)

    def ack(self, window):
        if self.wscale is not None:
            window >>= self.wscale
        self.packet(0x10, self.seq, window)
        self.acked, self.ack_at = self.nxt, None

    def room(self):
        return max(0, self.window - self.unread)

    def serve(self, ifname):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.sock.bind((ifname, 0x0800))
        self.out = (ifname, 0x0800)
        self.ident, self.seq, self.nxt, self.acked = 4000, 1000000, 0, 0
        self.ack_at = self.open_at = self.stall_until = self.read_at = None
        self.unread, self.total, self.probes, self.closed = 0, 0, 0, False
        self.ooo = {}
        while True:
            now = time.monotonic()
            due = min([t for t in (self.ack_at, self.open_at, self.stall_until, self.read_at) if t], default=None)
            if due is None or due > now:
                wait = None if due is None else max(0.0, due - now - SPIN)
                if due is None or wait > 0:
                    if not select.select([self.sock], [], [], wait)[0]:
                        continue
                    self.take(self.sock.recv(65600))
                else:
                    r = select.select([self.sock], [], [], 0)[0]
                    if r:
                        self.take(self.sock.recv(65600))
                continue
            if self.stall_until and self.stall_until <= now:
                self.stall_until, self.unread = None, 0
                self.ack(self.window)
            if self.read_at and self.read_at <= now:
                self.unread = max(0, self.unread - self.reads[0])
                self.read_at = self.read_at + self.reads[1] if self.unread else None
                self.ack(self.room())
            if self.open_at and self.open_at <= now:
                self.open_at, self.closed = None, False
                self.ack(self.window)
            if self.ack_at and self.ack_at <= now:
                self.ack_now(now)

    def ack_now(self, now):
        if self.close_for is not None:
            self.ack(0)
            self.open_at = time.monotonic() + self.close_for
        elif self.probes_to_open is not None and self.nxt - self.edge >= 0:
            self.closed, self.probes = True, 0
            self.ack(0)
        elif self.probes_to_open is not None:
            self.ack(self.edge - self.nxt)
        else:
            self.ack(self.room())

    def take(self, p):
        ihl = (p[0] & 15) * 4
        sport, dport, seq, _, off, flags = struct.unpack("!HHIIBB", p[ihl:ihl + 14])
        if p[9] != 6 or dport != PORT:
            return
        length = struct.unpack("!H", p[2:4])[0] - ihl - (off >> 4) * 4
        now = time.monotonic()
        if flags & 2:  # SYN
            self.peer, self.peer_port, self.nxt = p[12:16], sport, seq + 1
            self.acked, self.edge = self.nxt, self.nxt + self.window
            opts = struct.pack("!BBH", 2, 4, self.mss)
            if self.wscale is not None:
                opts += bytes([1, 3, 3, self.wscale])
            self.packet(0x12, self.seq, min(self.window, 65535), opts)
            self.seq += 1
            return
        if flags & 4:
            return
        seq = self.nxt + ((seq - self.nxt + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        if length > 0 and seq <= self.nxt < seq + length:
            got = seq + length - self.nxt
            self.nxt += got
            while self.nxt in self.ooo:
                self.nxt += self.ooo.pop(self.nxt)
            self.total += got
            if self.stalls and self.total >= self.stalls[0][0] and not self.stall_until:
                self.stall_until = now + self.stalls.pop(0)[1]
            if self.stall_until or self.reads:
                self.unread += got
            if self.reads and not self.read_at:
                self.read_at = now + self.reads[1]
            if not self.acked < self.nxt or self.ack_at is None:
                self.ack_at = now + self.ack_after
            if self.ack_share and self.nxt - self.acked >= self.ack_share * self.window:
                self.ack_at = now
            if self.reply and self.total % self.reply[0] == 0:
                self.packet(0x18, self.seq, self.window, payload=b"r" * self.reply[1])
                self.seq += self.reply[1]
                self.acked, self.ack_at = self.nxt, None
        elif length > 0 and seq > self.nxt:
            if self.keeps:
                self.ooo[seq] = length
            self.ack(self.room())
        elif not flags & 1 and (length > 0 or seq == self.nxt - 1):
            # a retransmission of what is here, or a probe
            if self.closed and self.probes_to_open is not None:
                self.probes += 1
                if self.probes >= self.probes_to_open:
                    self.closed, self.edge = False, self.nxt + self.window
                    self.ack(self.window)
                else:
                    self.ack(0)
            else:
                self.ack(0 if self.open_at else self.room())
        if flags & 1 and seq + length == self.nxt:  # FIN
            self.nxt += 1
            self.ack_at = self.open_at = None
            self.packet(0x11, self.seq, self.window)
            self.seq += 1


# ------------------------------------------------------------ senders and receivers on Linux's TCP

INFO_U32 = {"rto_us": 8, "snd_mss": 16, "rtt_us": 68, "snd_ssthresh": 76, "snd_cwnd": 80,
            "total_retrans": 100, "segs_out": 136, "segs_in": 140, "min_rtt_us": 148,
            "data_segs_out": 156, "dsack_dups": 216, "reord_seen": 220, "snd_wnd": 228}
INFO_U64 = {"bytes_acked": 120, "busy_time_us": 168, "rwnd_limited_us": 176, "sndbuf_limited_us": 184,
            "bytes_retrans": 208}


def tcp_info(s):
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    d = {k: struct.unpack_from("I", raw, o)[0] for k, o in INFO_U32.items()}
    d.update({k: struct.unpack_from("Q", raw, o)[0] for k, o in INFO_U64.items()})
    d["sndbuf"] = s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    return d


def finish(s):
    """Wait until all is acknowledged, then read what the kernel says of it."""
    while struct.unpack("i", fcntl.ioctl(s, 0x5411, b"\0" * 4))[0]:  # SIOCOUTQ
        time.sleep(0.002)
    info = tcp_info(s)
    s.shutdown(socket.SHUT_WR)
    s.settimeout(5)
    try:
        while s.recv(65536):
            pass
    except OSError:
        pass
    s.close()
    return info


def dial(cc="cubic", sndbuf=None, nodelay=False, **_):
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc.encode())
    if sndbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf)
    if nodelay:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.connect((RCV_IP, PORT))
    return s


def bulk(total, write=65536, **kw):
    def go():
        s = dial(**kw)
        left = total
        block = bytes(write)
        while left > 0:
            left -= s.send(block[:min(write, left)])
        return finish(s)
    return go


def bulk_eor(total, write, **kw):
    """Each write its own segment (MSG_EOR forbids joining them)."""
    def go():
        s = dial(nodelay=True, **kw)
        for _ in range(total // write):
            s.send(bytes(write), 0x80)
        return finish(s)
    return go


def bursts(count, size, every, **kw):
    def go():
        s = dial(**kw)
        at = time.monotonic()
        for _ in range(count):
            s.sendall(bytes(size))
            at += every
            time.sleep(max(0, at - time.monotonic()))
        return finish(s)
    return go


def requests(count, writes, answer, **kw):
    """write, write, ... read the answer, again."""
    def go():
        s = dial(**kw)
        for _ in range(count):
            for w in writes:
                s.send(bytes(w))
            need = answer
            while need:
                got = len(s.recv(need))
                if not got:
                    raise RuntimeError("closed early")
                need -= got
        return finish(s)
    return go


def listen(rcvbuf=None, cc="cubic"):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc.encode())
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.bind((RCV_IP, PORT))
    s.listen()
    return s


def sink(rcvbuf=None, pauses=(), read=65536, every=None):
    """Read to the end; pauses = [(after bytes, seconds)]; every = seconds between reads."""
    def go():
        c, _ = listen(rcvbuf).accept()
        got, todo = 0, list(pauses)
        while True:
            if todo and got >= todo[0][0]:
                time.sleep(todo.pop(0)[1])
            b = c.recv(read)
            if not b:
                break
            got += len(b)
            if every:
                time.sleep(every)
        c.close()
    return go


def answering(request, answer, think=0.0, **kw):
    def go():
        c, _ = listen(**kw).accept()
        got = 0
        while True:
            b = c.recv(65536)
            if not b:
                break
            got += len(b)
            while got >= request:
                got -= request
                if think:
                    time.sleep(think)
                c.send(bytes(answer))
        c.close()
    return go


# ------------------------------------------------------------ one run

def child(ns, priority, fn, *args, result=None):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if ns:
            enter(ns)
        realtime(priority)
        out = fn(*args)
        if result:
            with open(result, "w") as f:
                json.dump(out, f)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class Lab:
    """Namespaces, devices, captures and processes of one run; leaves nothing."""

    def __init__(self, work):
        self.work, self.pids, self.caps, self.namespaces = work, {}, [], []
        self.snd, self.rcv = f"wlsnd{os.getpid()}", f"wlrcv{os.getpid()}"

    def __enter__(self):
        os.makedirs(self.work, exist_ok=True)
        return self

    def add_ns(self, ns):
        run("ip", "netns", "add", ns)
        self.namespaces.append(ns)
        run("ip", "-n", ns, "link", "set", "lo", "up")
        self.sysctl(ns, "net.ipv4.tcp_no_metrics_save=1",
                    "net.ipv4.tcp_rmem=4096 131072 6291456", "net.ipv4.tcp_wmem=4096 16384 4194304")

    def sysctl(self, ns, *settings):
        run("ip", "netns", "exec", ns, "sysctl", "-qw", *settings)

    def spawn(self, name, *args, **kw):
        self.pids[name] = child(*args, **kw)

    def capture(self, ns, dev, path):
        p = subprocess.Popen(["ip", "netns", "exec", ns, "chrt", "-f", "5", "tcpdump", "-i", dev, "-n", "-U",
                              "-s", "96", "-B", "65536", "-w", path, "tcp"],
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line = p.stderr.readline()
        while line and b"listening on" not in line:
            line = p.stderr.readline()
        self.caps.append(p)

    def stop_captures(self):
        time.sleep(1.2)  # the ring's block retire time: a tail must not be lost
        for p in self.caps:
            p.send_signal(signal.SIGINT)
        for p in self.caps:
            said = p.stderr.read().decode()
            p.wait()
            if " 0 packets dropped by kernel" not in " " + said.replace("\n", " "):
                raise RuntimeError("capture dropped packets: " + said)
        self.caps = []

    def wait(self, name, timeout):
        pid, end = self.pids[name], time.monotonic() + timeout
        while time.monotonic() < end:
            got, status = os.waitpid(pid, os.WNOHANG)
            if got:
                del self.pids[name]
                if status:
                    raise RuntimeError(f"{name} failed ({status})")
                return
            time.sleep(0.01)
        raise RuntimeError(f"{name}: no end after {timeout} s")

    def end(self, name):
        if name in self.pids:
            os.kill(self.pids[name], signal.SIGTERM)
            os.waitpid(self.pids.pop(name), 0)

    def __exit__(self, *_):
        for p in self.caps:
            p.kill()
            p.wait()
        for name, pid in list(self.pids.items()):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for ns in self.namespaces:
            subprocess.run(["ip", "netns", "del", ns], check=False)


def make_tun(name, sc, work):
    """Run one scenario over the delay line; -> (kernel's view, relay's view)."""
    with Lab(work) as lab:
        lab.add_ns(lab.snd)
        lab.add_ns(lab.rcv)
        fd_a, fd_b = tuns(lab)
        for ns, mine, other in ((lab.snd, SND_IP, RCV_IP), (lab.rcv, RCV_IP, SND_IP)):
            if not (ns == lab.rcv and "device" in sc):
                run("ip", "-n", ns, "addr", "add", mine, "peer", other, "dev", "tun0")
            run("ip", "-n", ns, "link", "set", "tun0", "up", "mtu", "1500", "txqueuelen", "5000")
        if sc.get("gso") is False:
            run("ip", "-n", lab.snd, "link", "set", "tun0", "gso_max_segs", "1")
        if "route" in sc:
            run("ip", "-n", lab.snd, "route", "replace", RCV_IP, "dev", "tun0", "src", SND_IP, *sc["route"].split())
        for ns, key in ((lab.snd, "snd_sysctl"), (lab.rcv, "rcv_sysctl")):
            if key in sc:
                lab.sysctl(ns, *sc[key])
        rtt = sc["rtt"]
        ab = Link(**{"delay": rtt / 2, **sc.get("fwd", {})})
        ba = Link(**{"delay": rtt / 2, **sc.get("rev", {})})
        stats, info = f"{work}/relay.json", f"{work}/sender.json"
        lab.spawn("relay", None, 20, relay, fd_a, fd_b, ab, ba, stats)
        if "route" in sc:
            # The kernel takes a locked cwnd from its metrics cache, not the route: one
            # connection before the capture puts it there.
            lab.sysctl(lab.snd, "net.ipv4.tcp_no_metrics_save=0")
            lab.spawn("receiver", lab.rcv, 10, sink())
            time.sleep(0.2)
            lab.spawn("sender", lab.snd, 10, bulk(1000))
            lab.wait("sender", 10)
            lab.wait("receiver", 10)
            time.sleep(0.3)
        lab.capture(lab.snd, "tun0", f"{work}/{name}.snd.pcap")
        lab.capture(lab.rcv, "tun0", f"{work}/{name}.rcv.pcap")
        if "device" in sc:
            lab.spawn("receiver", lab.rcv, 15, Device(**sc["device"]).serve, "tun0")
        else:
            lab.spawn("receiver", lab.rcv, 10, sc["receiver"])
        time.sleep(0.3)
        lab.spawn("sender", lab.snd, 10, sc["sender"], result=info)
        lab.wait("sender", 90)
        if "device" in sc:
            lab.end("receiver")
        else:
            lab.wait("receiver", 10)
        lab.stop_captures()
        lab.end("relay")
        os.close(fd_a)
        os.close(fd_b)
        return json.load(open(info)), json.load(open(stats))


def make_veth(name, sc, work):
    """snd - router - rcv over veth with offload; the router's tbf is the bottleneck."""
    with Lab(work) as lab:
        mid = f"wlmid{os.getpid()}"
        for ns in (lab.snd, mid, lab.rcv):
            lab.add_ns(ns)
        for ns, net in ((lab.snd, "192.0.2"), (lab.rcv, "198.51.100")):
            run("ip", "-n", ns, "link", "add", "eth0", "type", "veth", "peer", "name", f"to{ns[2:5]}", "netns", mid)
            for n, dev, host in ((ns, "eth0", 1), (mid, f"to{ns[2:5]}", 254)):
                run("ip", "-n", n, "addr", "add", f"{net}.{host}/24", "dev", dev)
                run("ip", "-n", n, "link", "set", dev, "up")
            run("ip", "-n", ns, "route", "add", "default", "via", f"{net}.254")
        lab.sysctl(mid, "net.ipv4.ip_forward=1")
        run("ip", "netns", "exec", mid, "tc", "qdisc", "add", "dev", "torcv", "root", "tbf",
            "rate", "50mbit", "burst", "128kb", "limit", "4mb")
        global RCV_IP
        RCV_IP = "198.51.100.1"
        try:
            lab.capture(lab.snd, "eth0", f"{work}/{name}.snd.pcap")
            lab.capture(lab.rcv, "eth0", f"{work}/{name}.rcv.pcap")
            lab.spawn("receiver", lab.rcv, 10, sc["receiver"])
            time.sleep(0.3)
            lab.spawn("sender", lab.snd, 10, sc["sender"], result=f"{work}/sender.json")
            lab.wait("sender", 60)
            lab.wait("receiver", 10)
            lab.stop_captures()
        finally:
            RCV_IP = "192.0.2.2"
        return json.load(open(f"{work}/sender.json")), {}


def tuns(lab):
    """Open both TUN devices; our own namespace is kept by coming back to it."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        return open_tun(lab.snd, "tun0"), open_tun(lab.rcv, "tun0")
    finally:
        LIBC.setns(home, 0x40000000)
        os.close(home)
