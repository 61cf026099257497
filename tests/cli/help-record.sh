#!/bin/sh
# The help of record: every option, one a line.
lineburn record --help
