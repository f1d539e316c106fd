#include "tasks/grade/compare.h"

#include <algorithm>

#include "tasks/grade/intervals.h"
#include "tasks/grade/parser.h"
#include "tasks/grade/units.h"
#include "tensor/base/error.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

// One value of each ±: `upper` takes + for ± and - for ∓.
Node choose_sign(const Node& node, bool upper) {
  if (node.kind == Kind::plus_minus) {
    Node value = choose_sign(node.children[0], upper);
    return upper == (node.name == "+-") ? value : negated(std::move(value));
  }
  Node copy = node;
  for (Node& child : copy.children) child = choose_sign(child, upper);
  return copy;
}

// A value with a ± as the list of its two values; lists in lists become one list.
Node expanded(const Node& node) {
  if (node.kind == Kind::list || node.kind == Kind::set) {
    Node result = node;
    result.children.clear();
    for (const Node& child : node.children) {
      Node element = expanded(child);
      if (element.kind == Kind::list) {
        for (Node& part : element.children) result.children.push_back(std::move(part));
      } else {
        result.children.push_back(std::move(element));
      }
    }
    return result;
  }
  if (!has_kind(node, Kind::plus_minus)) return node;
  std::vector<Node> both;
  both.push_back(choose_sign(node, true));
  both.push_back(choose_sign(node, false));
  return make(Kind::list, std::move(both));
}

// Whether a relation is an equation, or states a rounded value.
bool is_equality(const std::string& sign) { return sign == "=" || sign == "~"; }

const Node* assigned(const Node& node) {
  if (node.kind != Kind::relation || node.relations.size() != 1 || !is_equality(node.relations[0])) return nullptr;
  if (is_name(node.children[0])) return &node.children[1];
  if (node.children[1].kind == Kind::variable) return node.children.data();
  return nullptr;
}
const Node& assigned_name(const Node& node) { return is_name(node.children[0]) ? node.children[0] : node.children[1]; }

// In an equation the letters of a text are factors.
const Node& letters_of(const Node& node) {
  return node.kind == Kind::text && !node.children.empty() ? node.children[0] : node;
}
Node difference(const Node& a, const Node& b) {
  std::vector<Node> terms;
  terms.push_back(letters_of(a));
  terms.push_back(negated(letters_of(b)));
  return make(Kind::sum, std::move(terms));
}

class Comparer {
 public:
  explicit Comparer(Work& work) : work_(work) {}

