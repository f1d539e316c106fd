// Finds an expression of given numbers that equals a target, by trying all of them.
#include <array>
#include <bit>

#include "tasks/puzzles/countdown.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr size_t kMostNumbers = 6;

// A number, or two expressions with a sign between them.
struct Node {
  Fraction value;
  char op = 0;  // 0: a number
  const Node *left = nullptr, *right = nullptr;
};

int precedence(char op) { return op == '+' || op == '-' ? 1 : op == 0 ? 3 : 2; }

// With the parentheses that are needed.
std::string text_of(const Node& node) {
  if (node.op == 0) return fmt::format("{}", node.value.numerator);
  const auto part = [&](const Node& child, bool after_inverse) {
    const int inner = precedence(child.op), outer = precedence(node.op);
    const bool needs = inner < outer || (after_inverse && inner == outer);
    return fmt::format(fmt::runtime(needs ? "({})" : "{}"), text_of(child));
  };
  return fmt::format("{}{}{}", part(*node.left, false), node.op, part(*node.right, node.op == '-' || node.op == '/'));
}

using Nodes = std::array<Node, kMostNumbers>;

// Combines two of the first `count` nodes in every way until one is left. Differences are taken as positive: with the
// sign moved outwards every value is reached up to its sign, and the target is positive.
std::optional<std::string> search(const Nodes& nodes, size_t count, int64_t target) {
  if (count == 1) return nodes[0].value == target ? std::optional(text_of(nodes[0])) : std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const Node a = nodes[i], b = nodes[j];
      Nodes rest;
      size_t kept = 0;
      for (size_t k = 0; k < count; ++k) {
        if (k != i && k != j) rest[kept++] = nodes[k];
      }
      for (const char op : {'+', '*', '-', '/'}) {
        if (i > j && (op == '+' || op == '*')) continue;  // the same as with i < j
        const auto value = combined(a.value, op, b.value);
        if (!value || value->numerator < 0) continue;
        rest[kept] = {*value, op, &a, &b};
        if (auto found = search(rest, kept + 1, target)) return found;
      }
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> solve_countdown(std::span<const int64_t> numbers, int64_t target, bool all) {
  check(!numbers.empty() && numbers.size() <= kMostNumbers, "solve_countdown: 1 to {} numbers, got {}", kMostNumbers,
        numbers.size());
  check(target > 0, "solve_countdown: the target must be positive, got {}", target);
  for (const int64_t n : numbers) check(n >= 1 && n <= 100, "solve_countdown: numbers are 1 to 100, got {}", n);
  const unsigned end = 1U << numbers.size();
  for (size_t size = all ? numbers.size() : 1; size <= numbers.size(); ++size) {
    for (unsigned subset = 1; subset < end; ++subset) {
      if (static_cast<size_t>(std::popcount(subset)) != size) continue;
      Nodes nodes;
      size_t count = 0;
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (subset >> i & 1) nodes[count++].value = {numbers[i], 1};
      }
      if (auto found = search(nodes, count, target)) return found;
    }
  }
  return {};
}

}  // namespace pg
