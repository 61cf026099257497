#!/bin/sh
# The list of commands.
lineburn --help
