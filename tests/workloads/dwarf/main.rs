// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::HashMap;

#[inline(always)]
fn step(x: u64) -> u64 {
    x * 3 + 1
}

#[inline(always)]
fn sum(x: u64) -> u64 {
    (0..x).map(|i| step(i) ^ x).sum()
}

fn main() {
    let n = std::env::args().count() as u64;
    let mut m = HashMap::new();
    for i in 0..n {
        *m.entry(i % 7).or_insert(0) += sum(i);
    }
    let mut v: Vec<_> = m.into_iter().collect();
    v.sort_by(|a, b| b.cmp(a));
    println!("{:?}", v);
}
