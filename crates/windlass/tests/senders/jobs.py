"""Sends jobs to the device that the environment names.

    jobs.py METHOD BYTES [METHOD BYTES ...]     all at once
    jobs.py --in-turn METHOD BYTES ...          one after the other

METHOD is raw or lpr. Each job waits until the device has closed.
"""

import os
import socket
import sys
import threading

DEVICE = os.environ["WINDLASS_DEVICE"]
failed = []


def connect(port):
    return socket.create_connection((DEVICE, int(os.environ[port])), timeout=60)


def close(connection):
    connection.shutdown(socket.SHUT_WR)
    if connection.recv(1) != b"":
        raise OSError("the device has more to say")
    connection.close()


def raw(size):
    connection = connect("WINDLASS_RAW")
    connection.sendall(os.urandom(size))
    close(connection)


def lpr(size):
    connection = connect("WINDLASS_LPR")

    def said(line):
        connection.sendall(line)
        if connection.recv(1) != b"\0":
            raise OSError("the device refuses %r" % line[:20])

    control = b"Hhost\nPme\nldfA001host\n"
    said(b"\x02any-queue\n")
    said(b"\x02%d cfA001host\n" % len(control))
    said(control + b"\0")
    said(b"\x03%d dfA001host\n" % size)
    said(os.urandom(size) + b"\0")
    close(connection)


def job(method, size):
    try:
        {"raw": raw, "lpr": lpr}[method](int(size))
    except OSError as error:
        failed.append("%s: %s" % (method, error))


words = sys.argv[1:]
in_turn = words[0] == "--in-turn"
words = words[in_turn:]
jobs = [threading.Thread(target=job, args=pair) for pair in zip(words[::2], words[1::2])]
for thread in jobs:
    thread.start()
    if in_turn:
        thread.join()
for thread in jobs:
    thread.join()
sys.exit("\n".join(failed) or 0)
