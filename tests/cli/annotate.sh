#!/bin/sh
# A recorded profile that contains its source text.
lineburn annotate hot.pb.gz
