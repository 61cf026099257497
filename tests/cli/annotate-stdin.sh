#!/bin/sh
# The same from stdin.
lineburn annotate - <hot.pb.gz >out
lineburn annotate hot.pb.gz >expected
diff out expected
