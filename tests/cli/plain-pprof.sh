#!/bin/sh
# A profile of another tool, not gzipped and without lineburn's labels.
gzip -dc go.pb.gz >plain.pb
lineburn annotate --file go.go plain.pb
lineburn report --min-percent 10 go.pb.gz
