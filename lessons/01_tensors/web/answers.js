// Lesson 1: tensors. Replace each TODO(), then press Check.
// A shape and strides are lists of numbers: a.length is a rank, a[d] a size.

// The view of x with two dimensions exchanged. No element moves: the result
// shares x's storage. A dim may count from the end (-1: the last one); one that
// does not exist is an error, which normalize_dim(dim, x.rank, "transpose")
// gives; otherwise it returns the place of the dim. x.shape, x.strides() and
// x.offset() say how x lies in its storage. x.view_of(offset, shape, strides)
// is another view of that storage.
function view_transpose(x, dim0, dim1) {
  // [answer 01.1 view_transpose]
  const a = normalize_dim(dim0, x.rank, "transpose"), b = normalize_dim(dim1, x.rank, "transpose");
  const shape = [...x.shape], strides = [...x.strides()];
  [shape[a], shape[b]] = [shape[b], shape[a]];
  [strides[a], strides[b]] = [strides[b], strides[a]];
  return x.view_of(x.offset(), shape, strides);
  // [end]
}

// The shape of a + b. Shapes are aligned at their last dimension; two sizes fit
// when they are equal or one of them is 1; a missing size counts as 1. When
// they don't fit, an error names op and both, such as "add: shapes [2, 3] and
// [2, 4] do not broadcast": fail(text), where [2, 3] is `[${a.join(", ")}]`.
function broadcast_shapes(a, b, op) {
  // [answer 01.2 broadcast_shapes]
  const rank = Math.max(a.length, b.length), result = [];
  for (let i = 0; i < rank; ++i) {
    const x = a[i - (rank - a.length)] ?? 1, y = b[i - (rank - b.length)] ?? 1;
    if (x !== y && x !== 1 && y !== 1) fail(`${op}: shapes [${a.join(", ")}] and [${b.join(", ")}] do not broadcast`);
    result.push(x === 1 ? y : x);
  }
  return result;
  // [end]
}

// The position of element n in memory, in elements from the view's first. n
// counts row by row: the last index runs fastest.
function offset_of(n, shape, strides) {
  // [answer 01.3 offset_of]
  let offset = 0;
  for (let d = shape.length - 1; d >= 0; --d) {
    offset += (n % shape[d]) * strides[d];
    n = Math.floor(n / shape[d]);
  }
  return offset;
  // [end]
}
