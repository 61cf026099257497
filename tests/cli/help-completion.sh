#!/bin/sh
# The help of completion.
lineburn completion --help
