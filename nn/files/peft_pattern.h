#pragma once
// rank_pattern and alpha_pattern of PEFT's adapter_config.json: numbers for some modules.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/base/json.h"

struct pcre2_real_code_8;  // of pcre2.h

namespace pg {

// An object {key: number}. Its keys are regular expressions, which PCRE2 matches.
class PeftPattern {
 public:
  // `what` names the object in messages. Error for a key that is no regular expression.
  PeftPattern(const Json& object, std::string what);
  // The number for a module by PEFT's rule (get_pattern_key in peft/utils/other.py of peft 0.21): that of the first key
  // for which Python's re.match(r"(.*\.)?(KEY)$", module) matches. None if no key does. Error for a key that needs too
  // many steps.
  std::optional<double> value(const std::string& module) const;

 private:
  struct Row {
    std::string key;
    std::shared_ptr<pcre2_real_code_8> code;
    double value = 0;
  };
  std::string what_;
  std::vector<Row> rows_;
};

}  // namespace pg
