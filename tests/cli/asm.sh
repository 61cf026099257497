#!/bin/sh
# --asm for a profile without machine code, and with invalid arguments.
lineburn annotate --asm hot.pb.gz
lineburn annotate --asm=main --json go.pb.gz
lineburn annotate --asm= hot.pb.gz
lineburn annotate --asm a.pb.gz b c
lineburn annotate --asm missing.pb.gz
lineburn report --types --min-percent 20 hot.pb.gz
