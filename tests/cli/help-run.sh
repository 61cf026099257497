#!/bin/sh
# The help of run: every option on its own line.
lineburn run --help
