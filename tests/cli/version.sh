#!/bin/sh
# --version prints one line: the number of python/pyproject.toml, where it is alone.
lineburn --version | sed "s/ [0-9][0-9.]*$/ NUMBER/"
