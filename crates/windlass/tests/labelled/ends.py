#!/usr/bin/env python3
"""One end of a labelled transfer: `ends.py SPEC near|far`.

Sets its host up as the specification says, captures, runs its program or its role, samples the
connection's TCP_INFO meanwhile, and writes what it saw as JSON. It shares no code with windlass.
"""

import array
import fcntl
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

SIOCETHTOOL, SIOCINQ, SIOCOUTQ = 0x8946, 0x541B, 0x5411
TSO, GSO, GRO = 0x1F, 0x24, 0x2C
MAX_PACING_RATE, NOTSENT_LOWAT, EOR = 47, 25, 0x80
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SYS_PIDFD_GETFD = 438
SAMPLE = 0.008


def set_up(end):
    """Sets sysctls, the interface's offload and its route."""
    for name, value in end.get("sysctl", {}).items():
        with open("/proc/sys/net/ipv4/" + name, "w") as file:
            file.write(str(value))
    if not end.get("offload", True):
        asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for feature in (TSO, GSO, GRO):
            value = array.array("B", struct.pack("II", feature, 0))
            request = struct.pack("16sP8x", b"tun0", value.buffer_info()[0])
            try:
                fcntl.ioctl(asker.fileno(), SIOCETHTOOL, request)
            except OSError:
                pass
    if "gso" in end:
        # A buffer's bound is kept to a segment only where packets are no larger.
        limit = ["gso_max_segs", str(end["gso"]), "gso_max_size", str(end["gso"] * 1500)]
        subprocess.run(["ip", "link", "set", "dev", "tun0"] + limit, check=True)
    for name, content in end.get("files", {}).items():
        with open(name, "wb") as file:
            file.write(os.urandom(content) if isinstance(content, int) else content.encode())
        os.chmod(name, 0o600)
    if "shaper" in end:
        shaper = ["tc", "qdisc", "replace", "dev", "tun0", "root", "tbf"]
        subprocess.run(shaper + end["shaper"].split(), check=True)
    # The route has the congestion control: in a namespace the sysctl takes only some.
    route = ["ip", "route", "replace", "192.0.2.0/24", "dev", "tun0", "congctl", end["congestion"]]
    subprocess.run(route + end.get("route", "").split(), check=True)


def move_behind_card(hole):
    """Moves this process behind a virtual card, which splits large packets as a real one does."""
    import ctypes

    def ip(line):
        subprocess.run(["ip"] + line.split(), check=True)

    inner = subprocess.Popen(["unshare", "-n", "sleep", "60"])
    own = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{inner.pid}/ns/net") == own:
        time.sleep(0.005)
    ip("link add card address 02:00:00:00:00:01 type veth peer name host address 02:00:00:00:00:02")
    ip(f"link set host netns {inner.pid}")
    ip("address flush dev tun0")
    ip("route replace 192.0.2.0/24 dev tun0")
    ip("link set card up")
    ip("route replace 192.0.2.1/32 dev card")
    ip("neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:02 dev card nud permanent")
    if hole:
        ip(f"link set tun0 mtu {hole}")
    with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
        file.write("1")
    with open(f"/proc/{inner.pid}/ns/net") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000):
            sys.exit("setns failed")
    inner.kill()
    inner.wait()
    ip("link set lo up")
    ip("link set host name tun0 up")
    ip("address add 192.0.2.1/32 dev tun0")
    ip("route replace 192.0.2.0/24 dev tun0")
    for last in (2, 3):
        host = f"192.0.2.{last} lladdr 02:00:00:00:00:01 dev tun0"
        ip(f"neighbour replace {host} nud permanent")


