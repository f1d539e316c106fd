// Names of devices.
#include "tensor/device.h"

#include <charconv>

#include "tensor/backend.h"
#include "tensor/base/error.h"

namespace pg {

Device parse_device(std::string_view text) {
  if (text == "cpu") return {};
  const std::string_view kind = text.substr(0, text.find(':'));
  int index = 0;
  bool known = kind == "cuda";
  if (known && kind.size() < text.size()) {
    const std::string_view digits = text.substr(kind.size() + 1);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, index);
    known = error == std::errc() && stop == end && index >= 0 && index < 256;
  }
  check(known, "device: expected \"cpu\", \"cuda\" or \"cuda:1\", got \"{}\"", text);
  const int count = backend(Device::Kind::cuda).device_count();
  check(count > 0, "device: \"{}\" was requested, but {}", text, backend(Device::Kind::cuda).why_none());
  check(index < count, "device: \"{}\" was requested, but the last one here is \"cuda:{}\"", text, count - 1);
  return {Device::Kind::cuda, static_cast<unsigned char>(index)};
}

std::string to_string(Device device) { return device.on_host() ? "cpu" : fmt::format("cuda:{}", device.index); }

}  // namespace pg
