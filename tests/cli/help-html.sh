#!/bin/sh
# The help of html: every option on its own line.
lineburn html --help
