"""A name server for one name: it answers A with 127.0.0.1 and everything else with nothing.

    name-server.py NAME         on 127.0.0.1:53, UDP; says `ready` on standard output
"""

import socket
import struct
import sys


def labels(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def main():
    name = labels(sys.argv[1])
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    print("ready", flush=True)
    while True:
        query, client = server.recvfrom(4096)
        # RFC 1035, section 4.1: a header of 12 bytes, then the question.
        end = query.find(b"\0", 12) + 1
        if end == 0 or len(query) < end + 4:
            continue
        kind = struct.unpack("!H", query[end : end + 2])[0]
        is_known = query[12:end].lower() == name
        answers = [b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1"] if is_known and kind == 1 else []
        flags = 0x8580 if is_known else 0x8583
        header = query[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, 0)
        server.sendto(header + query[12 : end + 4] + b"".join(answers), client)


main()
