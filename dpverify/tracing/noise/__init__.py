"""Values that carry their noise, and the sources that noise comes from.

- `numbers`, `arrays`, `views`: the values; `shapes`, `arithmetic`, `functions`: what numpy does to
  them;
- `generator`: a generator whose draws are such values; `standins`: all other generators that code
  may reach for; `tensors`: noise of torch; `own`, `libraries`: mechanisms of this library and of
  others; `sources`: puts them in place for the time of a run.
"""

from dpverify.tracing.noise import arithmetic, arrays, functions, numbers, shapes, views

# A number knows what to do with an array, and both ask for what numpy does to them.
numbers.arrays = arrays
numbers.algebra, numbers.functions, numbers.shapes = arithmetic, functions, shapes
arrays.algebra, arrays.functions, arrays.shapes = arithmetic, functions, shapes
views.shapes = shapes
