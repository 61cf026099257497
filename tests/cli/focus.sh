#!/bin/sh
# --focus, --ignore, --hide and --time: in listings, JSON and exports; wrong expressions; nothing left.
lineburn annotate --focus '^fi' hot.pb.gz | head -n 6
lineburn report --ignore 'three|two' hot.pb.gz | head -n 6
lineburn report --hide libc --hide main --focus hot hot.pb.gz | head -n 6
lineburn report --focus five --json hot.pb.gz | sed -n '/"narrowed"/,/^ }/p'
lineburn export -f folded --hide 'libc' --ignore five hot.pb.gz
lineburn annotate --time 1-2 hot.pb.gz
lineburn annotate --time 2-1 hot.pb.gz
echo "exit $?"
lineburn annotate --focus '(' hot.pb.gz
echo "exit $?"
lineburn annotate --ignore '' hot.pb.gz
echo "exit $?"
lineburn annotate --focus nosuch hot.pb.gz
echo "exit $?"
lineburn annotate --ignore . hot.pb.gz
echo "exit $?"
lineburn annotate --hide . hot.pb.gz
