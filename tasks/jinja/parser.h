#pragma once
// The syntax tree of a chat template.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/jinja/value.h"

namespace pg::jinja {

struct Expression;
using ExpressionPtr = std::shared_ptr<Expression>;  // the b of a < b < c is part of two comparisons

struct Expression {
  enum class Kind : uint8_t {
    constant,     // value
    name,         // text
    list,         // parts
    dict,         // parts: key, value, key, value …
    member,       // parts[0].text
    index,        // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]
    call,         // parts[0](parts[1], …, named)
    filter,       // parts[0] | text(parts[1], …, named)
    test,         // parts[0] is text(parts[1], …)
    negation,     // not parts[0]
    sign,         // text, + or -, and parts[0]
    binary,       // parts[0] text parts[1], where text is an operator, "and", "or", "in"
    conditional,  // parts[0] if parts[1] else parts[2]
  };
  Kind kind;
  int line = 1;
  int depth = 1;  // of the tree
  std::string text = {};
  Value value = {};
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};
};

struct Statement {
  enum class Kind : uint8_t {
    text,        // text
    output,      // {{ value }}
    condition,   // if value: body, else orelse
    loop,        // for names in value if filter: body, else orelse
    assign,      // set names[0] = value; set names[0].names[1] = value if `on_member`
    capture,     // set names[0]: what body writes
    macro,       // names[0](names[1] = defaults[0], …): body
    generation,  // body
    leave,       // break
    resume,      // continue
  };
  Kind kind;
  int line = 1;
  std::string text = {};
  std::vector<std::string> names = {};
  bool on_member = false;
  ExpressionPtr value = nullptr, filter = nullptr;
  std::vector<ExpressionPtr> defaults = {};  // null: none
  std::vector<Statement> body = {}, orelse = {};
};

// A template's statements, and the names of all variables in its expressions.
struct Program {
  std::vector<Statement> statements;
  std::set<std::string> names;
};
// Parses a template. Error with the line for what is no Jinja, or is none of these constructs.
Program parse_template(std::string_view source);

}  // namespace pg::jinja
