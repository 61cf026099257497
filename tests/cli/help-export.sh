#!/bin/sh
# The help of export: every option on its own line.
lineburn export --help
