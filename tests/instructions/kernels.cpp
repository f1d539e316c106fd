// `kernels NAME` runs one kernel so that run.sh can count its instructions and cache misses; `kernels` alone lists the
// names. Only the work inside measured() counts: the inputs and the first call, which fills the pools, do not.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>

#include "autograd/ops.h"
#include "nn/train/trainer.h"
#include "tensor/base/parallel.h"

using namespace pg;

namespace {

using Work = std::function<void()>;  // one call

Tensor leaf(const Shape& shape, Generator& g) { return Tensor::normal(shape, 0, 1, g).set_requires_grad(); }
Tensor ids(const Shape& shape, int64_t below, Generator& g) {
  Tensor t = Tensor::empty(shape, i32);
  for (int32_t& id : t.data<int32_t>()) id = static_cast<int32_t>(g.integer(below));
  return t;
}

// f(x) and its backward.
Work both_ways(const Shape& shape, Generator& g, std::function<Tensor(const Tensor&)> f) {
  const Tensor x = leaf(shape, g);
  const Tensor dy = Tensor::normal(f(x).shape(), 0, 1, g);
  return [=] {
    x.zero_grad();
    backward(f(x), dy);
  };
}

// A matrix product. Its backward has one product with a transposed left operand and one with a transposed right
// operand.
Work matmul_work(Generator& g) {
  const Tensor w = leaf({256, 200}, g);
  return both_ways({250, 256}, g, [w](const Tensor& x) { return matmul(x, w); });
}
// A product whose operands do not fit in the second level of the cache: it depends on the blocks of gemm.cpp.
Work matmul_blocks(Generator& g) {
  const Tensor x = Tensor::normal({96, 1024}, 0, 1, g), w = Tensor::normal({1024, 520}, 0, 1, g);
  return [=] { matmul(x, w); };
}
// Products with a single row, as in decoding.
Work matmul_row(Generator& g) {
  const Tensor x = Tensor::normal({1, 768}, 0, 1, g), w = Tensor::normal({1024, 768}, 0, 1, g);
  return [=] { linear(x, w); };
}
Work attention_work(Generator& g) {
  return both_ways({2, 256, 3 * 4 * 32}, g, [](const Tensor& qkv) { return attention_qkv(qkv, 4); });
}
Work layer_norm_work(Generator& g) {
  const Tensor w = leaf({384}, g), b = leaf({384}, g);
  return both_ways({1024, 384}, g, [=](const Tensor& x) { return layer_norm(x, w, b); });
}
Work cross_entropy_work(Generator& g) {
  const Tensor targets = ids({256}, 1000, g);
  return both_ways({256, 1000}, g, [=](const Tensor& x) { return cross_entropy(x, targets); });
}
Work gelu_work(Generator& g) {
  return both_ways({512, 512}, g, [](const Tensor& x) { return gelu(x); });
}
Work transpose_work(Generator& g) {
  const Tensor x = Tensor::normal({520, 1000}, 0, 1, g);
  return [=] { contiguous(transpose(x)); };
}
// As in the gradient of index_select: one index for a whole row.
Work scatter_add_work(Generator& g) {
  const Tensor x = Tensor::normal({1000, 384}, 0, 1, g), source = Tensor::normal({1000, 384}, 0, 1, g);
  const Tensor rows = expand(ids({1000, 1}, 1000, g), {1000, 384});
  return [=] { scatter_add(x, 0, rows, source); };
}
// The cost of the tape itself: the arithmetic is negligible.
Work tape_work(Generator& g) {
  const Tensor factor = Tensor::ones({16});
  return both_ways({16}, g, [=](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 1000; ++i) y = mul(y, factor);
    return y;
  });
}

Work adamw_work(Generator& g) {
  struct Weights : Module {
    Tensor weight;
    void visit(Visitor& visitor) override { visitor("weight", weight); }
  };
  auto model = std::make_shared<Weights>();
  model->weight = leaf({1 << 19}, g);
  auto slab = std::make_shared<ParamSlab>(*model);
  backward(sum(model->weight));
  auto adam = std::make_shared<AdamW>(*slab);
  return [=] { adam->step(1e-3, clip_scale(grad_norm(*slab), 1)); };
}

// The CartPole policy, as in `pg bench --filter mlp`.
struct Mlp : Module {
  Linear fc1, fc2, out;
  ParamSlab slab;
  explicit Mlp(Generator& g) : fc1(4, 64, true, {g}), fc2(64, 64, true, {g}), out(64, 2, true, {g}), slab(*this) {}
  Tensor operator()(const Tensor& x) const { return out(tanh(fc2(tanh(fc1(x))))); }
  void visit(Visitor& visitor) override {
    visitor("fc1", fc1);
    visitor("fc2", fc2);
    visitor("out", out);
  }
};
Work mlp_step(Generator& g) {
  auto model = std::make_shared<Mlp>(g);
  auto adam = std::make_shared<AdamW>(model->slab, AdamWOptions{.weight_decay = 0});
  const Tensor x = Tensor::normal({32, 4}, 0, 1, g), actions = ids({32}, 2, g);
  return [=] {
    model->slab.zero_grad();
    backward(cross_entropy((*model)(x), actions));
    adam->step(1e-3);
  };
}
Work mlp_row(Generator& g) {
  auto model = std::make_shared<Mlp>(g);
  const Tensor x = Tensor::normal({1, 4}, 0, 1, g);
  return [=] {
    const NoGrad no_grad;
    (*model)(x);
  };
}

Work lesson4_step(Generator& g) {
  const TransformerConfig config = {.vocab_size = 65, .block_size = 32, .n_layer = 4, .n_head = 4, .n_embd = 128};
  auto model = std::make_shared<Transformer>(config, g);
  const NextBatch batch = [](Generator& from) { return TokenBatch{ids({1, 32}, 65, from), ids({1, 32}, 65, from)}; };
  auto trainer = std::make_shared<Trainer>(*model, TrainConfig{}, batch);
  return [model, trainer] { trainer->step(); };
}

struct Entry {
  std::string_view name;
  Work (*make)(Generator&);
  int calls;  // a few seconds under valgrind, which emulates fused multiply-add slowly
};
constexpr Entry entries[] = {
    {"matmul", matmul_work, 2},       {"matmul_blocks", matmul_blocks, 1}, {"matmul_row", matmul_row, 50},
    {"attention", attention_work, 1}, {"layer_norm", layer_norm_work, 50}, {"cross_entropy", cross_entropy_work, 10},
    {"gelu", gelu_work, 10},          {"transpose", transpose_work, 10},   {"scatter_add", scatter_add_work, 10},
    {"tape", tape_work, 50},          {"adamw", adamw_work, 20},           {"mlp_step", mlp_step, 100},
    {"mlp_row", mlp_row, 2000},       {"lesson4_step", lesson4_step, 1}};

}  // namespace

extern "C" [[gnu::noinline]] void measured(const Work& work, int calls) {
  for (int i = 0; i < calls; ++i) work();
}

int main(int argc, char** argv) {
  // The size of the environment moves the stack, and the stack's offset in its page decides which lines of the first
  // level it evicts. This array makes the offset a constant.
  volatile char* const page_rest =
      static_cast<char*>(__builtin_alloca(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % 4096 + 16));
  page_rest[0] = 0;
  set_num_threads(1);
  for (const Entry& entry : entries) {
    if (argc < 2) std::printf("%s\n", entry.name.data());
    if (argc < 2 || entry.name != argv[1]) continue;
    Generator g(1);
    const Work work = entry.make(g);
    work();
    measured(work, entry.calls);
    return 0;
  }
  return argc < 2 ? 0 : 1;
}
