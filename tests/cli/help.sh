#!/bin/sh
# What commands there are.
lineburn --help
