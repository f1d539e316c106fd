#pragma once
// Chat templates: programs in Jinja that models carry, as transformers runs them (apply_chat_template).
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/json.h"

namespace pg::jinja {

struct Program;

class Template {
 public:
  // Error with the line for what is no Jinja or not supported: inheritance, includes, imports, calls with a body,
  // filter blocks, recursive loops.
  explicit Template(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;

  // The text for these variables, an object. Besides them a template knows range, namespace, dict and raise_exception.
  // strftime_now writes 26 July 2024, the date that Llama 3.1's own template has, so that the text is the same one
  // every day; most templates that call it read the variable "date_string" first. Error with the line for what Jinja
  // refuses, for a call of raise_exception, and for more than kMostSteps of work or kMostBytes of text
  // (tasks/jinja/value.h).
  std::string render(const Json& variables) const;
  // Whether an expression of the program has a variable of this name.
  bool reads(const std::string& variable) const;

 private:
  std::unique_ptr<Program> program_;
};

}  // namespace pg::jinja
