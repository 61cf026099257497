#!/bin/sh
# Options that limit or change the output: context, minimum share, one file, colour.
lineburn annotate --context 0 --min-percent 25 hot.pb.gz
lineburn annotate --file hot.c --color always --context 1 hot.pb.gz | cat -v
lineburn annotate --file nothing.c hot.pb.gz
