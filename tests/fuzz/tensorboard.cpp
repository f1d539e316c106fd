// Fuzz target: the rewind of a file of events. What it leaves it leaves the
// next time too, and an earlier step leaves no more.
// sources: tools/pg/run/tensorboard.cpp tensor/base/atomic_file.cpp tensor/base/files/crc32c.cpp
// archives: pg_text pg_base
// options: -max_len=300
// seed: \005\022abcdefgh\020\003
// seed: \002\013abcdefgh\020\002\013abcdefgh\020\001\003xyz
#include "tools/pg/run/tensorboard.h"

#include "tasks/data/text_data.h"
#include "tests/fuzz/driver/files.h"

using namespace pg;

namespace {

// The input as events: a byte with the length of each, whose highest bit asks for a damaged record.
std::string records_of(std::string_view input) {
  std::string all;
  while (!input.empty()) {
    const auto head = static_cast<uint8_t>(input[0]);
    const size_t length = std::min<size_t>(head & 0x7f, input.size() - 1);
    std::string record = tensorboard_record(input.substr(1, length));
    if (head & 0x80) record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
    all += record;
    input.remove_prefix(1 + length);
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  if (input.empty()) return 0;
  const int64_t step = static_cast<int8_t>(input[0]);
  for (const std::string& all : {std::string(input), records_of(input.substr(1))}) {
    const std::string path = fuzz::file("events", all);
    drop_tensorboard_steps(path, step);
    const std::string kept = read_file(path);
    fuzz::expect(kept.size() <= all.size());
    drop_tensorboard_steps(path, step);
    fuzz::expect(read_file(path) == kept);
    drop_tensorboard_steps(path, step - 1);
    fuzz::expect(read_file(path).size() <= kept.size());
  }
  return 0;
}
