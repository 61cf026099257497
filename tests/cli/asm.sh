#!/bin/sh
# A profile without machine code, and arguments that are none.
lineburn annotate --asm hot.pb.gz
lineburn annotate --asm=main --json go.pb.gz
lineburn annotate --asm= hot.pb.gz
lineburn annotate --asm a.pb.gz b c
lineburn annotate --asm missing.pb.gz
lineburn report --types --min-percent 20 hot.pb.gz
