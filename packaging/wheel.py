#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a wheel of a static lineburn and the Python package. Prints its path.

usage: wheel.py BINARY ARCH FOLDER     ARCH: x86_64 or arm64

The same files give the same bytes: names are sorted, dates and modes are fixed. "pip install" puts the
program into bin, the package into site-packages, and what the program looks for beside itself
(src/launch/python_hook.c) into share/lineburn/python.
"""

import base64
import hashlib
import os
import sys
import tomllib
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAGS = {
    "x86_64": ("manylinux2014_x86_64", "musllinux_1_1_x86_64"),
    "arm64": ("manylinux2014_aarch64", "musllinux_1_1_aarch64"),
}
PACKAGES = "lineburn", "lineburn_hook"  # that programs import
HOOK = "lineburn_hook", "startup"  # that lineburn starts in programs


def read(*path):
    with open(os.path.join(TOP, *path), "rb") as f:
        return f.read()


def modules(folder):
    """(name, text) of each."""
    for name in os.listdir(os.path.join(TOP, "python", folder)):
        if name.endswith(".py"):
            yield folder + "/" + name, read("python", folder, name)


def metadata(project):
    lines = [
        "Metadata-Version: 2.1",
        "Name: " + project["name"],
        "Version: " + project["version"],
        "Summary: " + project["description"],
        "License: " + project["license"]["text"],
        "Requires-Python: " + project["requires-python"],
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines).encode() + b"\n\n" + read("README.md")


def wheel_file(tags):
    lines = ["Wheel-Version: 1.0", "Generator: lineburn", "Root-Is-Purelib: false"]
    return "".join(line + "\n" for line in lines + ["Tag: py3-none-" + tag for tag in tags]).encode()


def entry_points(project):
    lines = []
    for group, points in sorted(project["entry-points"].items()):
        lines.append("[%s]" % group)
        lines += ["%s = %s" % point for point in sorted(points.items())]
    return "".join(line + "\n" for line in lines).encode()


def contents(project, binary, tags):
    """{path in the wheel: bytes}, without RECORD."""
    stem = "%s-%s" % (project["name"], project["version"])
    with open(binary, "rb") as f:
        files = {stem + ".data/scripts/lineburn": f.read()}
    for package in PACKAGES:
        files.update(modules(package))
    share = stem + ".data/data/share/"
    for folder in HOOK:
        files.update((share + "lineburn/python/" + name, text) for name, text in modules(folder))
    files[share + "man/man1/lineburn.1"] = read("docs", "lineburn.1")
    info = stem + ".dist-info/"
    files[info + "METADATA"] = metadata(project)
    files[info + "WHEEL"] = wheel_file(tags)
    files[info + "entry_points.txt"] = entry_points(project)
    files[info + "LICENSE"] = read("LICENSE")
    return files


def record(files, path):
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
    return "".join(lines + [path + ",,\n"]).encode()


def write(path, files):
    """RECORD is last, as the format asks."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (name.endswith("/RECORD"), name)):
            item = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            item.compress_type = zipfile.ZIP_DEFLATED
            item.create_system = 3  # Unix: the mode counts
            item.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(item, files[name])


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in TAGS:
        sys.exit(__doc__)
    binary, arch, folder = sys.argv[1:]
    project = tomllib.loads(read("python", "pyproject.toml").decode())["project"]
    files = contents(project, binary, TAGS[arch])
    path = "%s-%s.dist-info/RECORD" % (project["name"], project["version"])
    files[path] = record(files, path)
    os.makedirs(folder, exist_ok=True)
    wheel = os.path.join(folder, "%s-%s-py3-none-%s.whl" % (
        project["name"], project["version"], ".".join(TAGS[arch])))
    write(wheel, files)
    print(wheel)


if __name__ == "__main__":
    main()
