#!/bin/sh
# The help of top: every option on its own line.
lineburn top --help
