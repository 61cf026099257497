# SPDX-License-Identifier: GPL-2.0-or-later
"""Interpolates a counter that was read at some points in time."""


def at(points, when, column=1):
    """The column's value at time @when. Points are sorted by time; outside them the nearest counts."""
    before = max((p for p in points if p[0] <= when), default=points[0])
    after = min((p for p in points if p[0] > when), default=points[-1])
    part = (when - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 0
    return before[column] + part * (after[column] - before[column])


def between(points, begin, end, column=1):
    return at(points, end, column) - at(points, begin, column)
