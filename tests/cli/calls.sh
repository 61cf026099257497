#!/bin/sh
# Trees of callers and callees, of functions in the profile and of others.
lineburn report --callers hot.pb.gz
lineburn report --callers main go.pb.gz
lineburn report go.pb.gz --callees
lineburn report --callees=nobody hot.pb.gz
lineburn report --callers=hot.c:99999 hot.pb.gz
lineburn annotate --skip-compile hot.pb.gz
lineburn report --callees --json hot.pb.gz | grep -c '"parent"'
