#!/bin/sh
# The help of report: every option, one a line.
lineburn report --help
