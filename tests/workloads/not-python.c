// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a program look like CPython 3.13 without the offsets of its structures. Link
 * it into the program with -rdynamic, as "python3.13".
 */
const unsigned long Py_Version = 0x030d00f0;
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
