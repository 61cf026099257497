#!/bin/sh
# A file name with control characters does not reach the terminal as it is.
lineburn annotate "$(printf 'evil\033[2Jname')"
