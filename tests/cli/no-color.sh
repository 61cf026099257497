#!/bin/sh
# Piped, and with NO_COLOR, no escape is printed.
lineburn annotate hot.pb.gz | grep -c "$(printf '\033')"
NO_COLOR=1 lineburn report hot.pb.gz | grep -c "$(printf '\033')"
true
