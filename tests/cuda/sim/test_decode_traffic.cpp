// What decoding reads and how many kernels it runs, counted by the simulator.
#include "nn/decode/decoder.h"
#include "tensor/sim/sim.h"
#include "tests/kernels/attention_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

uint64_t launches(const sim::Report& report, const std::string& kernel = "") {
  uint64_t count = 0;
  for (const auto& [name, stats] : report.kernels()) {
    if (name.find(kernel) != std::string::npos) count += stats.launches;
  }
  return count;
}

struct Moved {
  uint64_t bytes, warps;
};

// Runs attention of one query in a cache of `room` positions, `length` of them in use. Checks that keys and values are
// read once, in whole 16-byte accesses.
Moved check_reads(int64_t heads, int64_t kv_heads, int64_t size, int64_t length, int64_t room) {
  INFO("H " << heads << "/" << kv_heads << ", D " << size << ", " << length << " keys of " << room);
  Attention x = inputs({1, heads, kv_heads, 1, room, size, true, {}, {static_cast<int32_t>(length)}}, bf16);
  const AttentionArgs args = x.args(x.q.device());  // outside of the report
  const sim::Report report;
  kernels(x.q.device()).attention(x.out, x.lse, x.q, x.k, x.v, args);
  INFO(report.table());
  CHECK(launches(report) == 1);
  const auto needed = static_cast<uint64_t>(2 * kv_heads * length * size * 2);
  const sim::KernelStats& all = report.kernels().begin()->second;
  // Each warp reads the length and the queries of its heads. Each head has an output and an lse and, above 512
  // keys, a part for each split of 512, which is written and read once. A number by itself moves a sector of 32 bytes.
  const int64_t splits = (room + 511) / 512, warps = static_cast<int64_t>(all.threads / 32);
  int64_t rest = warps * (heads / kv_heads * size * 2 + 32) + heads * (size * 2 + 32);
  // A warp that combines parts has 32 elements of the output.
  if (splits > 1) rest += heads * splits * (2 * size * 4 + 64 + size / 32 * 96) + kv_heads * splits * 64;
  CHECK(all.bytes_moved >= needed);
  CHECK(all.bytes_moved <= needed + static_cast<uint64_t>(rest));
  if (length % 64 == 0) {
    uint64_t wide = 0;
    for (const sim::LineStats& line : report.lines()) {
      if (line.bytes != 512 * line.accesses) continue;  // 32 lanes of 16 bytes
      wide += line.bytes;
      CHECK(line.sectors <= (line.bytes + 31) / 32);
    }
    // The lanes of each warp read the query of each head, several lanes the same bytes.
    CHECK(wide == needed + static_cast<uint64_t>(512 * heads / kv_heads * warps));
  }
  return {all.bytes_moved, all.threads / 32};
}

}  // namespace

TEST_CASE("CUDA attention of one query reads keys and values once in accesses of 16 bytes",
          "[cuda][attention][decode]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  for (const int64_t size : {64, 128}) {
    for (const auto& [heads, kv_heads] : {std::pair{2, 2}, {4, 2}, {4, 1}}) {
      for (const int64_t length : {64, 200, 512, 1088}) {
        const int64_t room = (length + 63) / 64 * 64;
        const Moved tight = check_reads(heads, kv_heads, size, length, room);
        // Each warp for unused room reads the length and its queries and nothing else.
        const Moved doubled = check_reads(heads, kv_heads, size, length, 2 * room);
        const auto idle = static_cast<uint64_t>(32 + heads / kv_heads * size * 2);
        CHECK(doubled.bytes == tight.bytes + idle * (doubled.warps - tight.warps));
        CHECK(tight.warps == static_cast<uint64_t>(kv_heads * (room <= 512 ? room / 64 : (room + 511) / 512 * 8)));
      }
    }
  }
}

