#!/bin/sh
# The help of annotate: every option, one a line.
lineburn annotate --help
