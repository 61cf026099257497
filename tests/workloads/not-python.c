// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a program look like CPython 3.13 without the offsets of its structures, or with
 * -DVERSION=0x030c00f0 like a CPython 3.12 that has no thread yet. Link it into the
 * program with -rdynamic, as "python3.13" or "python3.12".
 */
#ifndef VERSION
#define VERSION 0x030d00f0
#endif
const unsigned long Py_Version = VERSION;
char _PyRuntime[1 << 20] = {1};

void _PyEval_EvalFrameDefault(void)
{
}

void PyFrame_GetBack(void)
{
}

void PyIter_Send(void)
{
}

void PyFrame_GetLasti(void)
{
}
