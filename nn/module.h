#pragma once
// A module holds parameters and child modules, and names them in visit(). Everything else that walks a model (counting,
// state dicts, checkpoints, parameter slabs) is one visit; the order of names is always the order in visit().
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/tensor.h"

namespace pg {

struct Module;

// Tensors by name in a defined order (that of the parameters, or of a file).
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The argument of visit(). Names of children are joined with dots: "h.0.attn.c_attn.weight".
class Visitor {
 public:
  using OnParameter = std::function<void(const std::string& name, Tensor& parameter)>;
  using OnModule = std::function<void(Module&)>;
  explicit Visitor(OnParameter on_parameter, OnModule on_module = {})
      : on_parameter_(std::move(on_parameter)), on_module_(std::move(on_module)) {}

  void operator()(const std::string& name, Tensor& parameter);  // skips an undefined one (a bias left out)
  void operator()(const std::string& name, Module& child);

 private:
  std::string prefix_;
  OnParameter on_parameter_;
  OnModule on_module_;
};

struct Module {
  bool training = true;                       // dropout is active only then
  std::shared_ptr<Generator> dropout_stream;  // where dropout draws its masks, one for all modules of a model

  virtual ~Module() = default;
  // Names every parameter and every child, each once: `visitor("weight", weight); visitor("attn", attn);`
  virtual void visit(Visitor& visitor) = 0;

  void train(bool on = true);  // sets this module and all its descendants
  void eval() { train(false); }
  void set_dropout_stream(const std::shared_ptr<Generator>& stream);  // of this module and all its descendants
  // Throws Error "OWNER: …", with the argument `owner`, if the module has values that a state dict does not hold: 8-bit
  // weights.
  virtual void check_saved(const char* owner) const { static_cast<void>(owner); }
  // Moves every parameter to the device; must be called before an optimizer or a slab holds them. Gradients are not
  // moved.
  void to(Device device);
};

// Puts the module in eval mode; the destructor restores the previous mode.
class EvalMode {
 public:
  explicit EvalMode(Module& module) : module_(module), training_(module.training) { module_.eval(); }
  ~EvalMode() { module_.train(training_); }
  EvalMode(const EvalMode&) = delete;

 private:
  Module& module_;
  bool training_;
};

// The parameters themselves (sharing storage and gradients), in order.
NamedTensors named_parameters(Module& module);
// Those of them that require a gradient: without the frozen ones (nn/variants/lora.h).
NamedTensors trainable_parameters(Module& module);
int64_t count_parameters(Module& module);
// The parameters detached from the tape, sharing storage: what a checkpoint writes. Error for 8-bit weights
// (nn/variants/int8.h).
NamedTensors state_dict(Module& module);
// Copies values into the parameters, converting between floating dtypes. Strict: one Error lists every missing name,
// every unexpected name and every wrong shape, and then no parameter has changed.
void load_state_dict(Module& module, const NamedTensors& state);

}  // namespace pg
