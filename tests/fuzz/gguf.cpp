// Fuzz target: a GGUF file. What is read is used: every value by every getter, the data of every tensor decoded.
// sources: tensor/base/files/gguf.cpp tensor/base/files/mapped_file.cpp tensor/base/files/stored_type.cpp
// sources: tensor/base/text.cpp
// seed: GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\10\0\0\0\1\0\0\0\0\0\0\0v
// seed: GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0t\1\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0
// seed: GGUF\2\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\11\0\0\0\4\0\0\0\1\0\0\0\0\0\0\0\7\0\0\0
// seed-file: tests/goldens/gguf/blocks.gguf
#include "tensor/base/files/gguf.h"

#include <algorithm>

#include "tensor/base/error.h"

using namespace pg;

namespace {

template <class F>
void ignore_error(F f) {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ignore_error([&] {
    const GgufFile file(std::as_bytes(std::span(data, size)), "input");
    for (const auto& [key, value] : file.metadata()) {
      const std::string_view its_key = key;
      ignore_error([&] { file.string_at(its_key); });
      ignore_error([&] { file.integer_at(its_key); });
      ignore_error([&] { file.number_at(its_key); });
      ignore_error([&] { file.bool_at(its_key); });
      ignore_error([&] { file.strings_at(its_key); });
      ignore_error([&] { file.integers_at(its_key); });
      ignore_error([&] { file.numbers_at(its_key); });
    }
    std::vector<double> decoded;  // the widest elements
    for (const GgufTensor& tensor : file.tensors()) {
      const auto bytes = file.data(tensor);
      const int64_t blocks = static_cast<int64_t>(bytes.size()) / tensor.type->bytes;
      decoded.resize(static_cast<size_t>(blocks * tensor.type->block));
      tensor.type->decode(bytes.data(), blocks, decoded.data());
    }
  });
  return 0;
}
