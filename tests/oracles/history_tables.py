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
    WITH told AS (
        SELECT path, vocabulary, end_ns - begin_ns AS ns,
               CASE WHEN bits IS NULL THEN value
                    ELSE nullif((value >> first_bit) & ((1::BIGINT << bits) - 1), 0) - 1 END AS value
        FROM intervals JOIN attributes ON intervals.attribute = coalesce(part_of, attributes.attribute)
    )
    SELECT path, coalesce(name, CAST(told.value AS VARCHAR)) AS held, CAST(sum(ns) AS BIGINT) AS ns
    FROM told LEFT JOIN names ON names.vocabulary = told.vocabulary AND names.value = told.value
    WHERE told.value IS NOT NULL
    GROUP BY ALL ORDER BY ALL
    """
).fetchall()
frame = pandas.read_feather(folder / "intervals.arrow")
print(json.dumps({"duckdb": held, "pandas": frame.to_dict("list")}))
