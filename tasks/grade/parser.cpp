// What stands around values: lists, relations, sets; and the start of the parser.
#include "tasks/grade/parser.h"

#include <algorithm>
#include <array>

#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

constexpr std::pair<std::string_view, std::string_view> kRelations[] = {
    {"le", "<="},       {"leq", "<="},   {"leqslant", "<="}, {"ge", ">="},   {"geq", ">="},        {"ne", "!="},
    {"geqslant", ">="}, {"neq", "!="},   {"lt", "<"},        {"gt", ">"},    {"<", "<"},           {">", ">"},
    {"=", "="},         {"approx", "~"}, {"approxeq", "~"},  {"simeq", "~"}, {"thickapprox", "~"}, {"doteq", "~"}};

// Texts are elements of an answer, as in "x = even" or "red, blue". Elsewhere the letters of a text are factors, and a
// name stands on the left of a relation.
void settle_texts(Node& node, bool element) {
  if (node.kind == Kind::text && !element) {
    check(!node.children.empty(), "the text '{}' stands for a value", excerpt(node.name, 20));
    Node product = std::move(node.children[0]);
    node = std::move(product);
  }
  const bool holds = node.kind == Kind::list || node.kind == Kind::set || node.kind == Kind::group ||
                     node.kind == Kind::matrix || node.kind == Kind::relation || node.kind == Kind::member;
  for (size_t i = 0; i < node.children.size(); ++i) {
    Node& child = node.children[i];
    settle_texts(child, holds);
    if (child.kind == Kind::text && child.children.empty() && node.kind == Kind::relation &&
        i + 1 < node.children.size()) {
      child.kind = Kind::variable;
    }
  }
}

// "5 hours and 30 minutes": adds a smaller unit of the same kind to a quantity. False if the two are no such pair.
bool add_smaller_unit(Node& whole, const Node& part) {
  if (whole.kind != Kind::quantity || part.kind != Kind::quantity || whole.unit.dims != part.unit.dims) return false;
  const Node &x = whole.children[0], &y = part.children[0];
  if (x.kind != Kind::number || y.kind != Kind::number || x.number <= 0 || y.number <= 0) return false;
  const mpq_class ratio = part.unit.size / whole.unit.size;
  if (y.number * ratio >= 1 || ratio == 1) return false;
  whole.children[0] = make_number(x.number + y.number * ratio);
  return true;
}

}  // namespace

Node Parser::answer() {
  Node node = list(false);
  check(token_.kind == Token::Kind::end, "unexpected {} at byte {}", shown(), token_.begin);
  settle_texts(node, true);
  return node;
}

bool Parser::at_separator() const {
  if (token_.symbol(',') || token_.symbol(';')) return true;
  if (token_.kind == Token::Kind::word) return token_.value == "or" || token_.value == "and";
  if (token_.kind == Token::Kind::text) return inner(token_) == "or" || inner(token_) == "and";
  return token_.command("lor") || token_.command("vee");
}

Node Parser::list(bool inside) {
  std::vector<Node> items;
  items.push_back(statement());
  bool alternatives = false;
  while (at_separator()) {
    const bool joined = inner(token_) == "and", comma = token_.symbol(',') || token_.symbol(';');
    alternatives = alternatives || (!joined && !comma);
    advance();
    if (at_separator()) advance();  // "1, 2, and 3"
    if (!inside && comma && token_.kind == Token::Kind::end) break;
    Node item = statement();
    if (!joined || !add_smaller_unit(items.back(), item)) items.push_back(std::move(item));
  }
  if (items.size() == 1) return std::move(items[0]);
  const bool excludes =
      items[0].kind == Kind::relation && items[0].relations[0] == "!=" && items[0].children.size() == 2;
  for (size_t i = 1; excludes && i < items.size(); ++i) {  // "x \ne 1, 2"
    if (items[i].kind == Kind::relation) continue;
    Node relation = items[0];
    relation.children[1] = std::move(items[i]);
    items[i] = std::move(relation);
  }
  Node all = make(Kind::list, std::move(items));
  if (alternatives) all.name = "or";
  return all;
}

std::string_view Parser::relation() const {
  if (token_.kind != Token::Kind::symbol && token_.kind != Token::Kind::command) return {};
  for (const auto& [name, sign] : kRelations) {
    if (token_.value == name) return sign;
  }
  return {};
}

Node Parser::statement() {
  const Level level(*this);
  if (relation() == "~" || token_.command("sim")) advance();  // "\approx 3.5"
  if (const Token first = token_; take_word({"about", "approximately", "roughly"}) && at_element_end()) back_to(first);
  Node first = union_of_sets();
  if (token_.command("in")) {
    advance();
    Node set = union_of_sets();
    std::vector<Node> parts;
    parts.push_back(std::move(first));
    parts.push_back(std::move(set));
    return make(Kind::member, std::move(parts));
  }
  if (relation().empty()) return first;
  Node result;
  result.kind = Kind::relation;
  result.children.push_back(std::move(first));
  while (!relation().empty()) {
    result.relations.emplace_back(relation());
    advance();
    result.children.push_back(union_of_sets());
  }
  return result;
}

Node Parser::union_of_sets() {
  Node result = quantity();
  for (;;) {
    const bool joins = token_.command("cup") || token_.word("U") || token_.command("bigcup");
    if (!joins && !token_.command("setminus") && !token_.command("backslash")) return result;
    advance();
    if (joins && result.kind == Kind::set_union) {
      result.children.push_back(quantity());
      continue;
    }
    std::vector<Node> parts;
    parts.push_back(std::move(result));
    parts.push_back(quantity());
    result = make(joins ? Kind::set_union : Kind::set_difference, std::move(parts));
  }
}

Node parse_answer(std::string_view text, std::string_view whole, Work& work) {
  check(static_cast<int64_t>(text.size()) <= work.limits.bytes, "the text has {} bytes, more than {}", text.size(),
        work.limits.bytes);
  text = bare_answer(text);
  check(!text.empty(), "the text is empty");
  const auto begin = static_cast<size_t>(text.data() - whole.data());
  whole = whole.substr(0, begin + text.size());
  Node node = Parser(whole, begin, work).answer();
  const size_t at = text.find('$');
  const bool money = at == 0 && std::count(text.begin(), text.end(), '$') % 2 == 1;  // others are signs of mathematics
  if (!money || node.kind == Kind::quantity) return node;
  Node dollars;
  dollars.kind = Kind::quantity;
  dollars.unit = *parse_unit("dollar", false);
  dollars.children.push_back(std::move(node));
  return dollars;
}

}  // namespace pg::grading
