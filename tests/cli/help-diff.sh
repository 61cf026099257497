#!/bin/sh
lineburn diff --help