def start_capture(end, port):
    """Starts tcpdump, and returns once it captures."""
    # Without immediate mode the last second of packets is lost when it is told to end.
    line = ["tcpdump", "--immediate-mode", "-i", "tun0", "-s", "128", "-B", "16384"]
    line += ["-Z", "root", "-w", end["capture"]]
    dump = subprocess.Popen(
        line + [f"tcp port {port}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    for text in dump.stderr:
        if b"listening on" in text:
            return dump
    sys.exit("tcpdump failed")


class Info:
    """A reading of TCP_INFO (include/uapi/linux/tcp.h)."""

    def __init__(self, sock):
        raw = sock.getsockopt(socket.IPPROTO_TCP, 11, 256).ljust(256, b"\0")
        (self.state, self.ca_state) = raw[0], raw[1]
        self.app_limited = raw[7] & 1
        (self.mss,) = struct.unpack_from("I", raw, 16)
        self.unacked, self.sacked, self.lost, self.retrans = struct.unpack_from("IIII", raw, 24)
        self.rtt, _, self.ssthresh, self.cwnd = struct.unpack_from("IIII", raw, 68)
        (self.pacing,) = struct.unpack_from("Q", raw, 104)
        self.acked, self.received = struct.unpack_from("QQ", raw, 120)
        self.notsent, self.min_rtt = struct.unpack_from("II", raw, 144)
        self.busy, self.rwnd_limited, self.sndbuf_limited = struct.unpack_from("QQQ", raw, 168)
        self.delivered, self.marked = struct.unpack_from("II", raw, 192)
        self.sent, self.resent = struct.unpack_from("QQ", raw, 200)
        self.dsack, self.reordered, _, self.window = struct.unpack_from("IIII", raw, 216)

    def state_of(self):
        """Says what held the sender at this moment, by the kernel's own variables."""
        flight = self.sent - self.resent - self.acked
        if self.notsent == 0 and flight <= 0:
            return "idle"
        if self.ca_state == 4:
            return "timeout"
        if self.ca_state == 3:
            return "recovery"
        if self.notsent < self.mss:
            return "unfilled" if self.notsent == 0 else "tail"
        if flight + self.mss > self.window:
            return "window"
        if self.unacked - self.sacked - self.lost + self.retrans >= self.cwnd:
            return "slow_start" if self.cwnd < self.ssthresh else "avoidance"
        return "other"


class Sampler(threading.Thread):
    """Samples a socket until it is told to stop, or the socket is gone."""

    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.ended = sock, threading.Event()
        self.samples, self.unread = [], []
        self.start()

    def run(self):
        last = time.monotonic()
        while not self.ended.wait(SAMPLE * random.uniform(0.7, 1.3)):
            try:
                info = Info(self.sock)
                waits = fcntl.ioctl(self.sock.fileno(), SIOCINQ, b"\0\0\0\0")
            except (OSError, ValueError):
                return
            now = time.monotonic()
            if info.state != 10:
                self.samples.append((now - last, info))
                self.unread.append((now - last, struct.unpack("i", waits)[0]))
            last = now
            if info.state == 7:
                return

    def figures(self):
        """The samples as figures: shares of time, and levels."""
        self.ended.set()
        self.join()
        # From the first data to the last that is acknowledged.
        ends = [i for i, (_, one) in enumerate(self.samples) if one.state_of() != "idle"]
        busy = self.samples[ends[0] : ends[-1] + 1] if ends else []
        whole = sum(time for time, _ in busy)
        shares = {}
        for spent, one in busy:
            name = one.state_of()
            shares[name] = shares.get(name, 0) + spent / whole
        mean = lambda of: sum(t * of(one) for t, one in busy) / whole if busy else 0
        flight = lambda one: one.sent - one.resent - one.acked
        infinite = lambda one: one.ssthresh >= 0x7FFFFFFF
        told = {
            "samples": len(busy),
            "shares": shares,
            "first_slow_start": mean(lambda one: infinite(one) and one.state_of() == "slow_start"),
            "mean_flight": mean(flight),
            "max_flight": max((flight(one) for _, one in busy), default=0),
            "mean_cwnd": mean(lambda one: one.cwnd),
            "cwnd_used": mean(lambda one: one.unacked >= one.cwnd),
            "mean_rtt": mean(lambda one: one.rtt) / 1e6,
            "mean_window": mean(lambda one: one.window),
            "app_limited": mean(lambda one: one.app_limited),
        }
        spent = sum(time for time, _ in self.unread)
        if spent:
            told["unread"] = sum(t for t, size in self.unread if size > 0) / spent
            told["mean_unread"] = sum(t * size for t, size in self.unread) / spent
        if self.samples:
            last = self.samples[-1][1]
            for name in ["mss", "acked", "received", "min_rtt", "busy", "rwnd_limited"]:
                told[name] = getattr(last, name)
            for name in ["sndbuf_limited", "marked", "resent", "dsack", "reordered", "ssthresh"]:
                told[name] = getattr(last, name)
        return told


def prepare(sock, role):
    """Sets a socket's options before it connects or listens."""
    for name, level, option in [
        ("sndbuf", socket.SOL_SOCKET, socket.SO_SNDBUF),
        ("rcvbuf", socket.SOL_SOCKET, socket.SO_RCVBUF),
        ("sndbuf_forced", socket.SOL_SOCKET, SO_SNDBUFFORCE),
        ("rcvbuf_forced", socket.SOL_SOCKET, SO_RCVBUFFORCE),
        ("mss", socket.IPPROTO_TCP, socket.TCP_MAXSEG),
        ("clamp", socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP),
        ("lowat", socket.IPPROTO_TCP, NOTSENT_LOWAT),
        ("nodelay", socket.IPPROTO_TCP, socket.TCP_NODELAY),
        ("pacing", socket.SOL_SOCKET, MAX_PACING_RATE),
    ]:
        if name in role:
            sock.setsockopt(level, option, int(role[name]))
    if "unheard_routers" in role:
        # Messages of a smaller MTU are thrown away, and packets are not to be fragmented.
        with open("/proc/sys/net/ipv4/ip_no_pmtu_disc", "w") as file:
            file.write("2")
        sock.setsockopt(socket.IPPROTO_IP, 10, 2)


def take(sock, size):
    """Reads so many bytes; returns False at the end of the stream."""
    while size > 0:
        data = sock.recv(min(size, 1 << 18))
        if not data:
            return False
        size -= len(data)
    return True


class Clock:
    """Time spent in writing, asleep, and in reading."""

    def __init__(self):
        self.start = time.monotonic()
        self.spent = {"write": 0.0, "sleep": 0.0, "read": 0.0}
        self.written = 0

    def of(self, what, call, *words):
        before = time.monotonic()
        done = call(*words)
        self.spent[what] += time.monotonic() - before
        return done

    def sleep(self, seconds):
        if seconds > 0:
            self.of("sleep", time.sleep, seconds)

    def send(self, sock, data, flags=0):
        self.of("write", lambda: sock.sendall(data, flags))
        self.written += len(data)

    def figures(self):
        return dict(self.spent, program_seconds=time.monotonic() - self.start)


def write(sock, role, clock):
    """Writes a number of bytes: at once, at a rate, or in bursts with pauses."""
    chance = random.Random(role.get("seed", 1))
    size, total = int(role.get("write", 65536)), int(role["bytes"])
    burst, pause, rate = role.get("burst"), role.get("pause", 0), role.get("rate")
    flags = EOR if role.get("eor") else 0
    data = os.urandom(size)
    since, due = 0, time.monotonic()
    if "first" in role:
        clock.send(sock, data[: role["first"]])
        clock.sleep(0.1)
    while clock.written < total:
        # With a bound on what is under way the program writes in step with ACKs.
        while role.get("outstanding"):
            waits = fcntl.ioctl(sock.fileno(), SIOCOUTQ, b"\0\0\0\0")
            if struct.unpack("i", waits)[0] + size <= role["outstanding"]:
                break
            clock.sleep(role.get("poll", 0.001))
        clock.send(sock, data[: total - clock.written], flags)
        since += size
        if burst and since >= burst:
            since = 0
            spread = role.get("spread", 0)
            nap = pause * chance.uniform(1 - spread, 1 + spread)
            if role.get("beat"):
                # By the clock, and not from the end of the burst.
                due += nap
                nap = due - time.monotonic()
            clock.sleep(nap)
        if rate:
            clock.sleep(clock.written / rate - (time.monotonic() - clock.start))
    sock.shutdown(socket.SHUT_WR)
    clock.of("read", take, sock, 1 << 60)


def read(sock, role, clock):
    """Reads until the end: at once, at a rate, or with stops."""
    size, rate = int(role.get("read", 1 << 18)), role.get("rate")
    got = since = 0
    while True:
        data = clock.of("read", sock.recv, size)
        if not data:
            break
        got, since = got + len(data), since + len(data)
        if "clamp" in role:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, int(role["clamp"]))
        if rate:
            clock.sleep(got / rate - (time.monotonic() - clock.start))
        if role.get("stop_every") and since >= role["stop_every"]:
            since = 0
            clock.sleep(role["stop"])


def blocks(sock, role, clock):
    """Writes a block, and the next when the other side has answered."""
    data = os.urandom(int(role["block"]))
    while clock.written < role["bytes"]:
        clock.send(sock, data[: role.get("head", len(data))])
        if "head" in role:
            clock.send(sock, data[role["head"] :])
        if not clock.of("read", take, sock, int(role["answer"])):
            break
        clock.sleep(role.get("pause", 0))
    sock.shutdown(socket.SHUT_WR)
    clock.of("read", take, sock, 1 << 60)


def answers(sock, role, clock):
    """Answers each block."""
    while clock.of("read", take, sock, int(role["block"])):
        clock.sleep(role.get("pause", 0))
        sock.sendall(bytes(int(role["answer"])))


def asks(sock, role, clock):
    """Asks for each block, or for all of them ahead."""
    got = 0
    ahead = int(-(-role["bytes"] // role["block"])) if role.get("ahead") else 0
    sock.sendall(bytes(int(role["request"])) * ahead)
    while got < role["bytes"]:
        sock.sendall(b"" if ahead else bytes(int(role["request"])))
        if not clock.of("read", take, sock, int(role["block"])):
            break
        got += role["block"]
        clock.sleep(role.get("pause", 0))


def serves(sock, role, clock):
    """Answers each request with a block."""
    data = os.urandom(int(role["block"]))
    while clock.of("read", take, sock, int(role["request"])):
        clock.sleep(role.get("pause", 0))
        clock.send(sock, data)


def stores(sock, role, clock):
    """Takes the body of an HTTP request, and answers."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += sock.recv(65536)
    head, _, body = head.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    clock.of("read", take, sock, int(fields[b"content-length"]) - len(body))
    sock.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    clock.of("read", take, sock, 1 << 60)


def spends(sock, role, clock):
    """Keeps no more unanswered than the other side's credits allow (as SSH and SMB do)."""
    left, data = int(role["credits"]), os.urandom(int(role["write"]))
    message = int(role["message"])
    while clock.written < role["bytes"]:
        while left < len(data):
            if not clock.of("read", take, sock, message):
                return
            left += int(role["grant"])
        clock.send(sock, data)
        left -= len(data)
    sock.shutdown(socket.SHUT_WR)
    clock.of("read", take, sock, 1 << 60)


def grants(sock, role, clock):
    """Grants credits for what it has taken."""
    while clock.of("read", take, sock, int(role["grant"])):
        sock.sendall(bytes(int(role["message"])))


ROLES = {
    one.__name__: one
    for one in [write, read, blocks, answers, asks, serves, stores, spends, grants]
}


def cross_traffic(end, near):
    """Carries another flow over the same line for the whole time."""

    def bulk():
        if near:
            sock = socket.create_connection(("192.0.2.2", 7001))
        else:
            listener = socket.create_server(("", 7001))
            sock, _ = listener.accept()
        try:
            if end["cross"] == "write":
                while True:
                    sock.sendall(bytes(65536))
            while sock.recv(1 << 18):
                pass
        except OSError:
            pass

    threading.Thread(target=bulk, daemon=True).start()


def warm_up(near):
    """Has a first connection, which takes the route's locked metrics into the host's cache."""
    for _ in range(2):
        if near:
            for _ in range(100):
                try:
                    sock = socket.create_connection(("192.0.2.2", 7002))
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            sock.sendall(b"1")
            sock.recv(1)
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1)
        else:
            with socket.create_server(("", 7002)) as listener:
                sock, _ = listener.accept()
            sock.recv(1)
            sock.sendall(b"1")
            sock.recv(1)
            sock.shutdown(socket.SHUT_WR)
        time.sleep(0.05)
        sock.close()


def of_program(process, port, sampled):
    """Finds the program's connection, or a child's, and samples it."""
    while process.poll() is None and not sampled:
        for pid in descendants(process.pid):
            if not sampled:
                sampled.extend(sockets_of(pid, port))
        time.sleep(0.01)


def descendants(pid):
    found, rest = [], [pid]
    while rest:
        one = rest.pop()
        found.append(one)
        try:
            with open(f"/proc/{one}/task/{one}/children") as file:
                rest += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def sockets_of(pid, port):
    import ctypes

    found = []
    try:
        pidfd = os.pidfd_open(pid)
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            copy = ctypes.CDLL(None).syscall(SYS_PIDFD_GETFD, pidfd, int(name), 0)
            if copy < 0:
                continue
            sock = socket.socket(fileno=copy)
            try:
                ports = {sock.getsockname()[1], sock.getpeername()[1]}
                if sock.type == socket.SOCK_STREAM and port in ports:
                    info = Info(sock)
                    # A program may have a connection for control beside that of the data.
                    if max(info.sent, info.received) > 10_000:
                        found.append(Sampler(sock))
                        break
            except (OSError, IndexError):
                pass
            sock.close()
        os.close(pidfd)
    except OSError:
        pass
    return found


def run_program(end, port, near):
    """Runs a program; a server runs until the near end has finished."""
    process = subprocess.Popen(end["program"], stdout=sys.stderr, stdin=subprocess.DEVNULL)
    sampled = []
    finder = threading.Thread(target=of_program, args=(process, port, sampled), daemon=True)
    finder.start()
    start = time.monotonic()
    if near:
        code = process.wait()
    else:
        while not os.path.exists(end["finished"]) and process.poll() is None:
            time.sleep(0.02)
        code = 0
    told = {"program_seconds": time.monotonic() - start, "code": code}
    for sampler in sampled[:1]:
        told.update(sampler.figures())
    if not near:
        for pid in reversed(descendants(process.pid)):
            try:
                os.kill(pid, signal.SIGTERM)
            except OSError:
                pass
    return told


def connect(address, port, role):
    sock = socket.socket()
    prepare(sock, role)
    for left in range(60, -1, -1):
        try:
            sock.connect((address, port))
            break
        except ConnectionRefusedError:
            if not left:
                raise
            time.sleep(0.1)
    return sock


def run_role(end, port, near):
    """Connects or listens, and plays the role."""
    role = end["role"]
    count = int(role.get("streams", 1))
    if near:
        while "ready" in end and not os.path.exists(end["ready"]):
            time.sleep(0.01)
        socks = [connect(end.get("address", "192.0.2.2"), port, role) for _ in range(count)]
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        prepare(listener, role)
        listener.bind(("", port))
        listener.listen(4)
        socks = [listener.accept()[0] for _ in range(count)]
    others = [
        threading.Thread(target=ROLES[role["is"]], args=(one, role, Clock())) for one in socks[1:]
    ]
    for other in others:
        other.start()
    sock = socks[0]
    sampler, clock = Sampler(sock), Clock()
    time.sleep(role.get("wait", 0))
    try:
        ROLES[role["is"]](sock, role, clock)
    except OSError as error:
        print(error, file=sys.stderr)
    for other in others:
        other.join()
    told = clock.figures()
    told.update(sampler.figures())
    for one in socks:
        one.close()
    return told


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    near = sys.argv[2] == "near"
    end, port = spec[sys.argv[2]], spec["port"]
    if "card" in end:
        move_behind_card(end.get("hole"))
    set_up(end)
    dump = start_capture(end, port)
    if "warm" in end:
        warm_up(near)
    if "cross" in end:
        cross_traffic(end, near)
        if near:
            time.sleep(end.get("cross_first", 0.5))
    told = (run_program if "program" in end else run_role)(end, port, near)
    time.sleep(spec["settle"])
    if near:
        open(spec["far"]["finished"], "w").close()
    dump.send_signal(signal.SIGINT)
    text = dump.stderr.read().decode()
    dump.wait()
    lost = [line.split()[0] for line in text.splitlines() if "dropped by kernel" in line]
    told["capture_lost"] = int(lost[0]) if lost else -1
    with open(end["report"] + ".part", "w") as file:
        json.dump(told, file)
    os.rename(end["report"] + ".part", end["report"])
    # The link ends with the near end, and the far end's program with it.
    until = time.monotonic() + 3
    while near and not os.path.exists(spec["far"]["report"]) and time.monotonic() < until:
        time.sleep(0.01)


main()
