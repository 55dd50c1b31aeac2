"""Answer SQL over a data set: engine.py duckdb|spark|page DIR, a JSON array of queries on stdin, of arrays of rows on stdout."""

import json
import sys
import time

engine, folder = sys.argv[1:]
tables = {"events": "/*/*/*.parquet", "documents": "/*/*/*.parquet", "sessions": "/*.parquet", "replaced": "/*.parquet"}

if engine == "page":
    # Statements of a page, which name files below the folder.
    import os

    import duckdb

    os.chdir(folder)
    connection = duckdb.connect()
    run = lambda query: connection.execute(query).fetchall()
elif engine == "duckdb":
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    # What Spark calls so.
    connection.execute("CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)")
    for table, files in tables.items():
        source = f"read_parquet('{folder}/{table}{files}', hive_partitioning = true, hive_types = {{'project': VARCHAR, 'day': DATE}})"
        if "*/*/" not in files:
            source = f"read_parquet('{folder}/{table}{files}')"
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {source}")
    run = lambda query: connection.execute(query).fetchall()
else:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        # A backslash in a text between quotes is one, as in other engines.
        .config("spark.sql.parser.escapedStringLiterals", "true")
        .getOrCreate()
    )
    for table in tables:
        session.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
    run = lambda query: [tuple(row) for row in session.sql(query).collect()]

answers = []
for query in json.load(sys.stdin):
    begin = time.perf_counter()
    rows = run(query)
    answers.append([list(row) for row in rows])
    print(f"{time.perf_counter() - begin:8.3f} s  {query}", file=sys.stderr)
json.dump(answers, sys.stdout, default=str)
