#!/bin/sh
# The help of report: every option on its own line.
lineburn report --help
