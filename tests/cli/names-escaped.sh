#!/bin/sh
# Control characters of a file name are escaped before they reach the terminal.
lineburn annotate "$(printf 'evil\033[2Jname')"
