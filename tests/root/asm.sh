#!/bin/sh
# annotate --asm of a program with one slow instruction.
. "${TOP:?}/tests/root/lib.sh"

program=$PWD/divide
gcc -O2 -g -o "$program" "$WORKLOADS/divide.c" || fail asm-build "gcc"
record_json divide -F 999 -- "$program" 20 || fail asm-record "$(tail -n 1 divide.err)"

# asm_json NAME [WHAT]: annotate --asm as JSON
asm_json() {
	"$LB" annotate --json --asm="${2:-divide}" divide.pb.gz >"$1.json" 2>"$1.err" || {
		cat "$1.err"
		return 1
	}
}

# asm_has JSON EXPRESSION...: conditions about the first function and its instructions
asm_has() {
	python3 - "$@" <<-'PY'
	import json, subprocess, sys
	document = json.load(open(sys.argv[1]))
	piece = document["asm"][0]
	rows = piece["instructions"]
	samples = sum(row["samples"] for row in rows)

	def around_division():
	    """Samples at a division and at the three instructions after it."""
	    near = set()
	    for i, row in enumerate(rows):
	        if "div" in row["text"].split()[0]:
	            near.update(range(i, i + 4))
	    return sum(rows[i]["samples"] for i in near if i < len(rows))

	def as_objdump():
	    """Whether binutils finds the same instructions at the same addresses."""
	    text = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn",
	                           "--start-address=%d" % piece["address"],
	                           "--stop-address=%d" % (piece["address"] + piece["size"]),
	                           piece["mapping"]],
	                          capture_output=True, text=True, check=True).stdout
	    theirs = [line.split(":\t") for line in text.splitlines() if ":\t" in line]
	    theirs = [(int(at, 16), said) for at, said in theirs]
	    # The tools print the prefixes of nops differently.
	    return len(theirs) == len(rows) and all(
	        at == row["address"] and ("nop" in said or said.split()[0] == row["text"].split()[0])
	        for (at, said), row in zip(theirs, rows))

	for expression in sys.argv[2:]:
	    if not eval(expression):
	        print(expression, "is false: samples", samples, "of", piece["samples"], piece["note"])
	        sys.exit(1)
	PY
}

check asm-reads asm_json divide-asm
check asm-sums asm_has divide-asm.json "samples > 200" "samples == piece['samples']" \
	"len(document['asm']) == 1" "piece['function'] == 'divide'" "piece['note'] == ''"
# The processor charges some samples to later instructions; most are near the division.
check asm-waits asm_has divide-asm.json "around_division() > 0.5 * samples"
check asm-as-objdump asm_has divide-asm.json "as_objdump()" \
	"sum(len(row['bytes']) for row in rows) == 2 * piece['size']"
# The inlined division has its own line and that of the call.
call=$(grep -n 'HOT call' "$WORKLOADS/divide.c" | cut -d: -f1)
quotient=$(grep -n 'HOT quotient' "$WORKLOADS/divide.c" | cut -d: -f1)
check asm-lines asm_has divide-asm.json \
	"any('div' in r['text'] and (r['line'], r['own_line']) == ($quotient, $call) for r in rows)"
check asm-by-line asm_json by-line "divide.c:$call"
check asm-by-line-same asm_has by-line.json "piece['function'] == 'divide'" "samples > 200"

listing() {
	"$LB" annotate --asm divide.pb.gz >listing.txt 2>&1 && grep -q "^line $call  *[0-9.]* %" \
		listing.txt && grep -q "; quotient divide.c:$quotient" listing.txt &&
		grep -q "waits for it" listing.txt && return 0
	tail -n 3 listing.txt
	return 1
}
check asm-listing listing

mv "$program" "$program.away"
check asm-gone asm_json gone
check asm-gone-said asm_has gone.json "rows == []" "'No such file' in piece['note']" \
	"piece['samples'] > 200"
gcc -O1 -g -o "$program" "$WORKLOADS/divide.c"
check asm-other asm_json other
check asm-other-said asm_has other.json "rows == []" "'not the build that ran' in piece['note']"
mv "$program.away" "$program"

unknown() {
	"$LB" annotate --asm=no_such_function divide.pb.gz >unknown.txt 2>&1
	[ $? -eq 1 ] && grep -q 'no function of this profile' unknown.txt && return 0
	cat unknown.txt
	return 1
}
check asm-unknown unknown
