#include "tasks/grade/expression.h"

#include "tasks/grade/extract.h"
#include "tasks/grade/parser.h"
#include "tensor/base/error.h"

namespace pg::grading {

using Kind = Node::Kind;

std::string_view bare_answer(std::string_view text) {
  for (;;) {
    const size_t size = text.size();
    text = trimmed(text);
    while (text.size() > 1 && text.ends_with('.') && !text.ends_with(".."))
      text = trimmed(text.substr(0, text.size() - 1));
    for (const auto& [open, close] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}}) {
      if (text.size() >= open.size() + close.size() && text.starts_with(open) && text.ends_with(close)) {
        const std::string_view inside = text.substr(open.size(), text.size() - open.size() - close.size());
        if (inside.find(close) == std::string_view::npos && !inside.ends_with('\\')) text = inside;
      }
    }
    for (const std::string_view command : {"\\boxed{", "\\fbox{", "\\text{", "\\mbox{", "\\textbf{", "\\mathrm{",
                                           "\\textrm{", "\\mathbf{", "\\textit{"}) {
      if (!text.starts_with(command) || !text.ends_with('}')) continue;
      int64_t depth = 0;
      size_t i = command.size() - 1;
      for (; i < text.size(); ++i) {
        if (text[i] == '\\') {
          ++i;
        } else if (text[i] == '{') {
          ++depth;
        } else if (text[i] == '}' && --depth == 0) {
          break;
        }
      }
      if (i + 1 == text.size()) text = text.substr(command.size(), i - command.size());
    }
    if (text.size() == size) return text;
  }
}

std::string to_text(const Node& node) {
  constexpr std::string_view kNames[] = {
      "number", "variable", "pi",   "e",        "i",        "infinity",   "sum",     "product",  "quotient", "power",
      "root",   "function", "!",    "binomial", "abs",      "plus_minus", "percent", "degrees",  "based",    "quantity",
      "group",  "set",      "list", "ratio",    "sequence", "union",      "matrix",  "relation", "member"};
  if (node.kind == Kind::number) return node.number.get_str();
  if (node.kind == Kind::variable) return node.name;
  std::string text(kNames[static_cast<size_t>(node.kind)]);
  if (node.kind == Kind::function || node.kind == Kind::based) text = node.name;
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
