#!/bin/sh
# What bash completes: the script is loaded, and its function called as bash calls it. Bash splits
# --option=value at the sign.
mkdir folder
touch notes.txt 'a b.pb.gz'
lineburn completion bash >script
cat >try.bash <<'END'
. ./script
offers() { # WORD...: what is offered for the last one
	COMP_WORDS=(lineburn "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_lineburn
	printf '%s\n' "${COMPREPLY[@]}"
}
try() {
	printf '%s| %s\n' "$*" "$(offers "$@" | sort -u | tr '\n' ' ')"
}
same() { # WHAT: are the lines of offered those of stdin?
	if sort -u | diff - <(sort -u offered); then echo "same: $1"; fi
}
formats() { sed -n 's/.* the formats \(.*\), not .*/\1/p' | sed 's/, /\n/g'; }

# What --help and the messages list is offered, and nothing else.
commands=$(lineburn --help | sed -n 's/^  lineburn \([a-z-]*\)  *[a-z].*/\1/p' | sort -u)
offers '' | grep -v ^- >offered
echo "$commands" | same commands
for command in $commands; do
	offers "$command" - >offered
	lineburn "$command" --help | sed -n 's/^  \(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\).*/\1\n\2/p' |
		grep . | same "$command"
done
for command in 'annotate --format' 'report --format' 'export -f'; do
	offers $command '' >offered
	lineburn $command x 2>&1 | formats | same "$command"
done

try an
try --v
try bogus ''
try annotate --char
try annotate --charge ''
try annotate --charge =
try annotate --charge = m
try annotate --color a
try annotate --context ''
try annotate --asm = h
try annotate ''
try annotate no
try annotate --kernel hot
try annotate -- --j
try report --by p
try report -p ''
try record -e ''
try record --dump ''
try record -o no
try record -G f
try python-hook --install ''
try completion ''
try doctor --json ''
try run -e p
try run -F ''
try run -F 99 lineb
try run -F 99 -- lineb
try run lineburn no
try run lineburn --cha
offers record -p $$ | grep -qx $$ && echo "record -p: this process"
# With bash-completion, the command of run is completed as without lineburn.
_command_offset() { COMPREPLY=("from word $1 on"); }
try run -F 99 make al
try run -- make al
try run ma
END
bash try.bash
