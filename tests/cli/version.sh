#!/bin/sh
# --version prints one line.
lineburn --version
