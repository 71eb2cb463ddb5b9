"""Databases that hold reports, in columns and in bytes, and run queries on them."""

from typing import Any

import pyarrow as pa

import deniable as dn

TABLES = ({"table": "reports"}, {"table": "packed", "packed": "report"})


def in_duckdb(reports: dn.Reports | pa.Table, sent: list[bytes]) -> Any:
    """What runs a query in duckdb, and gives its rows."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("set threads = 1")
    connection.register("reports", pa.table(reports))
    connection.register("packed", pa.table({"report": pa.array(sent, pa.binary())}))
    return lambda query: connection.sql(query).to_arrow_table()


def in_postgres(connection: Any, reports: dn.Reports | pa.Table, sent: list[bytes]) -> Any:
    """What runs a query in PostgreSQL, and gives its rows."""
    for name, table in (("reports", pa.table(reports)), ("packed", pa.table({"report": pa.array(sent, pa.binary())}))):
        columns = ", ".join(f"{quoted(field.name)} {_type(field.type)}" for field in table.schema)
        connection.execute(f"drop table if exists {name}")
        connection.execute(f"create table {name} ({columns})")
        with connection.cursor().copy(f"copy {name} from stdin") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return lambda query: connection.execute(query).fetchall()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(kind: Any) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "bigint"
    return "bytea" if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) else "text"
