#include <algorithm>
#include <optional>

#include "tasks/grade/compare.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

Node scaled(const Node& node, const mpq_class& factor) {
  std::vector<Node> factors;
  factors.push_back(make_number(factor));
  factors.push_back(node);
  return make(Kind::product, std::move(factors));
}

// A value with its unit. Degrees and percent at the outside are units too.
struct Quantity {
  Node value;
  Unit unit;
  char sign = 0;  // '%' or 'd'
};
Quantity quantity_of(const Node& node) {
  if (node.kind == Kind::quantity) {
    Quantity inside = quantity_of(node.children[0]);
    inside.unit = node.unit;
    return inside;
  }
  if (node.kind == Kind::percent) return {node.children[0], {}, '%'};
  if (node.kind == Kind::degrees) return {node.children[0], {}, 'd'};
  if (node.kind == Kind::product && node.children.size() == 2 && node.children[0].kind == Kind::number &&
      (node.children[1].kind == Kind::degrees || node.children[1].kind == Kind::percent)) {  // a minus sign before
    Quantity inside = quantity_of(node.children[1]);
    inside.value = scaled(inside.value, node.children[0].number);
    return inside;
  }
  return {node, {}, 0};
}
bool is_radian(const Unit& unit) {
  return unit.dims.size() == 1 && unit.dims.begin()->second == 1 &&
         (unit.dims.begin()->first == "radian" || unit.dims.begin()->first == "rad");
}
// The value with its percent sign or degrees.
Node with_sign(const Quantity& quantity) {
  if (quantity.sign == 0) return quantity.value;
  std::vector<Node> one;
  one.push_back(quantity.value);
  return make(quantity.sign == '%' ? Kind::percent : Kind::degrees, std::move(one));
}
// "5 m" without \text is a product with a variable m: where the other side has a unit, m is one.
Quantity with_letter_unit(Quantity quantity) {
  const Node& node = quantity.value;
  if (!quantity.unit.empty() || quantity.sign != 0 || node.kind != Kind::product || node.children.size() != 2 ||
      node.children[0].kind != Kind::number || node.children[1].kind != Kind::variable) {
    return quantity;
  }
  const auto unit = parse_unit(node.children[1].name, true);
  if (!unit || unit->dims.begin()->first == node.children[1].name) {
    if (node.children[1].name != "m") return quantity;
  }
  return {node.children[0], *unit, 0};
}

bool has_structure(const Node& node) {
  return is_structure(node.kind) || node.kind == Kind::quantity || node.kind == Kind::plus_minus ||
         std::any_of(node.children.begin(), node.children.end(), has_structure);
}

Verdict compare_based(const Node& a, const Node& b, Work& work) {
  const bool both = a.kind == Kind::based && b.kind == Kind::based;
  if (both && a.children[0].number == b.children[0].number) {
    return a.number == b.number ? yes("the same digits in the same base") : no("different digits in the same base");
  }
  Verdict verdict = same_value(a, b, work);
  if (verdict.kind == Verdict::Kind::yes) return unknown("the same value, written in different bases");
  return verdict;
}

int infinite(const Node& node) {
  if (node.kind == Kind::infinity) return 1;
  if (node.kind == Kind::product && node.children.size() == 2 && node.children[0].kind == Kind::number &&
      node.children[0].number == -1) {
    return -infinite(node.children[1]);
  }
  if (node.kind == Kind::sum && node.children.size() == 1) return infinite(node.children[0]);
  return 0;
}
std::optional<Verdict> compare_infinities(const Node& a, const Node& b) {
  const int x = infinite(a), y = infinite(b);
  if (x == 0 && y == 0) return {};
  return x == y ? yes("the same infinity") : no("infinity and another value");
}

}  // namespace

Verdict compare_quantities(const Node& a, const Node& b, Work& work) {
  if (a.kind == Kind::based || b.kind == Kind::based) return compare_based(a, b, work);
  if (const auto verdict = compare_infinities(a, b)) return *verdict;
  Quantity x = quantity_of(a), y = quantity_of(b);
  if (!y.unit.empty()) x = with_letter_unit(std::move(x));
  if (!x.unit.empty()) y = with_letter_unit(std::move(y));
  for (const Node* value : {&x.value, &y.value}) {
    if (has_structure(*value)) return unknown("undecided: a structure inside a value");
  }
  const bool both_units = !x.unit.empty() && !y.unit.empty(), both_signs = x.sign != 0 && y.sign != 0;
  if ((both_units && x.unit.dims != y.unit.dims) || (both_signs && x.sign != y.sign)) {
    return no("the units measure different things");
  }
  for (const auto& [angle, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
    if (angle->sign != 'd' || !angle->unit.empty() || other->sign != 0 || !is_radian(other->unit)) continue;
    return same_value(with_sign(*angle), other->value, work);
  }
  if ((x.sign != 0 && y.sign == 0 && x.unit.empty() && !y.unit.empty()) ||
      (y.sign != 0 && x.sign == 0 && y.unit.empty() && !x.unit.empty())) {
    return no("the units measure different things");
  }
  if (both_units && x.sign != y.sign) return same_value(with_sign(x), with_sign(y), work);  // 20% of 20 people
  if (both_units && x.unit.size != y.unit.size) {
    x.value = scaled(x.value, x.unit.size);
    y.value = scaled(y.value, y.unit.size);
  }
  Verdict verdict = same_value(x.value, y.value, work);
  if (verdict.kind == Verdict::Kind::yes) {
    const bool missing = x.unit.empty() != y.unit.empty();
    if (missing && (x.unit.doubtful || y.unit.doubtful)) return unknown("a short word may be a unit or variables");
    if (missing || x.sign != y.sign) verdict.reason += ", one without a unit";
  }
  if (verdict.kind == Verdict::Kind::yes || x.sign == y.sign) return verdict;
  return same_value(with_sign(x), with_sign(y), work);  // 50% as 0.5 and 90 degrees as pi/2
}

}  // namespace pg::grading
