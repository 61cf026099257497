#!/bin/sh
# A profile from stdin gives the same output as the file.
lineburn annotate - <hot.pb.gz >out
lineburn annotate hot.pb.gz >expected
diff out expected
