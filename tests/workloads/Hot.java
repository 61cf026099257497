// SPDX-License-Identifier: GPL-2.0-or-later
// usage: java Hot.java SECONDS   (all but none of it in spin)
public class Hot {
	static long spin(long x, int n) {
		for (int i = 0; i < n; i++) {
			x = x * 6364136223846793005L + i;
		}
		return x;
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		long x = 1;
		while (System.nanoTime() < end) {
			x = spin(x, 100000);
		}
		System.exit(x == 42 ? 1 : 0);
	}
}
