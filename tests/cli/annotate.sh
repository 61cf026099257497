#!/bin/sh
# A recorded profile, whose source travels with it.
lineburn annotate hot.pb.gz
