#!/bin/sh
# One line with the version.
lineburn --version
