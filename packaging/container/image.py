"""Writes an OCI image (image-spec 1.1) of the static binaries, as a tar archive that podman,
docker (25 or later) and skopeo read. It holds what the Containerfile says, and the same
binaries give the same bytes.

    image.py VERSION FILE ARCHITECTURE=BINARY...
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def member(archive, name, data=None, mode=0o755):
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.mode = EPOCH, mode
    if data is None:
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
    else:
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))


def tar(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for one in members:
            member(archive, *one)
    return buffer.getvalue()


def encoded(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    version, file, *binaries = sys.argv[1:]
    blobs = {}

    def blob(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    notes = {
        "org.opencontainers.image.title": "windlass",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
        "org.opencontainers.image.created": created,
    }
    manifests = []
    for one in binaries:
        architecture, path = one.split("=", 1)
        with open(path, "rb") as binary:
            layer = tar(
                [
                    # Where temporary files go, and where captures are brought in.
                    ("tmp", None, 0o1777),
                    ("usr",),
                    ("usr/bin",),
                    ("usr/bin/windlass", binary.read()),
                    ("work", None, 0o1777),
                ]
            )
        platform = {"architecture": architecture, "os": "linux"}
        config = platform | {
            "created": created,
            "config": {
                "User": "65532:65532",
                "WorkingDir": "/work",
                "Entrypoint": ["/usr/bin/windlass"],
                "Env": ["PATH=/usr/bin"],
                "Labels": notes,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            "history": [{"created": created, "created_by": "windlass"}],
        }
        kind = "application/vnd.oci.image."
        manifest = {
            "schemaVersion": 2,
            "mediaType": kind + "manifest.v1+json",
            "config": blob(encoded(config), kind + "config.v1+json"),
            "layers": [blob(gzip.compress(layer, 9, mtime=0), kind + "layer.v1.tar+gzip")],
            "annotations": notes,
        }
        manifests.append(blob(encoded(manifest), kind + "manifest.v1+json") | {"platform": platform})
    kind = "application/vnd.oci.image.index.v1+json"
    # One name for the image of all architectures.
    both = blob(encoded({"schemaVersion": 2, "mediaType": kind, "manifests": manifests}), kind)
    both["annotations"] = {"org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": kind, "manifests": [both]}
    members = [("oci-layout", encoded({"imageLayoutVersion": "1.0.0"}), 0o644)]
    members.append(("index.json", encoded(index), 0o644))
    members += [("blobs",), ("blobs/sha256",)]
    members += [(f"blobs/sha256/{digest}", blobs[digest], 0o644) for digest in sorted(blobs)]
    with open(file, "wb") as out:
        out.write(tar(members))


main()
