#!/bin/sh
# The help of python-hook: every option, one a line.
lineburn python-hook --help
