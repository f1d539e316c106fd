#pragma once
// Optimizers. An optimizer updates a parameter slab (nn/param_slab.h): one tensor that holds all parameters of a model
// one after the other, and a second one that holds their gradients. A step reads the gradients that backward left and
// counts missing ones as zero. The caller calls zero_grad(). State tensors have the layout and dtype of the slab's
// params(); with bf16 parameters the f32 masters are part of the state.
#include <cstdint>
#include <vector>

#include "nn/param_slab.h"

namespace pg {

struct AdamWArgs;  // tensor/kernels.h
struct Field;      // tensor/base/fields.h

class Optimizer {
 public:
  explicit Optimizer(ParamSlab& slab) : slab_(slab) {}
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;

  // One update with this learning rate; gradients are multiplied by grad_scale first (see clip_scale).
  void step(double lr, double grad_scale = 1);
  int64_t steps() const { return steps_; }

  // What a checkpoint must hold besides steps(): tensors named like "m.wte.weight" that share the optimizer's memory.
  // On a rank of ZeRO the parts that it updates, named like "m.wte.weight[16384:32768]" (ParamSlab::named_views).
  NamedTensors state() const;
  // Inverse of state(): copies `state` into this optimizer. `state` has every tensor whole, or in the parts that any
  // number of ranks have saved. Strict like load_state_dict.
  void load_state(const NamedTensors& state, int64_t steps);
  const ParamSlab& slab() const { return slab_; }

 protected:
  // Its slab-shaped tensors, by the prefix of their names.
  virtual NamedTensors own_state() const = 0;
  virtual void update(double lr, double grad_scale) = 0;  // must also round the bf16 parameters
  // If false, a checkpoint needs the parameters in addition to the masters.
  virtual bool rounds_to_nearest() const { return true; }
  NamedTensors all_state() const;  // own_state(), and the masters of bf16 parameters
  ParamSlab& slab_;
  int64_t steps_ = 0;  // when update() runs, it already counts the current step
};

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0.01;  // applies only to segments with `decay`
  // Stochastic rounding of the masters to bf16 parameters, whose expected value is the master, instead of rounding to
  // nearest. The random numbers come from `seed` and the step's index.
  bool stochastic_rounding = false;
  uint64_t seed = 0;
};
// The options as named fields: the betas, eps and weight decay.
std::vector<Field> fields(AdamWOptions& options);

// Adam with decoupled weight decay (Loshchilov & Hutter 2019). For a parameter p with gradient g, in step t = 1, 2 …:
//   m = beta1·m + (1 - beta1)·g;  v = beta2·v + (1 - beta2)·g²;  M = m/(1 - beta1^t);  V = v/(1 - beta2^t)
//   p = (1 - lr·weight_decay)·p - lr·M / (√V + eps)
// One pass goes over the slab, or over each of this rank's shards.
class AdamW final : public Optimizer {
 public:
  explicit AdamW(ParamSlab& slab, const AdamWOptions& options = {});

  // A step in three parts, so that the device needs nothing from the host in between; the middle part may be recorded
  // in a graph. begin_step() sends the step's scalars to the device. update_by_norm() scales the gradients by min(1,
  // max_norm / (norm + 1e-6)) (no scaling if max_norm is 0) and updates, or writes nothing if squared_norm (from
  // squared_grad_norm()) is not finite. end_step() counts the step.
  void begin_step(double lr);
  void update_by_norm(const Tensor& squared_norm, double max_norm);
  void end_step();

 protected:
  NamedTensors own_state() const override;
  void update(double lr, double grad_scale) override;
  bool rounds_to_nearest() const override { return !options_.stochastic_rounding; }

 private:
  void send_numbers(double lr, int64_t t);
  void run(AdamWArgs args);

  AdamWOptions options_;
  Tensor m_, v_;
  Tensor decayed_;  // AdamWArgs::decayed; undefined without weight decay
  Tensor now_;      // f64 [4]: lr, the two bias corrections, t
};

}  // namespace pg
