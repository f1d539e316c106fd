// The demonstration of lesson 4: the shapes of a block, and the numbers of one position from end to end.
#include <array>
#include <cmath>

#include "lessons/04_gpt/lesson.h"
#include "lessons/kit/drawing.h"

namespace pg::lesson04 {
namespace {

constexpr int64_t kPosition = 2;  // it sees three positions, so its scores and weights are three numbers
using Three = std::array<double, 3>;

// A row of the table: a value with its shape in letters and in numbers, and three numbers of it.
struct Row {
  std::string name, letters;
  std::string shape;
  std::string which;  // the three numbers
  Three numbers;
};

// The first three numbers of x[…, kPosition, :].
Three first_three(const Tensor& x) {
  const std::vector<double> all = x.to_vector();
  const double* row = &all[static_cast<size_t>(kPosition * x.size(-1))];
  return {row[0], row[1], row[2]};
}

// What the first head of the first layer does at kPosition, computed term by term.
struct Head {
  Three scores{}, weights{}, values{};  // of the positions 0, 1, 2; the value's channel 0
  std::vector<double> out;              // [D]
};
Head computed(const Tensor& q, const Tensor& k, const Tensor& v) {  // [1, 1, T, D]
  const auto d = static_cast<size_t>(q.size(-1)), at = static_cast<size_t>(kPosition) * d;
  const std::vector<double> queries = q.to_vector(), keys = k.to_vector(), values = v.to_vector();
  Head head{.out = std::vector<double>(d, 0)};
  double sum = 0;
  for (size_t s = 0; s < 3; ++s) {
    for (size_t c = 0; c < d; ++c) {
      head.scores[s] += queries[at + c] * keys[s * d + c] / std::sqrt(static_cast<double>(d));
    }
    sum += std::exp(head.scores[s]);
  }
  for (size_t s = 0; s < 3; ++s) {
    head.weights[s] = std::exp(head.scores[s]) / sum;
    head.values[s] = values[s * d];
    for (size_t c = 0; c < d; ++c) head.out[c] += head.weights[s] * values[s * d + c];
  }
  return head;
}

std::string table(const std::vector<Row>& rows) {
  std::string text = fmt::format("{:<16}{:<15}{:<18}{:<12}{}\n", "", "shape", "", "numbers", "position 2");
  for (const Row& row : rows) {
    text += fmt::format("{:<16}{:<15}{:<18}{:<8}{:>7.3f}{:>7.3f}{:>7.3f}\n", row.name, row.letters, row.shape,
                        row.which, row.numbers[0], row.numbers[1], row.numbers[2]);
  }
  return text;
}

// Rows of the table by their place in the picture. The first `shown` of them are there; the last of these is strong.
kit::DrawnFrame frame(const std::vector<Row>& rows, int shown, const std::string& caption) {
  kit::DrawnFrame frame{caption};
  const auto wide = [&](const Row& row, double y, int step) {
    if (shown < step) return;
    frame.boxes.push_back(
        {36,
         y,
         288,
         46,
         {fmt::format("{}: {} = {}", row.name, row.letters, row.shape),
          fmt::format("{}: {:.3f}, {:.3f}, {:.3f}", row.which, row.numbers[0], row.numbers[1], row.numbers[2])},
         shown == step});
  };
  const auto arrow = [&](double x0, double y0, double x1, double y1, int step, const std::string& label = "") {
    if (shown >= step) frame.arrows.push_back({x0, y0, x1, y1, label, shown == step});
  };
  wide(rows[0], 2, 0);
  for (size_t i = 1; shown >= 1 && i <= 3; ++i) {
    const double x = 2 + 122 * static_cast<double>(i - 1);
    std::vector<std::string> lines = {rows[i].name + ": " + rows[i].letters, rows[i].shape};
    for (const double number : rows[i].numbers) lines.push_back(fmt::format("{:.3f}", number));
    frame.boxes.push_back({x, 92, 112, 84, lines, shown == 1});
    arrow(150 + 30 * static_cast<double>(i - 1), 49, x + 56, 91, 1);
  }
  if (shown >= 1) frame.boxes.push_back({54, 53, 0, 15, {"layernorm, c_attn"}});
  wide(rows[4], 212, 2);
  arrow(58, 177, 120, 211, 2);
  arrow(180, 177, 180, 211, 2);
  wide(rows[5], 294, 3);
  arrow(180, 259, 180, 293, 3, "softmax");
  wide(rows[7], 376, 4);
  arrow(180, 341, 180, 375, 4, "times v, summed");
  arrow(342, 177, 326, 392, 4);
  wide(rows[8], 458, 5);
  arrow(180, 423, 180, 457, 5, "c_proj, + x, then + MLP");
  return frame;
}

}  // namespace

void show_block(kit::Demo& demo, const Impl& impl, const Transformer& model, const Tensor& ids, int64_t rows) {
  NoGrad guard;
  const int64_t t = ids.size(1), c = model.config.n_embd, heads = model.config.n_head, d = c / heads;
  const Tensor x = model.wte(ids) + model.wpe(Tensor::arange(t, i32));
  const Tensor qkv = model.h[0].attn->c_attn(model.h[0].ln_1(x));
  const auto part = [&](int64_t i) { return unsqueeze(slice(qkv, 2, i * c, i * c + d), 1); };  // of the first head
  const Tensor q = part(0), k = part(1), v = part(2), out = impl.attention(q, k, v);
  const Head head = computed(q, k, v);
  const int64_t length = model.config.block_size;
  const std::string stream = fmt::format("[{}, {}, {}]", rows, length, c);
  const std::string per_head = fmt::format("[{}, {}, {}, {}]", rows, heads, length, d);
  const std::string square = fmt::format("[{}, {}, {}, {}]", rows, heads, length, length);
  const std::string btc = "[B, T, C]", bhtd = "[B, H, T, D]", bhtt = "[B, H, T, T]";
  const std::vector<Row> table_rows = {{"x", btc, stream, "c = 0-2", first_three(x)},
                                       {"q", bhtd, per_head, "d = 0-2", first_three(q)},
                                       {"k", bhtd, per_head, "d = 0-2", first_three(k)},
                                       {"v", bhtd, per_head, "d = 0-2", first_three(v)},
                                       {"scores", bhtt, square, "s = 0-2", head.scores},
                                       {"weights p", bhtt, square, "s = 0-2", head.weights},
                                       {"v, channel 0", "", "", "s = 0-2", head.values},
                                       {"out", bhtd, per_head, "d = 0-2", first_three(out)},
                                       {"x, next", btc, stream, "c = 0-2", first_three(model.h[0](x))}};
  demo.say(
      "Block 1 from end to end, at the third position of this text, in the first head. It sees three positions, so it "
      "has three scores (q·k / √{}) and three weights. Of x, q, k, v and out the first three channels are shown:",
      d);
  const Three &p = head.weights, &of_v = head.values;
  const double channel_0 = first_three(out)[0];
  kit::Drawing drawing{
      "A block: its shapes, and three numbers at position 2", kit::kDrawingWidth, 506, {}, table(table_rows)};
  drawing.frames = {
      frame(table_rows, 0, "x: a vector of C numbers for each position."),
      frame(table_rows, 1, "Query, key and value of each position, for each head."),
      frame(table_rows, 2, fmt::format("Position 2 compares its query with the keys of 0, 1 and 2: q·k / √{}.", d)),
      frame(table_rows, 3, "The softmax makes weights of the scores. Their sum is 1."),
      frame(table_rows, 4,
            fmt::format("d = 0: {:.3f} · {:.3f} + {:.3f} · {:.3f} + {:.3f} · {:.3f} = {:.3f}.", p[0], of_v[0], p[1],
                        of_v[1], p[2], of_v[2], channel_0)),
      frame(table_rows, 5, "The heads side by side are [B, T, C] again. c_proj and the MLP add to x.")};
  demo.show(kit::drawn(drawing));
  demo.gap();
  double worst = 0;
  const std::vector<double> all = out.to_vector();
  for (size_t i = 0; i < head.out.size(); ++i) {
    worst = std::max(worst, std::abs(all[static_cast<size_t>(kPosition * d) + i] - head.out[i]));
  }
  demo.claim("out less the sum of p · v, worst of its channels", worst, "", kit::at_most(1e-4));
  demo.gap();
}

}  // namespace pg::lesson04
