"""Writes a bill of materials (CycloneDX 1.5) of the program for a target: each crate that is
built into it, or that runs while it is built, with its version, licence and checksum.

    cargo metadata --locked --format-version 1 --filter-platform TARGET | bill-of-materials.py TARGET
"""

import json
import os
import sys
import time
import tomllib
import uuid


def reachable(nodes, root):
    """The packages that a program takes, without what only its tests take."""
    found, waiting = {}, [root]
    while waiting:
        this = waiting.pop()
        if this in found:
            continue
        needed = [
            dependency["pkg"]
            for dependency in nodes[this]["deps"]
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])
        ]
        found[this] = sorted(set(needed))
        waiting.extend(needed)
    return found


def component(package, checksums):
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    described = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "scope": "required",
    }
    if package.get("license"):
        # Some write a slash where SPDX has OR.
        licence = package["license"].replace("/", " OR ").replace("  ", " ")
        described["licenses"] = [{"expression": licence}]
    checksum = checksums.get((name, version))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def main():
    target = sys.argv[1]
    metadata = json.load(sys.stdin)
    with open("Cargo.lock", "rb") as lock:
        locked = tomllib.load(lock)["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    root = next(id for id in metadata["workspace_members"] if packages[id]["name"] == "windlass")
    found = reachable(nodes, root)
    described = {id: component(packages[id], checksums) for id in found}
    program = described.pop(root)
    program.pop("scope")
    program["type"] = "application"
    ref = lambda id: program["bom-ref"] if id == root else described[id]["bom-ref"]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
            ),
            "component": program,
            "properties": [{"name": "cargo:target", "value": target}],
        },
        "components": sorted(described.values(), key=lambda one: one["bom-ref"]),
        "dependencies": sorted(
            (
                {"ref": ref(id), "dependsOn": sorted(ref(one) for one in needed)}
                for id, needed in found.items()
            ),
            key=lambda one: one["ref"],
        ),
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    bill["serialNumber"] = f"urn:uuid:{number}"
    json.dump(bill, sys.stdout, indent=1, sort_keys=True)
    print()


main()
