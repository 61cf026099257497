#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints what the files of a release are made of (SPDX 2.3, JSON).

usage: sbom.py BINARY FILE...     BINARY: a static lineburn that runs here; its "version --verbose" tells
SOURCE_DATE_EPOCH: the time of the release. The same files give the same text.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

# What can be in the binary. A library without a row stops the release.
LICENCES = {
    "glibc": "LGPL-2.1-or-later",
    "libbpf": "LGPL-2.1-only OR BSD-2-Clause",
    "libelf": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "libprotobuf-c": "BSD-2-Clause",
    "zlib": "Zlib",
    "jansson": "MIT",
    "liblzma": "LicenseRef-public-domain",
    "nettle": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "capstone": "BSD-3-Clause",
    "ncursesw": "X11-distribute-modifications-variant",
    "libiberty": "LGPL-2.0-or-later",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
}
# Whose code the page has, which is in the binary: src/render/html/vendor.
VENDORED = {"d3-flame-graph": "Apache-2.0", "d3": "ISC AND BSD-3-Clause"}


def built_with(binary):
    """{library: version or None}"""
    said = subprocess.run([binary, "version", "--verbose"], stdout=subprocess.PIPE, check=True).stdout.decode()
    libraries = re.search("^contains: (.*)$", said, re.M).group(1).split(", ")
    found = {"libgcc": re.search(r"^compiler: gcc ([0-9.]+)", said, re.M).group(1)}
    for library in libraries:
        name, _, version = library.partition(" ")
        found[name] = version or None
    return re.search("^lineburn (.*)$", said, re.M).group(1), found


def package(name, version, licence):
    row = {
        "SPDXID": "SPDXRef-Package-" + name, "name": name, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if version:
        row["versionInfo"] = version
    return row


def file(path):
    with open(path, "rb") as f:
        data = f.read()
    name = os.path.basename(path)
    return {
        "SPDXID": "SPDXRef-File-" + re.sub("[^A-Za-z0-9.-]", "-", name), "fileName": "./" + name,
        "checksums": [{"algorithm": algorithm, "checksumValue": hashlib.new(algorithm, data).hexdigest()}
                      for algorithm in ("SHA1", "SHA256")],
        "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
    }


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(version, libraries, paths):
    main = package("lineburn", version, "GPL-2.0-or-later")
    linked = [package(name, number, LICENCES[name]) for name, number in sorted(libraries.items())]
    vendored = [package(name, None, licence) for name, licence in sorted(VENDORED.items())]
    files = [file(path) for path in sorted(paths)]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", main["SPDXID"])]
    relations += [relation(main["SPDXID"], "STATIC_LINK", row["SPDXID"]) for row in linked]
    relations += [relation(main["SPDXID"], "CONTAINS", row["SPDXID"]) for row in vendored]
    relations += [relation(row["SPDXID"], "GENERATED_FROM", main["SPDXID"]) for row in files]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    digest = json.dumps([files, created], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "lineburn-" + version,
        "documentNamespace": "urn:uuid:%s" % uuid.uuid5(uuid.NAMESPACE_OID, digest),
        "creationInfo": {"created": created, "creators": ["Tool: packaging/sbom.py"]},
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-public-domain", "name": "public domain",
            "extractedText": "liblzma is in the public domain."}],
        "packages": [main, *linked, *vendored], "files": files, "relationships": relations,
    }


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    version, libraries = built_with(sys.argv[1])
    unknown = sorted(set(libraries) - set(LICENCES))
    if unknown:
        sys.exit("packaging/sbom.py: add the licence of " + ", ".join(unknown))
    print(json.dumps(document(version, libraries, sys.argv[2:]), indent=1))


if __name__ == "__main__":
    main()
