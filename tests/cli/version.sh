#!/bin/sh
# --version prints one line: the number of python/pyproject.toml, where it is alone. With --verbose
# also what was compiled, and with what.
lineburn --version | sed "s/ [0-9][0-9.]*$/ NUMBER/"
lineburn version --verbose | sed 's/ [0-9][0-9.]*$/ NUMBER/; s/^contains:/built with:/; s/: .*/:/'
lineburn -V -v | grep -c 'libbpf [0-9]'
