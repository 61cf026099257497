#!/bin/sh
# Writes flamegraph.js: d3-flame-graph with the parts of d3 that it needs, as package-lock.json pins
# them, with their licences in front. It needs npm and the network; building lineburn needs neither,
# as the result is in the repository.
set -eu
cd "$(dirname "$0")"

npm ci --no-audit --no-fund --silent
{
	echo "/*"
	echo " * d3-flame-graph and the parts of d3 that it needs, bundled. Their licences:"
	for folder in node_modules/d3-* node_modules/internmap; do
		echo
		node -p 'const p = require(process.argv[1]); p.name + " " + p.version + " (" + p.license + ")"' \
			"./$folder/package.json"
		echo
		cat "$folder/LICENSE"
	done
	echo " */"
	node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=vendor \
		--target=es2020 --charset=ascii --legal-comments=none --loader:.css=empty
} >flamegraph.js
rm -r node_modules
