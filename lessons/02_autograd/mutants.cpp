// Wrong answers to lesson 2. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/02_autograd/answers.h"

namespace pg::lesson02 {

const kit::Mutants<Impl> mutants = {
    {"gradcheck_first_input", "02.5", "check every input",
     [](Impl& m) {
       m.gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) -> double {
         std::vector<Tensor> x;
         for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
         const Tensor y = f(x);
         Generator random(7);
         const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
         backward(y, r);

         NoGrad guard;
         const double h = 1e-5;
         double worst = 0;
         for (const Tensor& input : {x[0]}) {
           const std::vector<double> analytic = input.grad().to_vector();
           double difference = 0, norm_a = 0, norm_n = 0;
           for (int64_t n = 0; n < input.numel(); ++n) {
             double& element = input.data<double>()[n];
             const double before = element;
             element = before + h;
             const double above = pg::sum(pg::mul(f(x), r)).item();
             element = before - h;
             const double below = pg::sum(pg::mul(f(x), r)).item();
             element = before;
             const double numeric = (above - below) / (2 * h);
             difference += (analytic[n] - numeric) * (analytic[n] - numeric);
             norm_a += analytic[n] * analytic[n];
             norm_n += numeric * numeric;
           }
           worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
         }
         return worst;
       };
     }},
    {"gradcheck_large_step", "02.5", "take central differences",
     [](Impl& m) {
       m.gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) -> double {
         std::vector<Tensor> x;
         for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
         const Tensor y = f(x);
         Generator random(7);
         const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
         backward(y, r);

         NoGrad guard;
         const double h = 0.1;
         double worst = 0;
         for (const Tensor& input : x) {
           const std::vector<double> analytic = input.grad().to_vector();
           double difference = 0, norm_a = 0, norm_n = 0;
           for (int64_t n = 0; n < input.numel(); ++n) {
             double& element = input.data<double>()[n];
             const double before = element;
             element = before + h;
             const double above = pg::sum(pg::mul(f(x), r)).item();
             element = before - h;
             const double below = pg::sum(pg::mul(f(x), r)).item();
             element = before;
             const double numeric = (above - below) / (2 * h);
             difference += (analytic[n] - numeric) * (analytic[n] - numeric);
             norm_a += analytic[n] * analytic[n];
             norm_n += numeric * numeric;
           }
           worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
         }
         return worst;
       };
     }},
    {"gradcheck_never_compares", "02.5", "are the two gradients compared",
     [](Impl& m) {
       m.gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) -> double {
         std::vector<Tensor> x;
         for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
         const Tensor y = f(x);
         Generator random(7);
         const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
         backward(y, r);

         NoGrad guard;
         const double h = 1e-5;
         double worst = 0;
         for (const Tensor& input : x) {
           const std::vector<double> analytic = input.grad().to_vector();
           double difference = 0, norm_a = 0, norm_n = 0;
           for (int64_t n = 0; n < input.numel(); ++n) {
             double& element = input.data<double>()[n];
             const double before = element;
             element = before + h;
             const double above = pg::sum(pg::mul(f(x), r)).item();
             element = before - h;
             const double below = pg::sum(pg::mul(f(x), r)).item();
             element = before;
             const double numeric = analytic[n] + 0 * (above - below);
             difference += (analytic[n] - numeric) * (analytic[n] - numeric);
             norm_a += analytic[n] * analytic[n];
             norm_n += numeric * numeric;
           }
           worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
         }
         return worst;
       };
     }},
    {"gradcheck_not_restored", "02.5", "restore each element",
     [](Impl& m) {
       m.gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) -> double {
         std::vector<Tensor> x;
         for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
         const Tensor y = f(x);
         Generator random(7);
         const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
         backward(y, r);

         NoGrad guard;
         const double h = 1e-5;
         double worst = 0;
         for (const Tensor& input : x) {
           const std::vector<double> analytic = input.grad().to_vector();
           double difference = 0, norm_a = 0, norm_n = 0;
           for (int64_t n = 0; n < input.numel(); ++n) {
             double& element = input.data<double>()[n];
             const double before = element;
             element = before + h;
             const double above = pg::sum(pg::mul(f(x), r)).item();
             element = before - h;
             const double below = pg::sum(pg::mul(f(x), r)).item();
             const double numeric = (above - below) / (2 * h);
             difference += (analytic[n] - numeric) * (analytic[n] - numeric);
             norm_a += analytic[n] * analytic[n];
             norm_n += numeric * numeric;
           }
           worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
         }
         return worst;
       };
     }},
    {"gradcheck_ones", "02.5", "sum of the outputs has gradient 0",
     [](Impl& m) {
       m.gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) -> double {
         std::vector<Tensor> x;
         for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
         const Tensor y = f(x);
         const Tensor r = Tensor::ones(y.shape(), f64);
         backward(y, r);

         NoGrad guard;
         const double h = 1e-5;
         double worst = 0;
         for (const Tensor& input : x) {
           const std::vector<double> analytic = input.grad().to_vector();
           double difference = 0, norm_a = 0, norm_n = 0;
           for (int64_t n = 0; n < input.numel(); ++n) {
             double& element = input.data<double>()[n];
             const double before = element;
             element = before + h;
             const double above = pg::sum(pg::mul(f(x), r)).item();
             element = before - h;
             const double below = pg::sum(pg::mul(f(x), r)).item();
             element = before;
             const double numeric = (above - below) / (2 * h);
             difference += (analytic[n] - numeric) * (analytic[n] - numeric);
             norm_a += analytic[n] * analytic[n];
             norm_n += numeric * numeric;
           }
           worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
         }
         return worst;
       };
     }},
    {"matmul_a_untransposed", "02.3", "a is not transposed",
     [](Impl& m) {
       m.matmul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor c = pg::matmul(a.detach(), b.detach());
         return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::matmul(dc, pg::transpose(b)));
           if (g.wants(1)) g.pass(1, pg::matmul(a, dc));
         });
       };
     }},
    {"matmul_b_untransposed", "02.3", "b is not transposed",
     [](Impl& m) {
       m.matmul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor c = pg::matmul(a.detach(), b.detach());
         return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::matmul(dc, b));
           if (g.wants(1)) g.pass(1, pg::matmul(pg::transpose(a), dc));
         });
       };
     }},
    {"matmul_order", "02.3", "dc stands last",
     [](Impl& m) {
       m.matmul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor c = pg::matmul(a.detach(), b.detach());
         return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::matmul(dc, pg::transpose(b)));
           if (g.wants(1)) g.pass(1, pg::matmul(dc, pg::transpose(a)));
         });
       };
     }},
    {"mul_exchanged", "02.1", "da and db are exchanged",
     [](Impl& m) {
       m.mul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor z = pg::mul(a.detach(), b.detach());
         return record(Op::mul, z, {&a, &b},
                       [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
                         if (g.wants(0)) g.pass(0, pg::mul(dz, a));
                         if (g.wants(1)) g.pass(1, pg::mul(dz, b));
                       });
       };
     }},
    {"mul_minus", "02.1", "the sign is flipped",
     [](Impl& m) {
       m.mul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor z = pg::mul(a.detach(), b.detach());
         return record(Op::mul, z, {&a, &b},
                       [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
                         if (g.wants(0)) g.pass(0, pg::neg(pg::mul(dz, b)));
                         if (g.wants(1)) g.pass(1, pg::mul(dz, a));
                       });
       };
     }},
    {"mul_no_dz", "02.1", "dz is forgotten",
     [](Impl& m) {
       m.mul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor z = pg::mul(a.detach(), b.detach());
         return record(Op::mul, z, {&a, &b},
                       [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
                         if (g.wants(0)) g.pass(0, b);
                         if (g.wants(1)) g.pass(1, a);
                       });
       };
     }},
    {"mul_nothing", "02.1", "all zeros",
     [](Impl& m) {
       m.mul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor z = pg::mul(a.detach(), b.detach());
         return record(Op::mul, z, {&a, &b},
                       [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
                         if (g.wants(1)) g.pass(1, pg::mul(dz, a));
                       });
       };
     }},
    {"mul_overwrites", "02.1", "the second must be added",
     [](Impl& m) {
       m.mul = [](const Tensor& a, const Tensor& b) -> Tensor {
         Tensor z = pg::mul(a.detach(), b.detach());
         return record(Op::mul, z, {&a, &b},
                       [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
                         // Writes without looking at beta, which says whether a gradient is there already.
                         if (auto da = g[0]) da.into->copy_from(pg::mul(dz, b));
                         if (auto db = g[1]) db.into->copy_from(pg::mul(dz, a));
                       });
       };
     }},
    {"sum_leading_only", "02.4", "the sum over the broadcast axis is missing",
     [](Impl& m) {
       m.pass_summed = [](Grads& g, int i, const Tensor& d, const Shape& shape) -> void {
         if (!g.wants(i)) return;
         Tensor sum = d;
         while (sum.rank() > shape.rank()) sum = pg::sum(sum, {0});
         g.pass(i, sum);
       };
     }},
    {"sum_mean", "02.4", "this is the mean",
     [](Impl& m) {
       m.pass_summed = [](Grads& g, int i, const Tensor& d, const Shape& shape) -> void {
         if (!g.wants(i)) return;
         const int extra = d.rank() - shape.rank();
         std::vector<int> stretched;
         for (int dim = 0; dim < d.rank(); ++dim) {
           if (dim < extra || shape[dim - extra] != d.size(dim)) stretched.push_back(dim);
         }
         g.pass(i, stretched.empty() ? d : pg::reshape(pg::mean(d, stretched), shape));
       };
     }},
    {"sum_missing", "02.4", "the sum over the broadcast axis is missing",
     [](Impl& m) {
       m.pass_summed = [](Grads& g, int i, const Tensor& d, const Shape& shape) -> void {
         if (g.wants(i)) g.pass(i, d);
         (void)shape;
       };
     }},
    {"tanh_no_dy", "02.2", "dy is forgotten",
     [](Impl& m) {
       m.tanh = [](const Tensor& x) -> Tensor {
         Tensor y = pg::tanh(x.detach());
         return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
           if (g.wants(0)) g.pass(0, 1.0 - pg::mul(y, y));
         });
       };
     }},
    {"tanh_no_square", "02.2", "the square is missing",
     [](Impl& m) {
       m.tanh = [](const Tensor& x) -> Tensor {
         Tensor y = pg::tanh(x.detach());
         return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::mul(dy, 1.0 - y));
         });
       };
     }},
    {"tanh_of_x", "02.2", "1 - x² in place",
     [](Impl& m) {
       m.tanh = [](const Tensor& x) -> Tensor {
         Tensor y = pg::tanh(x.detach());
         return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::mul(dy, 1.0 - pg::mul(x, x)));
         });
       };
     }},
    {"tanh_sigmoid", "02.2", "derivative of the sigmoid",
     [](Impl& m) {
       m.tanh = [](const Tensor& x) -> Tensor {
         Tensor y = pg::tanh(x.detach());
         return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
           if (g.wants(0)) g.pass(0, pg::mul(dy, pg::mul(y, 1.0 - y)));
         });
       };
     }},
};

}  // namespace pg::lesson02
