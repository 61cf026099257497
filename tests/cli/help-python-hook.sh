#!/bin/sh
# The help of python-hook: every option on its own line.
lineburn python-hook --help
