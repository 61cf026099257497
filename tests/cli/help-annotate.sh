#!/bin/sh
# The help of annotate: every option on its own line.
lineburn annotate --help
