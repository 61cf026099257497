// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes of a program one that seems to be CPython 3.13, and has nothing where that has the offsets of
 * its structures: to be linked with it, with -rdynamic, as "python3.13".
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
