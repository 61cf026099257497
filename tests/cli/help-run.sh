#!/bin/sh
# The help of run: every option, one a line.
lineburn run --help
