#!/bin/sh
# The help of doctor: every option on its own line.
lineburn doctor --help
