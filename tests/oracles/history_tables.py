"""Opens a state history with pyarrow, pandas and DuckDB and prints what each reads, as JSON.

Usage: history_tables.py FOLDER. The files are plain Arrow IPC files; no code of slowpath is used.
"""

import json
import pathlib
import sys

import duckdb
import pandas
import pyarrow

folder = pathlib.Path(sys.argv[1])


def table(name):
    with pyarrow.memory_map(str(folder / f"{name}.arrow")) as file:
        return pyarrow.ipc.open_file(file).read_all()


intervals = table("intervals")
attributes = table("attributes")
names = table("names")
held = duckdb.query(
    """
    SELECT path, coalesce(name, CAST(intervals.value AS VARCHAR)) AS held,
           CAST(sum(end_ns - begin_ns) AS BIGINT) AS ns
    FROM intervals JOIN attributes USING (attribute)
    LEFT JOIN names ON names.vocabulary = attributes.vocabulary AND names.value = intervals.value
    GROUP BY ALL ORDER BY ALL
    """
).fetchall()
frame = pandas.read_feather(folder / "intervals.arrow")
print(json.dumps({"duckdb": held, "pandas": frame.to_dict("list")}))
