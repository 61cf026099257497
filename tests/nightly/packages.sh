#!/bin/sh
# Packages: two builds in different folders are the same, byte by byte; the wheel in every CPython, the
# image under podman, the manifest and the list of parts by their schemas (these two need the network).
# README's "Install" is run as it stands. Packages of Debian are in packages-debian.sh.
# Takes 400 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/nightly/lib-packages.sh"

# What is committed, built by clones.
reproducible() {
	for folder in one another/folder; do
		git clone -q "$TOP" $folder || return 1
		make -C $folder -s -j"$(nproc)" static wheel deb image >>build.log 2>&1 || { tail -n 1 build.log; return 1; }
		cp $folder/build/static/x86_64/lineburn "$folder/dist/lineburn-$(version)-x86_64"
	done
	diff -r one/dist another/folder/dist || return 1
	[ "$(find one/dist -type f | wc -l)" -eq 4 ] || { ls one/dist; return 1; }
	! grep -raF "$PWD" one/dist >/dev/null || { echo "a file has the name of its folder"; return 1; }
}
git -C "$TOP" diff --quiet HEAD || echo "note: only what is committed is built"
check packages-reproducible reproducible
dist=$PWD/one/dist
[ -d "$dist" ] || exit 0
wheel_size() {
	wheel_bytes=$(stat -c %s "$dist"/*.whl)
	echo "$wheel_bytes bytes"
	[ "$wheel_bytes" -le 4000000 ]
}
figure packages-wheel-size wheel_size

# ---- the wheel ----

printf '%s\n' 'import time' 'end = time.process_time() + 2' 'while time.process_time() < end:' \
	'    sum(i * i for i in range(2000))  # here' >hot.py
# in_venv VERSION PYTHON: README's block, in a new environment
in_venv() {
	rm -rf "venv-$1" "in-$1"
	mkdir "in-$1"
	"$2" -m venv "venv-$1" && cp hot.py "$dist"/*.whl "in-$1" || return 1
	began=$(date +%s.%N)
	(cd "in-$1" && PATH="$PWD/../venv-$1/bin:$PATH" timeout 120 sh -euc "$(install_block 1)") >"in-$1.out" 2>&1 ||
		{ tail -n 1 "in-$1.out"; return 1; }
	ended=$(date +%s.%N)
	grep -q '# here' "in-$1.out" || { tail -n 1 "in-$1.out"; return 1; }
	# 2 s are the program's own CPU time.
	echo "$began $ended" | awk '{ t = $2 - $1 - 2; printf "%.1f s from pip to the end of the listing, without the program\n", t; exit t > 10 }'
}
for minor in 9 10 11 12 13; do
	python=$(python_of "3.$minor")
	if [ -n "$python" ]; then
		figure "packages-wheel-3.$minor" in_venv "3.$minor" "$python"
	else
		skip "packages-wheel-3.$minor" "no CPython 3.$minor here"
	fi
done

# What the wheel has beside the program: the package finds it, the hook is found. pip removes everything but what
# Python compiled.
whole() {
	venv=$(find . -maxdepth 1 -name 'venv-3.*' | head -n 1)
	[ "$("$venv/bin/python" -c 'from lineburn import _binary; print(_binary.find())')" = "$(realpath "$venv/bin/lineburn")" ] ||
		{ echo "the package does not find the program"; return 1; }
	[ "$("$venv/bin/lineburn" python-hook --path)" = "$(realpath "$venv")/share/lineburn/python/startup" ] || return 1
	"$venv/bin/pip" uninstall -qy lineburn && ! find "$venv" -path '*lineburn*' -type f ! -name '*.pyc' | grep .
}

# The line in the message does what the user wanted, where sudo itself finds nothing.
asks_for_root() {
	venv=$(find . -maxdepth 1 -name 'venv-3.*' | head -n 1)
	# Its folder is that user's, so only the right to record is missing.
	mkdir asks
	chown nobody asks
	chmod 755 .
	cd asks || return 1
	venv=../$venv
	! sh -c 'sudo lineburn version' >sudo.out 2>&1 || { echo "sudo finds it without its path"; return 1; }
	! setpriv --reuid nobody --regid nogroup --clear-groups "$venv/bin/lineburn" run -o "it's.pb.gz" -- "$venv/bin/python" ../hot.py \
		>said.out 2>&1 || { echo "it ended well"; return 1; }
	line=$(sed -n 's/.*, or run it as root: //p' said.out)
	[ "${line#sudo "$(realpath "$venv/bin/lineburn")" run }" != "$line" ] || { cat said.out; return 1; }
	sh -c "$line" >as-root.out 2>&1 || { tail -n 1 as-root.out; return 1; }
	[ -s "it's.pb.gz" ] && grep -q '# here' as-root.out
}
check packages-asks-for-root asks_for_root
check packages-wheel-whole whole

# ---- the program and the image ----

# Without secure_path, so that it finds the next one.
wrap sudo <<'END'
exec "$@"
END
# The machine may not allow podman's defaults.
podman=$(command -v podman)
wrap podman <<END
command=\$1
shift
[ "\$command" = run ] || exec $podman "\$command" "\$@"
exec $podman --runtime runc --cgroup-manager cgroupfs run --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 "\$@"
END
export PODMAN_IGNORE_CGROUPSV1_WARNING=1
# shellcheck disable=SC2086 # flags
gcc $C_FLAGS -o hot "$WORKLOADS/hot.c"
# recorded_hot NAME: its profile has the lines of ./hot
recorded_hot() {
	"$LB" annotate --json lineburn.pb.gz >"$1.json" || return 1
	profile_has "$1.json" "any(f['path'].endswith('hot.c') for f in d['files'])" "s['lost'] == 0"
}
elsewhere() {
	rm -rf elsewhere
	mkdir elsewhere
	cp "$dist"/* hot elsewhere
	cd elsewhere || return 1
	./hot 60 >/dev/null &
	beside=$!
	timeout 120 sh -euc "$(install_block 3 | sed 's/-d 10/-d 3/')" >../elsewhere.out 2>&1
	elsewhere_status=$?
	kill $beside
	[ $elsewhere_status -eq 0 ] || { tail -n 1 ../elsewhere.out; return 1; }
	recorded_hot elsewhere
}
# least: records with the line of docs/install.md that has the fewest rights
least() {
	cd elsewhere || return 1
	rm -f lineburn.pb.gz
	[ -n "$(least_line)" ] || { echo "docs/install.md has no such line"; return 1; }
	./hot 60 >/dev/null &
	beside=$!
	timeout 120 sh -euc "$(least_line)" >../least.out 2>&1
	least_status=$?
	kill $beside
	[ $least_status -eq 0 ] || { tail -n 1 ../least.out; return 1; }
	recorded_hot least
}
if podman load -q -i "$dist"/*.oci.tar >podman.out 2>&1 && podman run --rm localhost/lineburn version >podman.out 2>&1; then
	check packages-image elsewhere
	check packages-image-least least
	podman rmi -f localhost/lineburn >/dev/null 2>&1
else
	skip packages-image "podman starts nothing here: $(tail -n 1 podman.out | cut -c1-200)"
fi

# ---- what others read ----

schemas() {
	python3 -m venv schemas && schemas/bin/pip install -q --disable-pip-version-check kubernetes-validate spdx-tools >pip.out 2>&1
}
manifest() {
	schemas/bin/kubernetes-validate --strict "$TOP/packaging/daemonset.yaml" || return 1
	sed 's/hostPID/hostPid/' "$TOP/packaging/daemonset.yaml" >wrong.yaml
	! schemas/bin/kubernetes-validate --strict wrong.yaml || { echo "it passes whatever it says"; return 1; }
}
parts() {
	SOURCE_DATE_EPOCH=0 "$TOP/packaging/sbom.py" "$dist"/lineburn-*-x86_64 "$dist"/* >parts.spdx.json &&
		schemas/bin/pyspdxtools -i parts.spdx.json && grep -q '"libbpf"' parts.spdx.json
}
if schemas; then
	check packages-manifest manifest
	check packages-parts parts
else
	skip packages-manifest "pip gets no kubernetes-validate and spdx-tools: $(tail -n 1 pip.out | cut -c1-200)"
fi
