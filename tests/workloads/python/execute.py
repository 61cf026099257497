# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes a notebook. Writes what each cell shows to N.html and N.txt, and prints its value.

usage: execute.py NOTEBOOK
"""
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
for number, cell in enumerate(notebook.cells, 1):
    for output in cell.outputs:
        if output.output_type == "display_data":
            for name, kind in ("html", "text/html"), ("txt", "text/plain"):
                with open(f"{number}.{name}", "w", encoding="utf-8") as f:
                    f.write(output.data[kind])
        elif output.output_type == "execute_result":
            print(number, output.data["text/plain"].splitlines()[0])
        else:
            print(number, "says", output.text, end="")
