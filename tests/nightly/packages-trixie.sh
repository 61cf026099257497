#!/bin/sh
# The package for Debian on a new minimal trixie (network): README's "Install" as it stands records a Numba
# program; upgrade; purge leaves nothing.
# Takes 200 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/nightly/lib-packages.sh"
debian trixie
