"""packaging/wheel.py: what a wheel contains, its tags, the hashes in RECORD; the same files give the same bytes."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile

from package import equal, holds
from suite import TOP, WORK, folder, write

BINARY = write(os.path.join(WORK, "binary"), "#!/bin/sh\n")
os.chmod(BINARY, 0o600)
VERSION = next(line.split('"')[1] for line in open(os.path.join(TOP, "python", "pyproject.toml"), encoding="utf-8")
               if line.startswith("version = "))
STEM = "lineburn-" + VERSION


def make(arch, where):
    """Return: the path of the wheel."""
    done = subprocess.run([sys.executable, "-B", os.path.join(TOP, "packaging", "wheel.py"), BINARY, arch, folder(where)],
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().strip()


def text(archive, name):
    return archive.read("%s.dist-info/%s" % (STEM, name)).decode()


def is_a_wheel():
    path = make("x86_64", "one")
    tags = "manylinux2014_x86_64", "musllinux_1_1_x86_64"
    equal("wheel-name", os.path.basename(path), "%s-py3-none-%s.whl" % (STEM, ".".join(tags)))
    with zipfile.ZipFile(path) as archive:
        equal("wheel-tags", [line[5:] for line in text(archive, "WHEEL").splitlines() if line.startswith("Tag: ")],
              ["py3-none-" + tag for tag in tags])
        lines = text(archive, "METADATA").splitlines()
        holds("wheel-metadata", {"Name: lineburn", "Version: " + VERSION, "Requires-Python: >=3.9"} <= set(lines), lines[:9])
        equal("wheel-plugin", text(archive, "entry_points.txt"),
              "[pytest11]\nlineburn.pytest_plugin = lineburn.pytest_plugin\n")
        program = archive.getinfo(STEM + ".data/scripts/lineburn")
        equal("wheel-program", (archive.read(program), program.external_attr >> 16), (b"#!/bin/sh\n", 0o100755))
        names = archive.namelist()
        hook = STEM + ".data/data/share/lineburn/python/"
        for name in ("lineburn/__init__.py", "lineburn/pytest_plugin.py", "lineburn_hook/__init__.py",
                     hook + "startup/sitecustomize.py", hook + "lineburn_hook/numba_lines.py"):
            holds("wheel-has " + name.rpartition("/python/")[2], name in names, names)
        records(archive)


def records(archive):
    rows = list(csv.reader(io.StringIO(text(archive, "RECORD"))))
    equal("wheel-record-names", sorted(row[0] for row in rows), sorted(archive.namelist()))
    wrong = []
    for name, digest, size in rows[:-1]:
        data = archive.read(name)
        hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        if (digest, size) != ("sha256=" + hashed, str(len(data))):
            wrong.append(name)
    equal("wheel-record-hashes", wrong, [])
    equal("wheel-record-itself", rows[-1], [STEM + ".dist-info/RECORD", "", ""])


def is_reproducible():
    """Whatever the time, the mode and the date of the files."""
    os.utime(BINARY, (0, 10 ** 9))
    os.chmod(BINARY, 0o755)
    with open(make("x86_64", "two"), "rb") as two, open(make("x86_64", "one"), "rb") as one:
        equal("wheel-reproducible", two.read() == one.read(), True)
    holds("wheel-arm64", make("arm64", "one").endswith("-manylinux2014_aarch64.musllinux_1_1_aarch64.whl"))


is_a_wheel()
is_reproducible()
