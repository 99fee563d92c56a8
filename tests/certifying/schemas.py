"""Where the corpus takes its schemas from: this line, and no other."""

from dpverify.schema import Answers, BoxedVector, Category, Number, Records, Schema

__all__ = ["Answers", "BoxedVector", "Category", "Number", "Records", "Schema"]
