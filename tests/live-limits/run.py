#!/usr/bin/env python3
"""Makes limits over emulated links and counts what live verdicts say.

Each case puts one limit in: by a link (`windlass link`), by a device (`windlass device run`), by a
program at one end, or by other programs on this machine. `windlass send` or `windlass print`
without packets tells what it sees. Needs root or user namespaces, and the congestion controls that
are named. Nothing leaves the namespaces but the case `processor-loopback`.

    tests/live-limits/run.py target/debug/windlass [--congestion bbr] [CASE...]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEER = "192.0.2.2"
SECONDS = 90  # The longest that a case may take.

# What cuts a path for 1.5 s once 2 MB have come.
INTERRUPTED = """{serve} & serving=$!
set -- $(ip -o -4 addr | awk '$4 ~ /^192.0.2.2/ {{ print $2, $4 }}')
until [ "$(awk -v at="$1:" '$1 == at {{ print $2 }}' /proc/net/dev)" -gt 2000000 ]
do sleep 0.02; done
ip addr del "$2" dev "$1"; sleep 1.5; ip addr add "$2" dev "$1"
wait $serving"""


def reader(chunk, rate, buffer):
    """A program that reads so many bytes at a time, at a rate, from a buffer."""
    return f"{sys.executable} {HERE}/programs.py read {chunk} {rate} {buffer}"


def link(options, send, peer="{serve}", **more):
    return {"link": options, "send": send, "peer": peer, **more}


def device(profile, print_, size, **more):
    return {"device": profile, "print": print_, "size": size, **more}


CASES = {
    "window": ("receiver-window/path-rtt", link("--rate 100mbit --rtt 20ms", "--time 3s --window 32k")),
    "late-acks": ("receiver-window/ack-latency", device("zephyr-delayed-ack", "socket://{peer} {file}", 400_000)),
    "late-acks-small": ("receiver-window/ack-latency", device("hawking-h-ps1u", "socket://{peer} {file}", 60_000)),
    "below-mss": ("receiver-window/window-below-mss", link("--rate 100mbit --rtt 20ms", "--time 3s --window 1k")),
    "not-reading": ("zero-window/receiver-not-reading", link("--rate 100mbit --rtt 5ms", "--protocol ttcp --time 4s", reader(60_000, 60_000, 16_384))),
    "no-window-update": ("zero-window/no-window-update", device("zephyr-no-window-update", "socket://{peer} {file}", 60_000)),
    "buffer": ("send-buffer/path-rtt", link("--rate 100mbit --rtt 20ms", "--time 3s --omit 1s --send-buffer 8k")),
    # The least buffer of Linux holds three segments, which are 50 % of the window: the profile's
    # share of 35 % would acknowledge them at once.
    "buffer-late-acks": ("send-buffer/delayed-ack", device("imagen-v2", "lpd://{peer}/q {file} --send-buffer 2k", 60_000, share="60 %")),
    "start": ("congestion-window/slow-start", link("--rate 50mbit --rtt 60ms", "--bytes 150k")),
    "after-loss": ("congestion-window/after-loss", link("--rate 200mbit --rtt 40ms --up-loss 0.05%", "--time 4s")),
    # Segments that are late by more than a round trip: less of it Linux bears, and fills the path.
    "reordering": ("congestion-window/reordering", link("--rate 100mbit --rtt 20ms --up-reorder 3% --reorder-by 30ms", "--time 4s")),
    "loss": ("loss/fast-recovery", link("--rate 100mbit --rtt 20ms --up-loss 3%", "--time 4s")),
    "outage": ("loss/timeout", link("--rate 20mbit --rtt 20ms", "--time 5s", INTERRUPTED)),
    "queue": ("path-capacity/queue", link("--rate 20mbit --rtt 20ms", "--time 3s")),
    "policer": ("path-capacity/policer", link("--rate 100mbit --rtt 20ms --policer 20mbit --burst 64k", "--time 4s")),
    "marks": ("path-capacity/marks", link("--rate 20mbit --rtt 20ms --mark 5ms", "--time 4s", before="echo 1 >/proc/sys/net/ipv4/tcp_ecn;")),
    "slow-writer": ("application/sender-idle", link("--rate 100mbit --rtt 20ms", "--file -", before=f"{sys.executable} {HERE}/programs.py write |")),
    "slow-reader": ("application/receiver-limited", link("--rate 100mbit --rtt 5ms", "--protocol ttcp --time 4s", reader(4_096, 2_000_000, 65_536))),
    "processor": ("application/processor", link("--rtt 1ms", "--time 4s", hogs=2)),
    "processor-loopback": ("application/processor", {"loopback": True, "send": "--time 4s", "hogs": 2}),
    # The data's line is not full, and no cause is that of the ACKs' line: nothing may be sure.
    "acks-full": (None, link("--up-rate 100mbit --down-rate 500kbit --rtt 20ms", "--time 4s")),
}


def profile(case, folder):
    """Returns the profile of a case's device, with its share of the window where it has one."""
    if "share" not in case:
        return case["device"]
    name = f"{case['device']}.toml"
    text = (HERE.parents[1] / "crates/windlass-lab/profiles" / name).read_text()
    (folder / name).write_text(re.sub(r'share = "\d+ %"', f'share = "{case["share"]}"', text))
    return str(folder / name)


