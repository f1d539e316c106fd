#pragma once
// Chat templates: programs in Jinja that models carry, as transformers runs them (apply_chat_template).
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/json.h"

namespace pg::jinja {

struct Statement;

class Template {
 public:
  // Error with the line for what is no Jinja or not supported: inheritance, includes, imports, calls with a body,
  // filter blocks, recursive loops.
  explicit Template(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;

  // The text for these variables, an object. Besides them a template knows range, namespace, dict and raise_exception.
  // A call of strftime_now is an Error, because the text would be another one every day; templates that call it read
  // the variable "date_string" first. Error with the line for what Jinja refuses, for a call of raise_exception, and
  // for more than kMostSteps of work or kMostBytes of text (tasks/jinja/value.h).
  std::string render(const Json& variables) const;

 private:
  std::unique_ptr<std::vector<Statement>> statements_;
};

}  // namespace pg::jinja
