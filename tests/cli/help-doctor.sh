#!/bin/sh
# The help of doctor: every option, one a line.
lineburn doctor --help
