<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// usage: php hot.php SECONDS   (all but none of it in inner)
function inner(int $x, int $n): int
{
	for ($i = 0; $i < $n; $i++) {
		$x = ($x * 69069 + $i) & 0x7fffffff;
	}
	return $x;
}

$x = 1;
$end = microtime(true) + (float) $argv[1];
while (microtime(true) < $end) {
	$x = inner($x, 1000000);
}
exit($x === 42 ? 1 : 0);
