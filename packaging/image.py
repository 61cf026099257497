#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes an image of a container (OCI) that has a static lineburn and nothing else. Prints its path.

usage: image.py BINARY ARCH VERSION FOLDER     ARCH: x86_64 or arm64

"podman load -i", "docker load -i" and "skopeo copy oci-archive:" read the file. It works in /out, so
that a folder mounted there gets the profile. The same files give the same bytes.
"""

import hashlib
import io
import json
import os
import sys
import tarfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
EPOCH = "1970-01-01T00:00:00Z"
OCI = "application/vnd.oci.image."


def add(archive, name, data=None, mode=0o644):
    """@data None: a folder."""
    item = tarfile.TarInfo(name)
    item.mode = mode
    if data is None:
        item.type = tarfile.DIRTYPE
    else:
        item.size = len(data)
    archive.addfile(item, io.BytesIO(data) if data is not None else None)


def layer(binary):
    with open(binary, "rb") as f:
        program = f.read()
    with open(os.path.join(TOP, "LICENSE"), "rb") as f:
        licence = f.read()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in "out", "usr", "usr/bin", "usr/share", "usr/share/lineburn":
            add(archive, folder, mode=0o755)
        add(archive, "usr/bin/lineburn", program, 0o755)
        add(archive, "usr/share/lineburn/LICENSE", licence)
    return out.getvalue()


class Blobs:
    def __init__(self):
        self.of = {}

    def add(self, kind, data):
        """Returns its descriptor. @data: bytes, or what becomes JSON."""
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        self.of[digest] = data
        return {"mediaType": OCI + kind, "digest": "sha256:" + digest, "size": len(data)}


def image(binary, arch, version):
    """The blobs, and the text of index.json."""
    blobs = Blobs()
    packed = blobs.add("layer.v1.tar", layer(binary))
    platform = {"architecture": ARCHITECTURES[arch], "os": "linux"}
    config = blobs.add("config.v1+json", {
        "created": EPOCH, **platform,
        "config": {
            "Entrypoint": ["/usr/bin/lineburn"], "WorkingDir": "/out",
            "Env": ["PATH=/usr/bin"],
            "Labels": {"org.opencontainers.image.title": "lineburn",
                       "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "GPL-2.0-or-later"},
        },
        "rootfs": {"type": "layers", "diff_ids": [packed["digest"]]},
        "history": [{"created": EPOCH, "created_by": "packaging/image.py"}],
    })
    manifest = blobs.add("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": config, "layers": [packed]})
    manifest["platform"] = platform
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "localhost/lineburn:latest"}
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [manifest]}
    return blobs, json.dumps(index, sort_keys=True).encode()


def main():
    if len(sys.argv) != 5 or sys.argv[2] not in ARCHITECTURES:
        sys.exit(__doc__)
    binary, arch, version, folder = sys.argv[1:]
    blobs, index = image(binary, arch, version)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "lineburn-%s-%s.oci.tar" % (version, arch))
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        add(archive, "index.json", index)
        for digest in sorted(blobs.of):
            add(archive, "blobs/sha256/" + digest, blobs.of[digest])
    print(path)


if __name__ == "__main__":
    main()
