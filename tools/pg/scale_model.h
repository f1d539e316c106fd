#pragma once
// A model of the time and memory of a training step on many GPUs: links by α and β, ZeRO stages, overlap, accumulation.
// It measures nothing.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/zero_memory.h"
#include "tensor/comm/link_model.h"

namespace pg::tools {

// GPUs in nodes. The defaults are H100 in nodes of 8: NVLink at the bandwidth that NCCL's rings reach, one 400 Gb/s
// adapter for each GPU.
struct Cluster {
  int64_t per_node = 8;
  LinkModel inside = {5e-6, 370e9}, between = {10e-6, 48e9};  // within a node; among nodes, for each GPU
  double flops = 400e12;                                      // that a GPU reaches in training, per second
  double memory_bandwidth = 3.0e12, memory = 80e9;            // bytes/s, bytes

  // Seconds of collectives of `bytes` over `gpus`: first inside the nodes, then among GPUs of equal place in all
  // nodes, each with its part.
  double reduce_scatter_seconds(double bytes, int64_t gpus) const;
  double all_gather_seconds(double bytes, int64_t gpus) const { return reduce_scatter_seconds(bytes, gpus); }
  double all_reduce_seconds(double bytes, int64_t gpus) const { return 2 * reduce_scatter_seconds(bytes, gpus); }
};

// A GPT with this many parameters: its layers and width are those of the nearest known model, scaled.
struct ScaledModel {
  double parameters = 0, layers = 0, width = 0, vocabulary = 50257;
  static ScaledModel of(double parameters);
  double embedding_share() const { return std::min(1.0, vocabulary * width / parameters); }
};

struct Plan {
  ScaledModel model;
  int64_t gpus = 8;
  int zero = 0;                      // stage
  int64_t rows = 8, context = 1024;  // of a micro-batch of one GPU
  int64_t accumulate = 1;            // micro-batches of one GPU in a step
  bool overlap = true;               // gradients are sent while backward computes
  bool checkpoint = false;           // activations of a block are computed again in backward
  StateBytes bytes = {};
};

struct StepModel {
  double compute = 0;  // seconds: forward and backward, 6 FLOP per parameter and token (8 with checkpoint)
  double sending = 0;  // seconds of collectives, hidden ones too
  double exposed = 0;  // those that the GPU waits for
  double update = 0;   // the optimizer: 30 bytes of memory traffic per parameter of the own shard
  double state = 0, activations = 0;  // bytes of one GPU
  double tokens_per_second = 0;       // of all GPUs
  std::string bound;                  // "compute", "network", "optimizer", or "memory": it does not fit

  double seconds() const { return compute + exposed + update; }
  double efficiency() const { return compute / seconds(); }
};
StepModel step_model(const Plan& plan, const Cluster& cluster);

// "124M", "1.5B" or "1558000000" as a number. Error for anything else, and for less than a million.
double parse_parameters(const std::string& text);
// "8,16,64", or "8..1024": 8, 16, 32, … 1024. Error for anything else.
std::vector<int64_t> parse_counts(const std::string& text);

}  // namespace pg::tools