  Verdict compare(const Node& a, const Node& b) {
    if (++comparisons_ > 2000) return unknown("more than 2000 comparisons");
    for (const auto& [member, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (member->kind == Kind::member && member->children[1].kind == Kind::set && other->kind != Kind::member) {
        return compare(member->children[1], *other);
      }
    }
    if (a.kind == Kind::list || a.kind == Kind::set || b.kind == Kind::list || b.kind == Kind::set) {
      return compare_lists(a, b);
    }
    if (const auto verdict = compare_sets(a, b)) return *verdict;
    if (a.kind == Kind::relation || b.kind == Kind::relation) return compare_relations(a, b);
    if (a.kind == Kind::member || b.kind == Kind::member) return no("a set and a value");
    if (a.kind == Kind::text || b.kind == Kind::text) return compare_texts(a, b);
    if (a.kind == Kind::ratio || b.kind == Kind::ratio) return compare_ratios(a, b);
    if (is_structure(a.kind) || is_structure(b.kind)) return compare_structures(a, b);
    return compare_quantities(a, b, work_);
  }

 private:
  // A text equals the same words, up to case where its letters are no variables. The letters of "ab" may also be
  // factors.
  Verdict compare_texts(const Node& a, const Node& b) {
    const Verdict differ{Verdict::Kind::no, "the words differ", "words"};
    if (a.kind != b.kind) {
      const Node &text = a.kind == Kind::text ? a : b, &other = a.kind == Kind::text ? b : a;
      return text.children.empty() ? differ : compare(text.children[0], other);
    }
    const bool letters =
        is_product_of_letters(a.name) && is_product_of_letters(b.name) && !a.children.empty() && !b.children.empty();
    if (a.name == b.name || (!letters && plain_text(a.name) == plain_text(b.name))) {
      return {Verdict::Kind::yes, "the same text", "text"};
    }
    if (!letters || lower(a.name) != a.name || lower(b.name) != b.name) return differ;
    return compare(a.children[0], b.children[0]);
  }

  Verdict compare_elements(const std::vector<Node>& a, const std::vector<Node>& b, std::string_view what) {
    if (a.size() != b.size()) return no(fmt::format("{} of different lengths", what));
    std::optional<Verdict> undecided;
    for (size_t i = 0; i < a.size(); ++i) {
      Verdict verdict = compare(a[i], b[i]);
      if (verdict.kind == Verdict::Kind::yes) continue;
      verdict.reason = fmt::format("element {}: {}", i + 1, verdict.reason);
      if (verdict.kind == Verdict::Kind::no) return verdict;
      undecided = verdict;
    }
    return undecided ? *undecided : yes(fmt::format("{} are equal", what));
  }

  // Lists have their elements as often as written; sets count an element once.
  Verdict compare_lists(const Node& a, const Node& b) {
    const bool a_many = a.kind == Kind::list || a.kind == Kind::set,
               b_many = b.kind == Kind::list || b.kind == Kind::set;
    if (const auto x = real_set(a, true, work_), y = real_set(b, true, work_);
        x && y && !(a_many && b_many && (a.kind == Kind::set || b.kind == Kind::set)) &&
        (has_kind(a, Kind::relation) || has_kind(b, Kind::relation)) && (is_ordering(a) || is_ordering(b))) {
      return compare_real_sets(*x, *y);
    }
    if (!a_many || !b_many) return compare_list_with_one(a_many ? a : b, a_many ? b : a);
    const bool as_sets = a.kind == Kind::set || b.kind == Kind::set;
    if (!as_sets && a.children.size() != b.children.size()) return no("lists of different lengths");
    if (!as_sets && (is_sequence(a) || is_sequence(b))) return compare_elements(a.children, b.children, "lists");
    if (a.children.size() * b.children.size() > 1000) return unknown("long lists");
    bool undecided = false;
    std::vector<bool> used(b.children.size(), false), matched(b.children.size(), false);
    for (const Node& element : a.children) {
      bool found = false, unsure = false;
      for (size_t j = 0; j < b.children.size() && !found; ++j) {
        if (used[j] && !as_sets) continue;
        const Verdict verdict = compare(element, b.children[j]);
        unsure = unsure || verdict.kind == Verdict::Kind::unknown;
        if (verdict.kind != Verdict::Kind::yes) continue;
        found = used[j] = true;
      }
      if (!found && !unsure) return no("an element is in one list only");
      undecided = undecided || !found;
    }
    if (undecided) return unknown("an element is undecided");
    if (as_sets) {
      for (size_t j = 0; j < b.children.size(); ++j) {
        if (used[j]) continue;
        bool found = false;
        for (const Node& element : a.children)
          found = found || compare(element, b.children[j]).kind == Verdict::Kind::yes;
        if (!found) return no("an element is in one set only");
      }
    }
    return yes("the same elements");
  }

  // Texts, capital letters and what has "..." are listed in an order.
  static bool is_sequence(const Node& list) {
    const auto is_dots = [](const Node& n) { return n.kind == Kind::text && n.name == "..."; };
    const auto is_named = [](const Node& n) {
      return n.kind == Kind::text || (n.kind == Kind::variable && n.name[0] >= 'A' && n.name[0] <= 'Z');
    };
    return std::any_of(list.children.begin(), list.children.end(), is_dots) ||
           std::all_of(list.children.begin(), list.children.end(), is_named);
  }

  static bool is_ordering(const Node& node) {
    if (node.kind == Kind::relation) return !is_equality(node.relations[0]);
    if (node.kind == Kind::set_union || node.kind == Kind::set_difference || node.kind == Kind::member) return true;
    return node.kind == Kind::list && std::any_of(node.children.begin(), node.children.end(), is_ordering);
  }

  Verdict compare_list_with_one(const Node& many, const Node& one) {
    if (many.children.size() == 1) return compare(many.children[0], one);
    if (one.kind == Kind::group && many.kind == Kind::list && one.open == '(') {  // x = 3, y = 4 and (3, 4)
      std::vector<std::pair<std::string, const Node*>> values;
      for (const Node& equation : many.children) {
        const Node* value = assigned(equation);
        if (value == nullptr) return no("a list and a tuple");
        values.emplace_back(assigned_name(equation).name, value);
      }
      std::sort(values.begin(), values.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
      std::vector<Node> elements;
      for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && values[i].first == values[i - 1].first) return no("a list and a tuple");
        elements.push_back(*values[i].second);
      }
      return compare_elements(elements, one.children, "tuples");
    }
    if (const Node* value = assigned(one);
        value != nullptr && (value->kind == Kind::set || value->kind == Kind::list)) {
      return compare(many, *value);
    }
    return no("several answers and one");
  }