TEST_CASE("CUDA sampling without filters reads rows in accesses of 16 bytes: of bf16 once, others twice",
          "[cuda][decode]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const int64_t vocab = 50304;
  for (const auto& [dtype, times] : {std::pair{bf16, 1}, {f32, 2}}) {
    const Tensor logits = random({1, vocab}, dtype, 1).to(device()), ids = Tensor::zeros({1}, i32, device());
    const Tensor u = Tensor::full({1}, 0.999, f64, device());
    for (const double temperature : {1.0, 0.7}) {
      const sim::Report report;
      kernels(device()).sample(ids, logits, u, {.temperature = temperature});
      INFO(report.table());
      // Rows of bf16 stay in registers. Others are read for the maximum and for the weights, and of the last part, a
      // 28th, once more to find the token.
      const auto row = static_cast<uint64_t>(vocab) * size_of(dtype), least = static_cast<uint64_t>(times) * row;
      const sim::KernelStats& stats = report.kernels().begin()->second;
      CHECK(stats.bytes_moved >= least);
      CHECK(stats.bytes_moved <= least + (times == 1 ? 1024 : row / 20));
      CHECK(stats.accesses <= stats.bytes_moved / 512 + 40);  // u is read by all 32 warps
    }
  }
}

TEST_CASE("a token of GPT-2 with 12 layers is decoded by 65 kernels", "[cuda][decode]") {
  Generator init(3);
  Transformer model({.vocab_size = 40, .block_size = 64, .n_layer = 12, .n_head = 1, .n_embd = 64, .dtype = bf16},
                    init);
  model.to(device());
  NoGrad no_grad;
  const int64_t rows = 2;
  const KvCache cache = model.new_cache(rows);
  const Tensor ids = Tensor::zeros({rows}, i32, device()), before = Tensor::full({rows}, 5, i32, device());
  const Tensor after = Tensor::full({rows}, 6, i32, device()), u = Tensor::full({rows}, 0.5, f64, device());
  const Tensor log_probs = Tensor::zeros({rows}, f32, device());
  const auto token = [&] { choose_tokens(model.logits_next(ids, cache.slots(before, after)), {}, u, ids, log_probs); };
  token();  // as a Decoder does before it records
  const Graph graph(device(), token);
  const sim::Report report;
  graph.replay();
  INFO(report.table());
  // wte and wpe; in each layer c_attn with the sum and norm before it (the first sum is that of the embeddings),
  // attention with its cache, c_proj, c_fc with the sum and norm before it and gelu, the MLP's c_proj; the head with
  // the last sum and norm, the choice and its log-probability.
  CHECK(launches(report) == 2 + 12 * 5 + 3);
  CHECK(launches(report, "norm_matmul_kernel") == 25);
  CHECK(launches(report, "decode_kernel") == 12);
  CHECK(launches(report, "few_rows_kernel") == 2 * 12);
  CHECK(launches(report, "gather_kernel") == 2);
}

TEST_CASE("CUDA norm_matmul of a few rows reads the matrix once in accesses of 16 bytes", "[cuda][decode]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  NoGrad no_grad;
  const int64_t k = 768, n = 2304;
  const Tensor weight = random({n, k}, bf16, 1).to(device()), bias = random({n}, bf16, 2).to(device());
  const Tensor w = random({k}, bf16, 3).to(device()), b = random({k}, bf16, 4).to(device());
  for (const int64_t rows : {1, 8}) {
    INFO(rows << " rows");
    const Tensor x = random({rows, k}, bf16, 5).to(device()), residual = random({rows, k}, bf16, 6).to(device());
    const sim::Report report;
    add_norm_linear(x, residual, {.weight = w, .bias = b}, weight, bias);
    INFO(report.table());
    CHECK(launches(report) == 1);
    const sim::KernelStats& stats = report.kernels().begin()->second;
    const auto matrix = static_cast<uint64_t>(2 * n * k);
    // Each block normalises the rows: it reads x, the residual, w and b once per row.
    const auto blocks = static_cast<int64_t>(stats.blocks);
    CHECK(blocks == (rows == 1 ? n / 16 : 264));
    const auto rest = static_cast<uint64_t>(blocks * rows * 4 * k * 2);
    CHECK(stats.bytes_moved >= matrix + rest);
    // A column's bias and its results are numbers by themselves; each moves a sector of 32 bytes. Block 0 writes the
    // sum.
    CHECK(stats.bytes_moved <= matrix + rest + static_cast<uint64_t>(n * (rows + 1) * 32 + rows * k * 2));
    // Everything else is read in accesses of 16 bytes. Several lines may read the matrix, as the compiler inlines them.
    uint64_t wide = 0;
    for (const sim::LineStats& line : report.lines()) {
      if (line.bytes == 512 * line.accesses && line.sectors <= line.bytes / 32) wide += line.bytes;
    }
    CHECK(wide >= matrix + rest);
  }
}
