#!/bin/sh
# The help of record: every option on its own line.
lineburn record --help
