#!/bin/sh
# Releases: checks, dates the changelog, commits, builds everything into dist/, tags. All of it happens
# in a clone of the last commit; only what succeeded comes back, as a commit and the tag vVERSION.
# usage: packaging/release.sh VERSION     ("make release VERSION=1.2.3")
# On x86-64; tools/setup.sh release has what it needs. CHECK (default tools/check.sh): what must succeed before.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL
version=$1
refuse() {
	echo "packaging/release.sh: $*" >&2
	exit 1
}
echo "$version" | grep -qxE '[0-9]+(\.[0-9]+){1,2}' || refuse "a version is like 1.2.3, not \"$version\""
[ -z "$(git status --porcelain)" ] || refuse "commit or stash what git status lists"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || refuse "there is a tag v$version already"
grep -qE '^## .* \(unreleased\)$' CHANGELOG.md ||
	refuse "CHANGELOG.md has no part that ends in \"(unreleased)\": describe what is new"
[ -d build/sysroot/arm64 ] || refuse "there are no libraries for arm64: run tools/setup.sh release"

top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
git clone -q . "$work/tree"
cd "$work/tree"
mkdir build
for kept in venv sysroot; do
	[ ! -e "$top/build/$kept" ] || ln -s "$top/build/$kept" build/$kept
done

sed -i "s/^version = .*/version = \"$version\"/" python/pyproject.toml
sed -i "1,/(unreleased)\$/s/^## .* (unreleased)\$/## $version ($(date -u +%Y-%m-%d))/" CHANGELOG.md
for setting in user.name user.email; do
	! value=$(git -C "$top" config $setting) || git config $setting "$value"
done
git commit -qam "release $version"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
${CHECK:-tools/check.sh}

MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
for arch in x86_64 arm64; do
	make static wheel deb image ARCH=$arch
	cp build/static/$arch/lineburn "dist/lineburn-$version-$arch"
done
cp packaging/daemonset.yaml "dist/lineburn-$version-daemonset.yaml"
git archive --prefix="lineburn-$version/" HEAD | gzip -n9 >"dist/lineburn-$version.tar.gz"
sbom=lineburn-$version.spdx.json
packaging/sbom.py build/static/x86_64/lineburn dist/* >"$sbom"
mv "$sbom" dist
(cd dist && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
awk '/^## / { part++ } part == 1' CHANGELOG.md >notes
git tag -a "v$version" --cleanup=whitespace -F notes

cd "$top"
git fetch -q "$work/tree" "v$version"
git merge -q --ff-only FETCH_HEAD
git fetch -q "$work/tree" "refs/tags/v$version:refs/tags/v$version"
rm -rf dist
mv "$work/tree/dist" dist
cat dist/SHA256SUMS