def command(program, case, congestion, folder):
    """Returns the command of a case."""
    serve = f"'{program}' serve --once"
    if "device" in case:
        file = folder / f"job-{case['size']}"
        if not file.exists():
            file.write_bytes(os.urandom(case["size"]))
        words = case["print"].format(peer=PEER, file=file)
        inner = f"'{program}' print {words} --no-packets --json"
        return [program, "device", "run", profile(case, folder), "--", "sh", "-c", inner]
    to = "127.0.0.1" if "loopback" in case else PEER
    send = f"'{program}' send {to} --json --congestion {congestion} {case['send']}"
    if "loopback" in case:
        return ["sh", "-c", f"{serve} >/dev/null 2>&1 & until {send} 2>/dev/null; do sleep 0.2; done"]
    peer = case["peer"].format(serve=serve)
    head = [program, "link", *case["link"].split(), "--report", "/dev/null", "--peer", peer]
    return [*head, "--", "sh", "-c", f"sleep 0.3; {case.get('before', '')} {send}"]


def verdict(text):
    """Returns the verdict in the record of a run; nothing where there is none."""
    at = text.find("{")
    while at >= 0:
        try:
            record, length = json.JSONDecoder().raw_decode(text[at:])
        except ValueError:
            length = 1
        else:
            if record.get("schema", "").startswith("windlass.send"):
                return record["directions"][0]["verdict"]
            if record.get("schema", "").startswith("windlass.print"):
                return record["kernel_verdict"]
        at = text.find("{", at + length)
    return None


def name(cause):
    because = cause.get("because")
    return f"{cause['limit']}/{because}" if because else cause["limit"]


def run(program, case, congestion, folder):
    words = [sys.executable, str(HERE / "programs.py"), "work"]
    hogs = [subprocess.Popen(words) for _ in range(case.get("hogs", 0))]
    try:
        done = subprocess.run(
            command(program, case, congestion, folder),
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )
        return verdict(done.stdout), done.stderr
    except subprocess.TimeoutExpired:
        return None, f"took more than {SECONDS} s"
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--congestion", default="cubic")
    asked = parser.parse_args()
    counts = dict.fromkeys(["right", "between", "wrong", "wrong and sure", "none"], 0)
    with tempfile.TemporaryDirectory() as folder:
        for case in asked.cases or CASES:
            truth, how = CASES[case]
            told, said = run(str(asked.program.resolve()), how, asked.congestion, Path(folder))
            if told is None:
                outcome, line = "none", said.strip()[-200:]
            else:
                between = [name(cause) for cause in told["between"]]
                line = f"{name(told)} {told['confidence']} {' '.join(between)}"
                if name(told) == truth or truth is None and told["confidence"] != "high":
                    outcome = "right"
                elif truth in between:
                    outcome = "between"
                else:
                    outcome = "wrong and sure" if told["confidence"] == "high" else "wrong"
            counts[outcome] += 1
            print(f"{case:20} {outcome:15} {line}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return counts["wrong and sure"] > 0


if __name__ == "__main__":
    sys.exit(main())
