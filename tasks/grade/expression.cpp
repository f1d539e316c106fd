#include "tasks/grade/expression.h"

#include <algorithm>

#include "tasks/grade/extract.h"
#include "tasks/grade/parser.h"
#include "tensor/base/error.h"

namespace pg::grading {

using Kind = Node::Kind;

namespace {

constexpr std::string_view kLettersAndSpaces = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// The place of the } that closes the { at `begin`, or the end of the text.
size_t end_of_braces(std::string_view text, size_t begin) {
  int64_t depth = 0;
  size_t i = begin;
  for (; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      break;
    }
  }
  return std::min(i, text.size());
}

}  // namespace

std::string_view bare_answer(std::string_view text) {
  for (;;) {
    const size_t size = text.size();
    text = trimmed(text);
    while (text.size() > 1 && text.ends_with('.') && !text.ends_with(".."))
      text = trimmed(text.substr(0, text.size() - 1));
    for (const auto& [open, close] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}, {"**", "**"}}) {
      if (text.size() > open.size() + close.size() && text.starts_with(open) && text.ends_with(close)) {
        const std::string_view inside = text.substr(open.size(), text.size() - open.size() - close.size());
        if (inside.find(close) == std::string_view::npos && !inside.ends_with('\\')) text = inside;
      }
    }
    for (const std::string_view command : {"\\boxed{", "\\fbox{", "\\text{", "\\mbox{", "\\textbf{", "\\mathrm{",
                                           "\\textrm{", "\\mathbf{", "\\textit{"}) {
      if (!text.starts_with(command) || end_of_braces(text, command.size() - 1) + 1 != text.size()) continue;
      const std::string_view inside = text.substr(command.size(), text.size() - command.size() - 1);
      const bool box = command.ends_with("box{") && command != "\\mbox{";
      if (box || inside.find_first_not_of(kLettersAndSpaces) != std::string_view::npos) text = inside;
    }
    if (text.size() == size) return text;
  }
}

std::string to_text(const Node& node) {
  constexpr std::string_view kNames[] = {
      "number",   "variable", "pi",    "e",          "i",        "infinity", "sum",   "product",
      "quotient", "power",    "root",  "function",   "!",        "binomial", "abs",   "plus_minus",
      "percent",  "degrees",  "based", "text",       "quantity", "group",    "set",   "list",
      "ratio",    "sequence", "union", "difference", "matrix",   "relation", "member"};
  if (node.kind == Kind::number) return node.number.get_str();
  if (node.kind == Kind::variable) return node.name;
  std::string text(kNames[static_cast<size_t>(node.kind)]);
  if (node.kind == Kind::function || node.kind == Kind::based) text = node.name;
  if (node.kind == Kind::text) text += " '" + node.name + "'";
  if (node.kind == Kind::plus_minus) text = node.name;
  if (node.kind == Kind::group) text = std::string("group") + node.open + node.close;
  if (node.kind == Kind::matrix) text += " of " + node.number.get_str() + " columns";
  for (const auto& relation : node.relations) text += " " + relation;
  if (!node.unit.empty() && node.unit.size != 1) text += fmt::format(" {}", node.unit.size.get_str());
  for (const auto& [dimension, exponent] : node.unit.dims) text += fmt::format(" {}^{}", dimension, exponent);
  for (const Node& child : node.children) text.append(" ").append(to_text(child));
  return node.children.empty() && node.unit.empty() ? text : fmt::format("({})", text);
}

}  // namespace pg::grading
