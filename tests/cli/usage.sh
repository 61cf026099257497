#!/bin/sh
# Each wrong command line: one sentence, status 2, nothing on stdout.
try() {
	status=0
	lineburn "$@" >out || status=$?
	[ ! -s out ] || echo "stdout: $(cat out)"
	[ "$status" -eq 2 ] || echo "status $status: lineburn $*"
}
try
try bogus
try --bogus
try run
try run --
try run -F 0 -- true
try run -F 10001 -- true
try run -F -1 -- true
try run -F 99x -- true
try run -F '' -- true
try run -F 99999999999999999999 -- true
try run --bogus -- true
try run -p 1 -- true
try run -o '' -- true
try run -F
try record
try record -a -p 1
try record -p 0
try record -p -5
try record -p x
try record -p 4294967297
try record -a -d -1
try record -a -d nan
try record -a -d inf
try record -a -d 1s
try record -a extra
try record -a --delay x
try record -a --dump nothing
try annotate one two
try annotate --charge=all
try annotate --color=maybe
try annotate --context -1
try annotate --context 1001
try annotate --min-percent 101
try annotate --min-percent nan
try annotate --source-path nowhere
try annotate --source-path =new
try report --file x
try doctor extra
try python-hook
try python-hook extra
try python-hook --install
try python-hook --install a --remove b
try python-hook --path --cache-dir x
