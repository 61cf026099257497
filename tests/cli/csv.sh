#!/bin/sh
# --format: the default, JSON by both names, CSV, and combinations that CSV does not support.
lineburn report --format csv hot.pb.gz
lineburn report --format=json hot.pb.gz >format.json
lineburn report --json hot.pb.gz | cmp - format.json && echo "--json is --format json"
lineburn annotate --format=text hot.pb.gz >format.txt
lineburn annotate hot.pb.gz | cmp - format.txt && echo "text is the default"
lineburn report --format csv --by process hot.pb.gz
echo "exit $?"
lineburn report --format=csv --callers hot.pb.gz
echo "exit $?"
lineburn annotate --format csv hot.pb.gz
echo "exit $?"
lineburn report --format yaml hot.pb.gz
