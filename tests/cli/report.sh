#!/bin/sh
# Functions of a recorded profile.
lineburn report hot.pb.gz
