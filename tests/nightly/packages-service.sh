#!/bin/sh
# The service of Debian's package, under the restrictions of its unit as far as that goes without systemd as
# pid 1 (service.py); lintian. The package itself is in packages-bookworm.sh and -trixie.sh.
# Takes 60 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/nightly/lib-packages.sh"

deb=$(make_deb) || { fail packages-deb "$deb"; exit 0; }

no_lintian_errors() {
	lintian --allow-root --fail-on error,warning "$deb"
}
check packages-lintian no_lintian_errors

# ---- the service ----

unit=$TOP/packaging/lineburn-record.service
static=$TOP/build/static/x86_64/lineburn
mkdir -m 750 state
chgrp 12345 state
# shellcheck disable=SC2086 # flags
gcc $C_FLAGS -o hot "$WORKLOADS/hot.c"
# has_files N: it has written so many
has_files() {
	[ "$(find state -name '*.pb.gz' | wc -l)" -ge "$1" ]
}
service() {
	./hot 60 >/dev/null &
	beside=$!
	timeout -s INT 60 python3 "$TOP/tests/nightly/service.py" "$unit" "$static" "$PWD/state" --window=2s >service.out 2>&1 &
	recorder=$!
	wait_until 50 has_files 3 || { cat service.out; return 1; }
	kill -INT $recorder
	wait $recorder
	kill $beside
	newest=$(find state -name '*.pb.gz' | sort | sed -n 2p)
	[ "$(stat -c %a:%g "$newest")" = 640:12345 ] || { stat -c %a:%g "$newest"; return 1; }
	"$LB" annotate --json "$newest" >service.json || return 1
	profile_has service.json "any(f['path'].endswith('hot.c') for f in d['files'])" "s['lost'] == 0" \
		"d['stacks']['complete'] > 0"
}
check packages-service service
# Members of the group read its files; others do not.
group_reads() {
	newest=$(find state -name '*.pb.gz' | sort | sed -n 2p)
	chmod 755 .
	setpriv --reuid nobody --regid 12345 --clear-groups "$static" report "$newest" >group.out 2>&1 || { tail -n 1 group.out; return 1; }
	! setpriv --reuid nobody --regid nogroup --clear-groups "$static" report "$newest" >group.out 2>&1
}
check packages-service-group group_reads
exposure() {
	systemd-analyze security --offline=yes --threshold=40 "$unit" | tail -n 1
}
figure packages-service-exposure exposure
