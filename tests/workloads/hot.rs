// SPDX-License-Identifier: GPL-2.0-or-later
// Work of 5:3:2 on three lines of three functions.
// (Exclusive or, as the compiler would compute several turns of a sum at once.)
// usage: hot ROUNDS   (of 100 million loop turns, about 0.1 s each)
#[inline(never)]
fn five(mut x: u64, n: u64) -> u64 {
    let mut i = 0u64;
    while i < n { x = x.wrapping_mul(6364136223846793005) ^ i; i += 1; } // HOT five
    x
}

#[inline(never)]
fn three(mut x: u64, n: u64) -> u64 {
    let mut i = 0u64;
    while i < n { x = x.wrapping_mul(6364136223846793005) ^ (i + 3); i += 1; } // HOT three
    x
}

#[inline(never)]
fn two(mut x: u64, n: u64) -> u64 {
    let mut i = 0u64;
    while i < n { x = x.wrapping_mul(6364136223846793005) ^ (i + 5); i += 1; } // HOT two
    x
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut x = 1u64;
    for _ in 0..rounds {
        x = five(x, 50_000_000);
        x = three(x, 30_000_000);
        x = two(x, 20_000_000);
    }
    std::process::exit((x == 42) as i32);
}
