"""Throws packets at a device that no honest host sends, and transfers to it
before, among and after them.

    hostile.py SEED PACKETS BYTES

The packets go to the interface as they are, past the kernel's TCP and IP. The
same seed gives the same packets. Prints the port of each honest connection.
"""

import os
import random
import socket
import struct
import sys

seed, packets, size = (int(word) for word in sys.argv[1:])
dice = random.Random(seed)
DEVICE, OWN = os.environ["WINDLASS_DEVICE"], os.environ["WINDLASS_LOCAL"]
RAW, LPR = int(os.environ["WINDLASS_RAW"]), int(os.environ["WINDLASS_LPR"])
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("tun0", socket.ntohs(0x0800)))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def bytes_of(most):
    return dice.randbytes(dice.randint(0, most))


def address():
    """Somebody's: mostly our own, or one of many, or one that no host has."""
    some = ["10.%d.%d.%d" % tuple(dice.randrange(256) for _ in range(3)), DEVICE]
    some += ["0.0.0.0", "255.255.255.255", "224.0.0.1", "127.0.0.1"]
    return OWN if dice.random() < 0.5 else dice.choice(some)


def ip(protocol, body, source=None, **wrong):
    total = wrong.get("total", 20 + len(body))
    head = struct.pack(
        "!BBHHHBBH4s4s",
        wrong.get("first", 0x45),
        dice.randrange(256),
        total & 0xFFFF,
        dice.randrange(65536),
        wrong.get("fragment", 0),
        dice.randrange(256),
        protocol,
        0,
        socket.inet_aton(source or address()),
        socket.inet_aton(DEVICE),
    )
    right = checksum(head)
    return head[:10] + struct.pack("!H", wrong.get("sum", right)) + head[12:] + body


def tcp(port, **wrong):
    """A segment with right checksums, and otherwise anything."""
    source = address()
    options = bytes_of(40)
    options += b"\1" * (-len(options) % 4)
    words = wrong.get("words", 5 + len(options) // 4)
    flags = dice.choice([2, 2, 16, 24, 17, 4, 20, 18, 0, 255, dice.randrange(256)])
    # Never that of an honest connection, which the kernel takes from 20000 on.
    own = dice.randrange(1, 20000)
    head = struct.pack("!HHII", own, port, dice.randrange(1 << 32), dice.randrange(1 << 32))
    window = dice.choice([0, 1, 65535, dice.randrange(65536)])
    head += struct.pack("!BBHHH", (words & 15) << 4, flags, window, 0, dice.randrange(65536))
    data = bytes_of(1400)
    if port == LPR and dice.random() < 0.5:
        data = b"\x02lp\n\x03" + bytes_of(400)
    body = head + options + data
    pseudo = socket.inet_aton(source) + socket.inet_aton(DEVICE)
    right = checksum(pseudo + struct.pack("!HH", 6, len(body)) + body)
    body = body[:16] + struct.pack("!H", wrong.get("sum", right)) + body[18:]
    return ip(6, body, source)


def ping(**wrong):
    body = struct.pack("!BBHI", 8, wrong.get("code", 0), 0, dice.randrange(1 << 32)) + bytes_of(1400)
    right = checksum(body)
    return ip(1, body[:2] + struct.pack("!H", wrong.get("sum", right)) + body[4:])


def packet():
    port = dice.choice([RAW, RAW, LPR, dice.randrange(65536)])
    kind = dice.randrange(12)
    if kind == 0:
        return bytes_of(1500)
    if kind == 1:
        return bytes([dice.choice([0x45, 0x4F, 0x40, 0x60])]) + bytes_of(1499)
    if kind == 2:
        return ip(dice.randrange(256), bytes_of(1400))
    if kind == 3:
        return ip(6, bytes_of(1400), total=dice.randrange(65536))
    if kind == 4:
        return ip(6, bytes_of(60), first=dice.randrange(256), fragment=dice.randrange(65536))
    if kind == 5:
        whole = tcp(port)
        return whole[: dice.randrange(len(whole))]
    if kind == 6:
        return tcp(port, words=dice.randrange(16))
    if kind == 7:
        return tcp(port, sum=dice.randrange(65536))
    if kind == 8:
        return ping(sum=dice.randrange(65536)) if dice.random() < 0.3 else ping(code=dice.randrange(3))
    return tcp(port)


def flood(count):
    sent = 0
    while sent < count:
        try:
            wire.send(packet() or b"\0")
        except OSError:
            # The kernel itself takes no more, or refuses the shortest ones.
            pass
        sent += 1


def connect():
    connection = socket.socket()
    connection.settimeout(120)
    for port in range(20000, 30000):
        try:
            connection.bind((OWN, port))
            break
        except OSError:
            continue
    connection.connect((DEVICE, RAW))
    print(connection.getsockname()[1], flush=True)
    return connection


def finish(connection):
    connection.shutdown(socket.SHUT_WR)
    if connection.recv(1) != b"":
        sys.exit("the device has more to say")
    connection.close()


first = connect()
first.sendall(b"x" * (size // 2))
flood(packets)
first.sendall(b"x" * (size - size // 2))
finish(first)
second = connect()
second.sendall(b"y" * size)
finish(second)
