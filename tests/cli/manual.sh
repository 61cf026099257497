#!/bin/sh
# The option lists of docs/lineburn.1 are those that "make manual" writes from --help.
top=$(dirname "$0")/../..
page=$top/docs/lineburn.1
lists() { # PAGE: it with the lists of --help
	"$top/tools/manual.py" lineburn "$1"
}
lists "$page" | diff "$page" - && echo "as --help has them"
sed -e '/^\.It Fl -dry-run$/,/^This shows/d' -e 's/^Tell threads apart\.$/Forget threads./' "$page" >changed
lists changed | diff changed - | grep '^[<>]'
sed 's/^\.It Fl -tid$/.It Fl -tide/' "$page" >unknown
lists unknown
