#!/usr/bin/env python3
"""Programs with one habit: `read CHUNK RATE BUFFER` reads what comes to port 5001 at a rate,
`write` writes 2,000 B each 10 ms for 3 s, `work` takes a processor until it is killed."""

import os
import socket
import sys
import time


def read(chunk, rate, buffer):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    listener.bind(("", 5001))
    listener.listen(4)
    connection, _ = listener.accept()
    began, count = time.monotonic(), 0
    while True:
        left = chunk
        while left > 0:
            data = connection.recv(left)
            if not data:
                return
            left -= len(data)
        count += chunk
        time.sleep(max(began + count / rate - time.monotonic(), 0))


def write():
    began = time.monotonic()
    while time.monotonic() - began < 3:
        os.write(1, b"x" * 2_000)
        time.sleep(0.01)


def work():
    while True:
        pass


if __name__ == "__main__":
    habit, *numbers = sys.argv[1:]
    {"read": read, "write": write, "work": work}[habit](*map(int, numbers))
