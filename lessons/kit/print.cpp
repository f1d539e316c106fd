// Tensors as text for learners.
#include "lessons/kit/print.h"

#include <cmath>
#include <cstdio>
#include <ostream>

#include "tensor/format.h"

namespace pg::kit {
namespace {

constexpr int64_t kMostLines = 19;  // beside the first one
constexpr size_t kWidth = 80;
constexpr int64_t kEdge = 3;  // indices that are shown at each end of a large dimension
constexpr int64_t kGap = -1;

// The indices of a dimension that are shown, kGap where some are left out: the first and last `edge`; with 0 the first
// one alone. All of them if a gap would save nothing.
std::vector<int64_t> shown(int64_t size, int64_t edge) {
  const int64_t first = std::max<int64_t>(edge, 1);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) {
    if (i == first && size > first + edge + 1) {
      indices.push_back(kGap);
      i = size - edge;
    }
    if (i < size) indices.push_back(i);
  }
  return indices;
}

double element(const View& x, int64_t offset) {
  return visit(x.dtype, [&]<class T>(std::type_identity<T>) {
    return static_cast<double>(static_cast<computes_t<T>>(x.as<T>()[offset]));
  });
}

struct Row {
  std::string label;  // "[0, 2]", or "..." for the rows that are left out
  int64_t offset = kGap;
};

// The rows of x: every index of the leading dimensions, as far as the lines suffice.
class Rows {
 public:
  explicit Rows(const View& x) : x_(x) {
    int64_t all = 1;
    for (int d = 0; d + 1 < x.rank(); ++d) all *= x.shape[d];
    std::vector<int64_t> edges;
    for (int d = 0; d + 1 < x.rank(); ++d) {
      edges.push_back(all <= kMostLines ? all : kEdge);
      kept_.push_back(shown(x.shape[d], edges.back()));
    }
    while (lines(0) > kMostLines) {
      const size_t d = std::max_element(edges.begin(), edges.end()) - edges.begin();  // the outermost of equal ones
      kept_[d] = shown(x.shape[static_cast<int>(d)], --edges[d]);
    }
    append("", 0, 0);
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  int64_t lines(size_t d) const {
    if (d == kept_.size()) return 1;
    int64_t sum = 0;
    for (const int64_t i : kept_[d]) sum += i == kGap ? 1 : lines(d + 1);
    return sum;
  }
  void append(const std::string& index, int64_t offset, size_t d) {
    if (d == kept_.size()) return rows_.push_back({index.empty() ? "" : "[" + index + "]", offset});
    for (const int64_t i : kept_[d]) {
      if (i != kGap) {
        append(index + (d ? ", " : "") + std::to_string(i), offset + i * x_.strides[static_cast<int>(d)], d + 1);
      } else if (rows_.back().offset != kGap) {
        rows_.push_back({"...", kGap});
      }
    }
  }

  const View& x_;
  std::vector<std::vector<int64_t>> kept_;  // per leading dimension
  std::vector<Row> rows_;
};

// The numbers at `columns` of the rows as lines, all numbers equally wide.
std::vector<std::string> lines_of(const View& x, const std::vector<Row>& rows, const std::vector<int64_t>& columns) {
  const int64_t stride = x.rank() ? x.strides[x.rank() - 1] : 0;
  const auto value = [&](const Row& row, int64_t column) { return element(x, row.offset + column * stride); };
  const auto each = [&](const auto& f) {
    for (const Row& row : rows) {
      for (const int64_t column : columns) {
        if (row.offset != kGap && column != kGap) f(value(row, column));
      }
    }
  };
  bool whole = true;  // then all digits are shown
  each([&](double v) { whole &= !std::isfinite(v) || (v == std::round(v) && std::abs(v) < 1e10); });
  const auto text = [&](double v) {
    return whole && std::isfinite(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.4g}", v);
  };
  size_t width = 0, label = 0;
  each([&](double v) { width = std::max(width, text(v).size()); });
  for (const Row& row : rows) label = std::max(label, row.label.size());
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line = label ? fmt::format("  {:{}}", row.label, row.offset == kGap ? 0 : label) : "";
    for (const int64_t column : columns) {
      if (row.offset == kGap) break;
      line += column == kGap ? "  ..." : fmt::format("  {:>{}}", text(value(row, column)), width);
    }
    lines.push_back(line);
  }
  return lines;
}

std::string numbers(const View& x) {
  if (x.rank() == 0) return ": " + lines_of(x, {{"", 0}}, {0}).front().substr(2);
  const std::vector<Row> rows = Rows(x).rows();
  const int64_t size = x.shape.back();
  std::vector<std::string> lines;
  const auto fit = [&] {
    return std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return line.size() <= kWidth; });
  };
  constexpr int64_t kMostColumns = static_cast<int64_t>(kWidth) / 3;  // a digit and two spaces each
  if (size <= kMostColumns) lines = lines_of(x, rows, shown(size, size));
  for (int64_t edge = kEdge; edge >= 0 && (lines.empty() || !fit()); --edge) {
    lines = lines_of(x, rows, shown(size, edge));
  }
  std::string text;
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

std::string described(const View& x, const std::string& remarks) {
  std::string text = fmt::format("{} {}{}", x.shape, x.dtype, remarks);
  if (x.numel() == 0) return text + ", no elements";
  if (!x.contiguous()) text += fmt::format(", strides {}", x.strides);
  return text + numbers(x);
}

}  // namespace

std::string text_of(const View& x) { return described(x, ""); }

std::string text_of(const Tensor& x) {
  if (!x.defined()) return "an undefined tensor";
  const std::string where = x.device().on_host() ? "" : ", on " + to_string(x.device());
  const std::string tape = x.requires_grad() ? ", on the tape" : "";
  const Tensor here = x.device().on_host() ? x : x.detach().to(Device{});
  return described(here.view(), where + tape);
}

void print_text(const std::string& text) {
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace pg::kit

namespace pg {

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << kit::text_of(x); }
std::ostream& operator<<(std::ostream& out, const View& x) { return out << kit::text_of(x); }

}  // namespace pg
