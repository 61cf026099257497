/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row for src/decode/runtimes.h, in a build with RUNTIMES=tests/toy-runtime. */
#define MORE_RUNTIME_ROWS(X) X(TOY, toy)
