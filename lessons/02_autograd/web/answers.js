// Lesson 2: autograd. Replace each TODO(), then press Check.
// g.wants(i): does input i need a gradient? g.pass(i, d): here is its gradient.

// z = a·b, element by element; a and b have the same shape. dz is d loss / dz.
function mul_backward(dz, g, a, b) {
  // [answer 02.1 mul]
  if (g.wants(0)) g.pass(0, mul(dz, b));
  if (g.wants(1)) g.pass(1, mul(dz, a));
  // [end]
}

// y = tanh(x). The result y is kept for the backward; x is not needed again.
function tanh_backward(dy, g, y) {
  // [answer 02.2 tanh]
  if (g.wants(0)) g.pass(0, mul(dy, sub(1, mul(y, y))));
  // [end]
}

// c [M, N] = a [M, K] · b [K, N]
function matmul_backward(dc, g, a, b) {
  // [answer 02.3 matmul]
  if (g.wants(0)) g.pass(0, matmul(dc, transpose(b)));
  if (g.wants(1)) g.pass(1, matmul(transpose(a), dc));
  // [end]
}

// Input i has `shape`, a list of sizes; it was stretched to d's shape when the
// result was computed. Sums d over the stretched dimensions and gives the sum
// to input i. sum(x, [0, 2]) sums dims 0 and 2 away; sum(x) sums everything.
function pass_summed(g, i, d, shape) {
  // [answer 02.4 pass_summed]
  if (!g.wants(i)) return;
  const extra = d.rank - shape.length;
  const stretched = [...d.shape.keys()].filter((dim) => dim < extra || shape[dim - extra] !== d.size(dim));
  g.pass(i, stretched.length ? reshape(sum(d, stretched), shape) : d);
  // [end]
}

// The largest relative error over the inputs between the tape's gradients of f
// and central differences: |a - n| / max(|a|, |n|, 1e-5) with Euclidean norms;
// a is the tape's gradient of one input, n the measured one. f takes a list of
// tensors and returns one; inputs is such a list, all f64. Where f does not use
// an input, grad(x) is null, and a is 0. A gradient that is NaN is an error of
// Infinity. Useful: leaf(x) is a copy that requires a gradient; numbers(x) and
// write(x, numbers) read and write all elements; normal(shape, seed),
// backward(y, r), grad(x), item(y), no_grad(() => ...), Number.isNaN(number).
function gradcheck(f, inputs) {
  // [answer 02.5 gradcheck]
  const x = inputs.map((input) => leaf(input)), y = f(x), r = normal(y.shape, 7), h = 1e-5;
  backward(y, r);
  const value = () => item(sum(mul(f(x), r)));
  const norm = (list) => Math.sqrt(list.reduce((total, e) => total + e * e, 0));
  return no_grad(() => {
    let worst = 0;
    for (const input of x) {
      const elements = numbers(input), used = grad(input) !== null;
      const analytic = used ? numbers(grad(input)) : elements.map(() => 0);
      const measured = elements.map((before, n) => {
        const at = (e) => {
          const moved = elements.slice();
          moved[n] = e;
          write(input, moved);
          return value();
        };
        return (at(before + h) - at(before - h)) / (2 * h);
      });
      write(input, elements);
      const off = norm(analytic.map((a, n) => a - measured[n]));
      const error = off / Math.max(norm(analytic), norm(measured), 1e-5);
      worst = Math.max(worst, Number.isNaN(error) ? Infinity : error);
    }
    return worst;
  });
  // [end]
}
