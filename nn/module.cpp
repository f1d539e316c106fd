// The tree of modules and the names of their parameters.
#include "nn/module.h"

#include <fmt/format.h>

#include <map>

namespace pg {

void Visitor::operator()(const std::string& name, Tensor& parameter) {
  if (parameter.defined() && on_parameter_) on_parameter_(prefix_ + name, parameter);
}

void Visitor::operator()(const std::string& name, Module& child) {
  const std::string outer = prefix_;
  prefix_ += name + ".";
  if (on_module_) on_module_(child);
  child.visit(*this);
  prefix_ = outer;
}

void Module::train(bool on) {
  training = on;
  Visitor visitor({}, [on](Module& child) { child.training = on; });
  visit(visitor);
}

void Module::set_dropout_stream(const std::shared_ptr<Generator>& stream) {
  dropout_stream = stream;
  Visitor visitor({}, [&](Module& child) { child.dropout_stream = stream; });
  visit(visitor);
}

void Module::to(Device device) {
  Visitor visitor([&](const std::string&, Tensor& parameter) {
    if (parameter.device() == device) return;
    parameter = parameter.detach().to(device).set_requires_grad(parameter.requires_grad());
  });
  visit(visitor);
}

NamedTensors named_parameters(Module& module) {
  NamedTensors result;
  Visitor visitor([&](const std::string& name, Tensor& parameter) { result.emplace_back(name, parameter); });
  module.visit(visitor);
  return result;
}

NamedTensors trainable_parameters(Module& module) {
  NamedTensors result = named_parameters(module);
  std::erase_if(result, [](const auto& entry) { return !entry.second.requires_grad(); });
  return result;
}

int64_t count_parameters(Module& module) {
  int64_t count = 0;
  for (const auto& [name, parameter] : named_parameters(module)) count += parameter.numel();
  return count;
}

NamedTensors state_dict(Module& module) {
  Visitor visitor({}, [](Module& child) { child.check_saved("state_dict"); });
  module.visit(visitor);
  NamedTensors result = named_parameters(module);
  for (auto& [name, parameter] : result) parameter = parameter.detach();
  return result;
}

void load_state_dict(Module& module, const NamedTensors& state) {
  std::map<std::string, const Tensor*> given;
  for (const auto& [name, tensor] : state) given[name] = &tensor;
  const NamedTensors parameters = named_parameters(module);

  std::string problems;
  const auto complain = [&](const std::string& text) { problems += (problems.empty() ? "" : "; ") + text; };
  for (const auto& [name, parameter] : parameters) {
    const auto found = given.find(name);
    if (found == given.end()) {
      complain(fmt::format("'{}' is missing", name));
      continue;
    }
    const Tensor& value = *found->second;
    if (value.shape() != parameter.shape()) {
      complain(fmt::format("'{}' is {}, expected {}", name, value.shape(), parameter.shape()));
    } else if (!is_floating(value.dtype())) {
      complain(fmt::format("'{}' is {}, expected {}", name, value.dtype(), parameter.dtype()));
    }
    given.erase(found);
  }
  for (const auto& [name, tensor] : given) complain(fmt::format("'{}' is unexpected", name));
  check(problems.empty(), "load_state_dict: {}", problems);

  given.clear();
  for (const auto& [name, tensor] : state) given[name] = &tensor;
  for (const auto& [name, parameter] : parameters) {
    parameter.detach().copy_from(*given[name]);
    ++parameter.storage()->version;
  }
}

}  // namespace pg
