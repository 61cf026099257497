#!/bin/sh
# --version prints one line; with --verbose also what was compiled, and with what.
lineburn --version
lineburn version --verbose | sed 's/^contains:/built with:/; s/: .*/:/'
lineburn -V -v | grep -c 'libbpf [0-9]'
