"""Declare what data a mechanism takes, so that neighboring pairs can be checked and searched.

- `domains`, `vectors`, `compound`: what one record may be;
- `records`: datasets of records; `answers`: data reduced to the answers of queries;
- `rows`, `changes`: datasets as rows, and one step between neighbors;
- `candidates`: a pair to try, and what every schema can do;
- `parsing`: the JSON form.
"""

from dpverify.schema.answers import Answers
from dpverify.schema.candidates import Candidate, Schema
from dpverify.schema.compound import Labeled, Table
from dpverify.schema.domains import Category, Number, RecordDomain
from dpverify.schema.parsing import load_schema, schema_from_dict, schema_to_dict
from dpverify.schema.records import Records
from dpverify.schema.vectors import BoxedVector, Vector

__all__ = [
    "Answers",
    "BoxedVector",
    "Candidate",
    "Category",
    "Labeled",
    "Number",
    "RecordDomain",
    "Records",
    "Schema",
    "Table",
    "Vector",
    "load_schema",
    "schema_from_dict",
    "schema_to_dict",
]