  // Nothing if the two are not sets of real numbers, or are both pairs or closed brackets.
  std::optional<Verdict> compare_sets(const Node& a, const Node& b) {
    const auto open_to_it = [](const Node& n) {
      return n.kind == Kind::group || n.kind == Kind::set_union || n.kind == Kind::set_difference ||
             n.kind == Kind::member || n.kind == Kind::relation;
    };
    if (!open_to_it(a) || !open_to_it(b)) return {};
    const auto equation = [](const Node& n) { return n.kind == Kind::relation && is_equality(n.relations[0]); };
    if (equation(a) || equation(b)) return {};
    const auto one_variable = [&](const Node& n) { return n.kind != Kind::group; };
    const bool plain = one_variable(a) || one_variable(b);
    const auto x = real_set(a, plain, work_), y = real_set(b, plain, work_);
    if (!x || !y) return {};
    return compare_real_sets(*x, *y);
  }

  Verdict compare_real_sets(const RealSet& x, const RealSet& y) {
    if (!x.variable.empty() && !y.variable.empty() && x.variable != y.variable) {
      return no("the variables have different names");
    }
    if (x.parts.size() != y.parts.size()) return no("different numbers of intervals");
    for (size_t i = 0; i < x.parts.size(); ++i) {
      const Interval &p = x.parts[i], &q = y.parts[i];
      if (p.low_closed != q.low_closed || p.high_closed != q.high_closed) return no("the brackets differ");
      for (const auto& [left, right] : {std::pair(&p.low, &q.low), std::pair(&p.high, &q.high)}) {
        Verdict verdict = compare_quantities(*left, *right, work_);
        if (verdict.kind != Verdict::Kind::yes) {
          verdict.reason = "an end: " + verdict.reason;
          return verdict;
        }
      }
    }
    return yes("the same set of real numbers");
  }

  Verdict compare_relations(const Node& a, const Node& b) {
    if (a.kind != Kind::relation) return compare_equation_with_value(b, a);
    if (b.kind != Kind::relation) return compare_equation_with_value(a, b);
    const Node *x = assigned(a), *y = assigned(b);
    if (x != nullptr && y != nullptr && to_text(assigned_name(a)) == to_text(assigned_name(b))) {
      const Verdict verdict = compare(*x, *y);
      if (verdict.kind != Verdict::Kind::no || x->kind == Kind::text || y->kind == Kind::text) return verdict;
    }
    if (a.relations.size() != b.relations.size()) return no("chains of different lengths");
    if (a.relations.size() > 1) {
      const Verdict forward = compare_elements(a.children, b.children, "chains");
      if (a.relations == b.relations && forward.kind == Verdict::Kind::yes) return forward;
      std::vector<Node> sides = b.children;
      std::reverse(sides.begin(), sides.end());
      std::vector<std::string> signs;
      for (size_t i = b.relations.size(); i-- > 0;) signs.push_back(turned(b.relations[i]));
      if (signs == a.relations) return compare_elements(a.children, sides, "chains");
      return a.relations == b.relations ? forward : no("the signs of relation differ");
    }
    if (a.relations == b.relations) {
      const Verdict sides = compare_elements(a.children, b.children, "equations");
      if (sides.kind == Verdict::Kind::yes) return sides;
    }
    for (const Node* node : {&a, &b}) {
      for (const Node& side : node->children) {
        if (is_structure(side.kind) || side.kind == Kind::quantity)
          return unknown("undecided: an equation of structures");
      }
    }
    const std::string sign = a.relations[0];
    if (sign == "~" || b.relations[0] == "~") return unknown("undecided: values that are only about equal");
    if (sign == "=" || sign == "!=") {
      if (b.relations[0] != sign) return no("the signs of relation differ");
      return proportional(difference(a.children[0], a.children[1]), difference(b.children[0], b.children[1]), false,
                          work_);
    }
    const Node left = difference(a.children[0], a.children[1]);
    if (b.relations[0] == sign) {
      return proportional(left, difference(b.children[0], b.children[1]), true, work_);
    }
    if (b.relations[0] == turned(sign)) {
      return proportional(left, difference(b.children[1], b.children[0]), true, work_);
    }
    return no("the signs of relation differ");
  }

