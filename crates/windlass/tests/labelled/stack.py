#!/usr/bin/env python3
"""A small TCP stack, as devices have: `stack.py SETTINGS READY`.

It has an address of its own behind the far end of a link, and one connection, which it accepts.
It receives, or it sends; what it does badly is in its settings.
"""

import fcntl
import heapq
import json
import os
import select
import struct
import subprocess
import sys
import time

ADDRESS = bytes([192, 0, 2, 3])
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
TUNSETIFF, TUN_WITHOUT_INFORMATION = 0x400454CA, 0x1001
HALF = 1 << 31


def checksum(data):
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ahead(one, other):
    """How far a sequence number is ahead of another; less than 0 where it is behind."""
    distance = (one - other) & 0xFFFFFFFF
    return distance - (1 << 32) if distance >= HALF else distance


class Stack:
    """One connection."""

    def __init__(self, tun, settings):
        self.tun, self.set = tun, settings
        self.mss = settings.get("mss", 1460)
        self.timers, self.count, self.identification = [], 0, 0
        self.peer = None

    def at(self, delay, call):
        self.count += 1
        heapq.heappush(self.timers, (time.monotonic() + delay, self.count, call))

    def send(self, sequence, flags, data=b"", options=b""):
        source, source_port, port = self.peer
        window = self.room()
        self.offered = window
        head = struct.pack(
            "!HHIIBBHHH", port, source_port, sequence & 0xFFFFFFFF, self.next, 0, flags, window, 0, 0
        )
        head = head[:12] + bytes([(5 + len(options) // 4) << 4]) + head[13:] + options + data
        pseudo = ADDRESS + source + struct.pack("!BBH", 0, 6, len(head))
        head = head[:16] + struct.pack("!H", checksum(pseudo + head)) + head[18:]
        self.identification = (self.identification + 1) & 0xFFFF
        size = 20 + len(head)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, size, self.identification, 0x4000, 64, 6, 0)
        ip += ADDRESS + source
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        os.write(self.tun, ip + head)

    # Receiving

    def room(self):
        """The window: a buffer less what the reader has not read yet."""
        window = self.set.get("window", 8192)
        now = time.monotonic()
        if self.peer and "read_rate" in self.set:
            self.unread = max(0, self.unread - (now - self.read_at) * self.set["read_rate"])
        elif now >= self.stopped_until:
            self.unread = 0
        self.read_at = now
        return max(0, min(65535, int(window - self.unread)))

    def acknowledge(self):
        self.pending = 0
        self.send(self.sent, ACK)
        if self.offered >= self.mss or self.updating or self.set.get("silent_updates"):
            return
        if "read_rate" in self.set:
            delay = 2 * self.mss / self.set["read_rate"]
        else:
            delay = self.stopped_until - time.monotonic()
        if delay > 0:
            self.updating = True
            self.at(delay, self.update)

    def update(self):
        self.updating = False
        self.acknowledge()

    def arrived(self, sequence, data, is_fin):
        distance = ahead(sequence, self.next)
        if distance != 0 or len(data) > self.room():
            if distance > 0 and not self.set.get("discards"):
                self.early[sequence] = len(data)
            return self.acknowledge()
        took = len(data)
        self.next = (self.next + took) & 0xFFFFFFFF
        while self.next in self.early:
            more = self.early.pop(self.next)
            self.next, took = (self.next + more) & 0xFFFFFFFF, took + more
        self.unread += took
        self.got += took
        self.since += took
        if "stop_every" in self.set and self.since >= self.set["stop_every"]:
            self.since = 0
            self.stopped_until = time.monotonic() + self.set["stop"]
        if is_fin:
            self.next = (self.next + 1) & 0xFFFFFFFF
            self.send(self.sent, ACK | FIN)
            self.sent = (self.sent + 1) & 0xFFFFFFFF
            return
        self.pending += 1
        late, pairs = self.set.get("ack_late", 0), self.set.get("ack_pairs")
        if late and pairs and self.pending >= 2 or not late:
            self.acknowledge()
        elif self.pending == 1:
            self.at(late, lambda: self.acknowledge() if self.pending else None)

    # Sending

    def push(self):
        """Sends what the windows allow."""
        total, size = self.set["bytes"], self.set.get("piece", self.mss)
        bound = min(self.set["flight"], self.allowed, self.peer_window)
        while self.offset < total:
            data = min(size, total - self.offset)
            if self.offset - self.acked + data > bound:
                break
            if "pace" in self.set:
                if time.monotonic() < self.due:
                    if not self.waits:
                        self.waits = True
                        self.at(self.due - time.monotonic(), self.go_on)
                    break
                self.due += data / self.set["pace"]
            self.send_data(self.offset, data)
            self.offset += data
        if self.offset >= total and self.acked >= total and not self.finished:
            self.finished = True
            self.send(self.start + 1 + total, ACK | FIN)

    def go_on(self):
        self.waits = False
        self.push()

    def send_data(self, offset, size):
        flags = ACK if self.set.get("unpushed") else ACK | PSH
        self.send(self.start + 1 + offset, flags, bytes(size))
        if self.timer is None:
            self.arm()

    def arm(self):
        """The timer of the oldest segment."""
        armed = self.timer = object()
        self.at(self.set.get("timer", 1.0), lambda: self.ran_out(armed))

    def ran_out(self, armed):
        if armed is not self.timer or self.finished:
            return
        self.timer = None
        if self.acked < self.offset:
            size = self.set.get("piece", self.mss)
            if self.set.get("cuts"):
                self.allowed = size
            again = self.offset if self.set.get("goes_back") else self.acked + size
            for offset in range(self.acked, min(again, self.offset), size):
                self.send_data(offset, min(size, self.set["bytes"] - offset))
            self.timer is None and self.arm()

    def acknowledged(self, number, window):
        self.peer_window = window << self.scale
        acked = ahead(number, (self.start + 1) & 0xFFFFFFFF)
        if acked > self.acked:
            self.acked, self.copies = min(acked, self.set["bytes"]), 0
            # Slow growth, as after a loss.
            self.allowed += self.mss * self.mss / max(self.allowed, self.mss)
            self.timer = None
            if self.acked < self.offset:
                self.arm()
        elif acked == self.acked and self.acked < self.offset:
            self.copies += 1
            if self.copies == 3 and self.set.get("fast_repair"):
                size = min(self.set.get("piece", self.mss), self.set["bytes"] - self.acked)
                self.send_data(self.acked, size)
        self.push()

    # Both

    def opened(self, peer, sequence, options, window):
        self.peer, self.next, self.start = peer, (sequence + 1) & 0xFFFFFFFF, 0x1000
        self.sent = self.start + 1
        self.early, self.pending, self.updating = {}, 0, False
        self.unread, self.got, self.since = 0, 0, 0
        self.read_at, self.stopped_until = time.monotonic(), 0
        self.offset = self.acked = self.copies = 0
        self.allowed = self.set.get("flight", 0)
        self.timer, self.waits, self.finished = None, False, False
        self.peer_window, self.scale, self.due = window, 0, time.monotonic()
        self.send(self.start, SYN | ACK, options=struct.pack("!BBH", 2, 4, self.mss))

    def packet(self, packet):
        if packet[0] >> 4 != 4 or packet[9] != 6:
            return
        size = (packet[0] & 15) * 4
        tcp = packet[size : struct.unpack_from("!H", packet, 2)[0]]
        source_port, port, sequence, number, offset, flags, window = struct.unpack_from(
            "!HHIIBBH", tcp
        )
        if flags & SYN:
            self.opened((packet[12:16], source_port, port), sequence, tcp[20:], window)
            return
        if not self.peer or flags & RST:
            return
        data = tcp[(offset >> 4) * 4 :]
        if "bytes" in self.set:
            if flags & FIN:
                self.next = (sequence + len(data) + 1) & 0xFFFFFFFF
                self.send(self.start + 2 + self.set["bytes"], ACK)
            elif flags & ACK:
                self.acknowledged(number, window)
        elif data or flags & FIN:
            self.arrived(sequence, data, flags & FIN)
        elif ahead(sequence, self.next) < 0:
            self.acknowledge()


def main():
    with open(sys.argv[1]) as file:
        settings = json.load(file)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = struct.pack("16sH22x", b"stack0", TUN_WITHOUT_INFORMATION)
    fcntl.ioctl(tun, TUNSETIFF, name)
    subprocess.run(["ip", "link", "set", "stack0", "up"], check=True)
    subprocess.run(["ip", "route", "add", "192.0.2.3/32", "dev", "stack0"], check=True)
    with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
        file.write("1")
    stack = Stack(tun, settings)
    stack.stopped_until = stack.unread = stack.read_at = 0
    open(sys.argv[2], "w").close()
    while True:
        wait = max(0, stack.timers[0][0] - time.monotonic()) if stack.timers else None
        select.select([tun], [], [], wait)
        while stack.timers and stack.timers[0][0] <= time.monotonic():
            heapq.heappop(stack.timers)[2]()
        while True:
            try:
                stack.packet(os.read(tun, 70000))
            except BlockingIOError:
                break


main()
