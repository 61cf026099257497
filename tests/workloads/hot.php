<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// usage: php hot.php SECONDS   (of CPU, all but none of it in inner)
function inner(int $x, int $n): int
{
	for ($i = 0; $i < $n; $i++) {
		$x = ($x * 69069 + $i) & 0x7fffffff;
	}
	return $x;
}

function used_s(): float
{
	$used = getrusage();
	return $used['ru_utime.tv_sec'] + $used['ru_utime.tv_usec'] / 1e6;
}

$x = 1;
$end = used_s() + (float) $argv[1];
while (used_s() < $end) {
	$x = inner($x, 1000000);
}
exit($x === 42 ? 1 : 0);
