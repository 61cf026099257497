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
try record -a --max-frames 0
try record -a --max-frames 513
try record -a --max-frames 12x
try record -p 4294967297
try record -a -d -1
try record -a -d nan
try record -a -d inf
try record -a -d 1s
try record -a extra
try record -a --delay x
try record -a --ready-fd x
try record -a --ready-fd 2
try record -a --ready-fd 77
try record -a --dump nothing
try record -t x
try record -t 0
try record -t '!'
try record -G ''
try record -G '!'
try record --container ''
try record --container '!'
try record --unit ''
try record --comm '!'
try record --comm 'abcdefghijklmno?'
try record --comm a --comm b --comm c --comm d --comm e --comm f --comm g --comm h --comm i --comm j --comm k \
	--comm l --comm m --comm n --comm o --comm p --comm q
try record --user ''
try record --user '!'
try record -a -t 1
try top -i 0.1
try top -i 5 --last 4
try top -i 0.2 --last 121
try top -n 3
try top -b -n 0
try top --by source
try top -a -p 1
try top -o x.pb.gz
try top -e page-faults
try record -a --no-children
try record --comm a --no-children
try record -a --window 0
try record -a --window 60x
try record -a --window -5
try record -a --window nan
try record -a --window 1s -o -
try record -a --keep 0
try record -a --keep 5
try record -a --group-read
try record -a --window 1s --keep 1000001
try record -a --max-size 5T
try record -a --max-size 0
try record -a --max-size 2G
try record -a --memory 63
try record -a --memory 65537
try record -a --memory 1G
try record -a --budget 0
try record -a --budget 101%
try record -a --budget nan
try record -a -e cycles
try record -a -e ''
try record -a -e page-faults -c 0
try record -a -e page-faults -c -1
try record -a -e page-faults -c 1000000001
try record -a -e page-faults -c 1k
try record -a -c 10
try record -a -e page-faults -F 99
try record -a -e page-faults --budget 1%
try run -e page-faults -F 99 true
try run --window 1s -- true
try run -G x -- true
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
try report --callers=
try report --callers --callees
try report --callees=main --depth 0
try report --depth 1001
try annotate --callers
try annotate --by container
try report --by pods
try report --by ''
try report --by
try report --by pod --callees
try report --by pod --types
try report --container ''
try report --unit '!'
try report --pid nginx
try report --pid 99999999999
try report --thread ' 1'
try export
try export hot.pb.gz
try export -f svg hot.pb.gz
try export -f pprof -o ''
try export -f pprof -o hot.pb.gz hot.pb.gz
try export -f pprof --labels pid,,tid
try export -f pprof --labels ''
try export -f pprof one two
try export -f pprof --json
try doctor extra
try doctor --yes
try doctor --fix --json
try python-hook
try python-hook extra
try python-hook --install
try python-hook --install a --remove b
try python-hook --path --cache-dir x
try completion
try completion tcsh
try completion bash zsh
try completion --shell bash
try annotate --limit 0
try report --limit -1
try annotate --limit ten
try annotate --limit 3 --asm
try export -f csv --limit 3
