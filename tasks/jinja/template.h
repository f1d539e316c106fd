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

  // The text for these variables, an object. Known besides them are range, namespace, dict, raise_exception and
  // strftime_now; the last is an Error unless the variables have "date_string", because the same conversation must
  // give the same text every day. Error with the line for what Jinja refuses, for a call of raise_exception, and for
  // more than a million steps or 16 MiB of text.
  std::string render(const Json& variables) const;

 private:
  std::unique_ptr<std::vector<Statement>> statements_;
};

}  // namespace pg::jinja
