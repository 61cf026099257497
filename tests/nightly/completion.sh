#!/bin/sh
# What fish and zsh complete with lineburn's scripts. Bash: tests/cli/completion.sh.
. "${TOP:?}/tests/root/lib.sh"

# What both shells offer. Separate lines: what each of them offers.
cat >both <<'TABLE'
lineburn an| annotate
lineburn bogus | 
lineburn annotate --char| --charge
lineburn annotate --charge | leaf line mine
lineburn annotate --color a| always auto
lineburn annotate --context | 
lineburn annotate --asm=h| 
lineburn annotate z| zebra.txt
lineburn annotate --kernel hot| hot.pb.gz
lineburn annotate -- --j| 
lineburn report --by p| phase pod process
lineburn report -p | 
lineburn record -e | cpu-clock page-faults
lineburn record -F | 
lineburn record -o z| zebra.txt
lineburn completion | bash fish zsh
lineburn run -e p| page-faults
lineburn run -F 99 basena| basename
lineburn run -F 99 -- basena| basename
lineburn run ls zeb| zebra.txt
lineburn run -- ls --almost| --almost-all
TABLE
mkdir files files/folder
touch files/hot.pb.gz files/zebra.txt
for command in $("$LB" --help | sed -n 's/^  lineburn \([a-z-]*\)  *[a-z].*/\1/p' | sort -u); do
	"$LB" "$command" --help | sed -n 's/^  \(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\).*/\1\n\2/p' | grep . |
		LC_ALL=C sort -u | tr '\n' ' ' | sed "s/^/lineburn $command -| /; s/ $//"
	echo
done | grep . >options
list_formats() { # COMMAND OPTION
	"$LB" "$1" "$2" x 2>&1 | sed -n 's/.* the formats \(.*\), not .*/\1/p' | sed 's/, /\n/g' | sort |
		tr '\n' ' ' | sed "s/^/lineburn $1 $2 | /; s/ $//"
	echo
}
{
	list_formats annotate --format
	list_formats report --format
	list_formats export -f
} >formats

# judge SHELL: are the offers as expected?
judge() {
	cat both options formats "$1.own" >"$1.expected"
	sed 's/|.*/|/' "$1.expected" >"$1.lines"
	[ "$(grep -c 'format' "$1.expected")" -ge 3 ] || { echo "no formats"; return 1; }
	"$1_offers" <"$1.lines" | while IFS='|' read -r line offers; do
		# shellcheck disable=SC2086 # a list
		printf '%s| %s\n' "$line" "$(printf '%s\n' $offers | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')"
	done >"$1.offers"
	diff "$1.expected" "$1.offers" >"$1.diff" || { grep '^[<>]' "$1.diff" | tail -n 2 | tr '\n' ' '; return 1; }
}

cat >fish.own <<'TABLE'
lineburn annotate --color=a| --color=always --color=auto
lineburn annotate ho| hot.pb.gz
lineburn python-hook --install | folder/
lineburn record -G fo| folder/
TABLE
# The command line is what is left of the sign.
fish_offers() {
	"$LB" completion fish >lineburn.fish
	# shellcheck disable=SC2016 # fish's own
	cd files && HOME=$PWD/.. fish -c 'source ../lineburn.fish
		while read -l line
			set -l line (string replace "|" "" -- $line)
			set -l offers (complete -C "$line" | string replace -r "\t.*" "")
			echo "$line| $offers"
		end'
}
cat >zsh.own <<'TABLE'
lineburn annotate --color=a| always auto
lineburn annotate | folder hot.pb.gz
lineburn python-hook --install | folder
lineburn record -G fo| folder
TABLE
zsh_offers() {
	mkdir functions
	"$LB" completion zsh >functions/_lineburn
	cd files && tr -d '|' | timeout 120 zsh -f "$TOP/tests/nightly/zsh-offers.zsh" "$PWD/../functions"
}
for shell in fish zsh; do
	if command -v $shell >/dev/null; then
		check completion-$shell judge $shell
	else
		skip completion-$shell "no $shell"
	fi
done

installed() {
	make -s -C "$TOP" install DESTDIR="$PWD/installed" PREFIX=/usr || return
	cd installed/usr/share || return
	"$LB" completion bash | cmp - bash-completion/completions/lineburn &&
		"$LB" completion zsh | cmp - zsh/site-functions/_lineburn &&
		"$LB" completion fish | cmp - fish/vendor_completions.d/lineburn.fish &&
		cmp "$TOP/docs/lineburn.1" man/man1/lineburn.1 && cmp "$TOP/docs/SKILL.md" doc/lineburn/SKILL.md &&
		cmp "$TOP/docs/formats.md" doc/lineburn/docs/formats.md
}
check completion-installed installed
# An empty file is no profile that others could read.
rm -r files