  static std::string turned(const std::string& sign) {
    std::string result = sign;
    if (sign[0] == '<') result[0] = '>';
    if (sign[0] == '>') result[0] = '<';
    return result;
  }

  Verdict compare_equation_with_value(const Node& equation, const Node& value) {
    if (value.kind == Kind::set_union || value.kind == Kind::member) return no("an equation and a set");
    if (const Node* right = assigned(equation)) {
      Verdict verdict = compare(*right, value);
      if (verdict.kind == Verdict::Kind::yes) verdict.reason = "the value of the equation: " + verdict.reason;
      return verdict;
    }
    if (equation.relations.size() != 1 || equation.relations[0] != "=") return no("a relation and a value");
    if (compare(equation.children[1], value).kind == Verdict::Kind::yes) {
      return unknown("the left side of the equation is no name");
    }
    return no("an equation and a value");
  }

  Verdict compare_ratios(const Node& a, const Node& b) {
    if (a.kind == Kind::ratio && b.kind == Kind::ratio) return compare_elements(a.children, b.children, "ratios");
    const Node &ratio = a.kind == Kind::ratio ? a : b, &other = a.kind == Kind::ratio ? b : a;
    if (ratio.children.size() != 2 || is_structure(other.kind)) return no("a ratio and another form");
    return compare(make(Kind::quotient, ratio.children), other);
  }

  Verdict compare_structures(const Node& a, const Node& b) {
    if (a.kind != b.kind) return no("different forms of answer");
    if (a.kind == Kind::group && (a.open != b.open || a.close != b.close)) return no("the brackets differ");
    if (a.kind == Kind::matrix && (a.number != b.number || a.children.size() != b.children.size())) {
      return no("matrices of different sizes");
    }
    if (a.kind == Kind::set_union || a.kind == Kind::set_difference) {
      return unknown("undecided: a set whose ends have no order");
    }
    const char* what = a.kind == Kind::group ? "tuples" : a.kind == Kind::matrix ? "matrices" : "sequences";
    return compare_elements(a.children, b.children, what);
  }

  Work& work_;
  int comparisons_ = 0;
};

}  // namespace

bool is_name(const Node& node) {
  if (node.kind == Kind::variable) return true;
  if (node.kind != Kind::product || node.children.size() != 2 || node.children[0].kind != Kind::variable) return false;
  const Node &function = node.children[0], &argument = node.children[1];
  return (argument.kind == Kind::variable || argument.kind == Kind::group || argument.kind == Kind::number) &&
         std::string_view("fghpFGHPTuvyS").find(function.name[0]) != std::string_view::npos &&
         function.name.size() == 1;
}

bool has_kind(const Node& node, Kind kind) {
  if (node.kind == kind) return true;
  return std::any_of(node.children.begin(), node.children.end(), [&](const Node& c) { return has_kind(c, kind); });
}

Verdict compare_answers(const Node& a, const Node& b, Work& work) {
  return Comparer(work).compare(expanded(a), expanded(b));
}

}  // namespace pg::grading
