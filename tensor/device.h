#pragma once
// The device of a tensor. The default is always the CPU; no other device is chosen automatically. `plain` is the CPU
// with the kernels of tensor/plain, which are slow and short.
#include <string>
#include <string_view>

namespace pg {

struct Device {
  enum class Kind : unsigned char { cpu, cuda, plain };
  Kind kind = Kind::cpu;
  unsigned char index = 0;
  bool on_host() const { return kind != Kind::cuda; }
  bool operator==(const Device&) const = default;
};

// "cpu", "plain", "cuda" or "cuda:1". Error when the text is none of these, or when this build or machine lacks the
// device.
Device parse_device(std::string_view text);
// The kind of device that such a text names, whether or not it exists. It uses no GPU, so processes that are forked
// afterwards can use them. Error when the text is none of these.
Device::Kind parse_device_kind(std::string_view text);
std::string to_string(Device device);

}  // namespace pg
