# SPDX-License-Identifier: GPL-2.0-or-later
"""The annotated listing as HTML for a notebook: no script, no style but its own, light and dark.

Everything from the profile is escaped: names and text are those of strangers.
"""

import html as _html
import unicodedata

_MIN_PERCENT = 0.5  # lines below it are context
_CONTEXT = 2
_MAX_HOTTEST = 10
_MAX_FILES = 12
_MAX_LINES = 400
_MAX_CALLEES = 3
_MAX_WIDTH = 160
_MAX_COLUMN = 60

# Inherits the colours of the notebook's theme; heat is a transparent orange that both themes show.
_BOX = "font:13px/1.5 ui-monospace,monospace;white-space:pre;overflow-x:auto;text-align:left;margin:0 0 1em"
_FAINT = "opacity:.65"
_LIBRARY_PARTS = ("/site-packages/", "/dist-packages/", "/lib/python3", "/python/lineburn/")


def html(data, lines, texts_of, name_of) -> str:
    """@data: annotate --json; @lines: hottest first; @texts_of(path, numbers): {line: text}; @name_of(path)"""
    parts = ["<div>", _head(data)]
    if lines:
        parts.append(_box(_hottest(lines, name_of)))
    left = _MAX_LINES
    files = [file for file in data["files"] if _is_shown(file, data)]
    for file in files[:_MAX_FILES]:
        rows, left = _file_rows(file, lines, texts_of, left)
        if rows:
            parts.append(_file_head(file, data, name_of) + _box(rows))
    if len(files) > _MAX_FILES or left <= 0:
        parts.append(_note("More lines are not shown: lineburn annotate shows all of them."))
    parts += [_note(warning) for warning in data["warnings"]]
    parts.append("</div>")
    return "".join(parts)


# ---- text ----

def visible(text) -> str:
    """Replaces characters that would not be seen, or would move others (as U+202E does)."""
    return "".join(c if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
                   else "\\u%04x" % ord(c) for c in text)


def _escaped(text) -> str:
    return _html.escape(visible(text), quote=True)


def _code(text) -> str:
    text = visible(text).expandtabs(4)
    return _html.escape(text if len(text) <= _MAX_WIDTH else text[:_MAX_WIDTH] + " ...", quote=True)


def _percent(value) -> str:
    """As wide as " 42.7"."""
    if not value:
        return "     "
    return " <0.1" if value < 0.05 else "%5.1f" % value


def _heat(percent) -> str:
    # The square root tells small shares apart.
    return "background:rgba(255,120,0,%.2f)" % (0.75 * (min(percent, 100) / 100) ** 0.5)


def _row(text, style="") -> str:
    return '<span style="display:block;%s">%s</span>' % (style, text or " ")


def _box(rows) -> str:
    return '<div style="%s" dir="ltr">%s</div>' % (_BOX, "".join(rows))


def _note(text) -> str:
    return '<p style="%s;margin:0 0 1em">%s</p>' % (_FAINT, _escaped(text))


# ---- parts ----

def _head(data) -> str:
    samples = data["samples"]
    text = "%d samples" % samples["count"]
    if samples["cpu_ns"]:
        text += ": CPU %.2f s of %.2f s" % (samples["cpu_ns"] / 1e9, data["duration_ns"] / 1e9)
    if samples["count"]:
        text += ", %.1f %% with a source line" % share(samples, data, "with_line")
    if samples["lost"]:
        text += ", %d samples lost" % samples["lost"]
    if not samples["count"]:
        text += ": no time on a CPU, or too little; a longer run or a higher frequency gives more"
    return '<p style="margin:0 0 .5em"><b>lineburn</b> %s</p>' % _escaped(text)


def _hottest(lines, name_of):
    found = [(line, visible("%s:%d" % (name_of(line.file), line.line)), visible(line.function))
             for line in lines[:_MAX_HOTTEST] if line.self_percent >= _MIN_PERCENT]
    place_width, function_width = (min(_MAX_COLUMN, max((len(row[i]) for row in found), default=0)) for i in (1, 2))
    rows = [_row(" self% total%  line", _FAINT)]
    for line, place, function in found:
        rows.append(_row("%s  %s  %s  %s  %s" % (
            _percent(line.self_percent), _percent(line.total_percent), _html.escape(place.ljust(place_width)),
            _html.escape(function.ljust(function_width)), _code((line.text or "").strip())), _heat(line.self_percent)))
    rest = sum(line.self_percent for line in lines[len(found):])
    if rest >= 0.05:
        rows.append(_row("%s         %d more lines" % (_percent(rest), len(lines) - len(found)), _FAINT))
    return rows


def share(part, data, what) -> float:
    """Percent of all CPU time; of the samples, where no time is known. @part: a file, or data["samples"]."""
    if data["samples"]["cpu_ns"]:
        return 100 * part[what + "_cpu_ns"] / data["samples"]["cpu_ns"]
    return 100 * part[what] / (data["samples"]["count"] or 1)


def _is_shown(file, data) -> bool:
    """The user's own files, and libraries that are hot themselves."""
    path = file["path"]
    is_library = any(part in path for part in _LIBRARY_PARTS) or path.startswith(("/usr/", "<frozen ", "<string>"))
    return share(file, data, "self" if is_library else "total") >= (1 if is_library else _MIN_PERCENT)


def _file_head(file, data, name_of) -> str:
    text = "self %.1f %%, total %.1f %%" % (share(file, data, "self"), share(file, data, "total"))
    note = file["source"]["note"]
    return '<p style="margin:0 0 .3em"><b>%s</b> <span style="%s">%s%s</span></p>' % (
        _escaped(name_of(file["path"])), _FAINT, text, "; " + _escaped(note) if note else "")


def _file_rows(file, lines, texts_of, left):
    """Returns (the rows of lines with samples and of those around them, how many rows are left)."""
    hot = {line.line: line for line in lines if line.file == file["path"]}
    known = {line["line"]: line for line in file["lines"]}
    shown = {n for n, line in hot.items() if max(line.self_percent, line.total_percent) >= _MIN_PERCENT}
    around = {n for number in shown for n in range(number - _CONTEXT, number + _CONTEXT + 1)}
    texts = texts_of(file["path"], around)
    texts.update((n, line["text"]) for n, line in known.items() if line["text"] is not None)
    rows, before = [], None
    for number in sorted(n for n in around if n in shown or n in texts):
        if left <= 0:
            break
        if before is not None and number > before + 1:
            rows.append(_row(" " * 18 + "...", _FAINT))
        rows.append(_line_row(number, hot.get(number), known.get(number), texts.get(number)))
        rows += _callee_rows(known.get(number), hot.get(number))
        before = number
        left -= 1
    return rows, left


def _line_row(number, hot, known, text) -> str:
    own = hot.self_percent if hot else 0
    share = "    ·" if known and known["no_code"] else _percent(own)
    return _row("%s  %s  %5d  %s" % (share, _percent(hot.total_percent if hot else 0), number, _code(text or "")),
                _heat(own) if own >= 0.05 else "")


def _callee_rows(known, hot):
    """Code without lines that the line calls, such as that of NumPy: a part of its self."""
    rows = []
    for callee in (known or {}).get("callees", [])[:_MAX_CALLEES]:
        share = hot.self_percent * callee["samples"] / hot.self_samples if hot and hot.self_samples else 0
        if share >= 1:
            what = callee["function"] or "code without a name"
            rows.append(_row("%s\\_ %.1f of it in %s" % (
                " " * 22, share, _escaped("%s (%s)" % (what, callee["object"]))), _FAINT))
    return rows
