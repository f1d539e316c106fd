// Writes TensorBoard's event files.
#include "tools/pg/run/tensorboard.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "tasks/data/text_data.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/files/crc32c.h"

namespace pg {

namespace {

// TensorBoard reads every file with "tfevents" in its name. The ending tells ours from those of other programs.
constexpr std::string_view kFilePrefix = "events.out.tfevents.", kFileSuffix = ".policygrad";

template <class T>
void put_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

// Protobuf: a field is one byte with its number (below 16 here) and wire type, followed by the value.
enum WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
void put_key(std::string& out, int field, WireType type) { out.push_back(static_cast<char>(field << 3 | type)); }
void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}
void put_bytes(std::string& out, int field, std::string_view value) {
  put_key(out, field, bytes);
  put_varint(out, value.size());
  out += value;
}
void put_double(std::string& out, int field, double value) {
  put_key(out, field, fixed64);
  put_little_endian(out, std::bit_cast<uint64_t>(value));
}

template <class T>
T get_little_endian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= T{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return value;
}

// The step of an event as written by put_varint, after the wall time; nullopt for an event without a step.
std::optional<uint64_t> step_of(std::string_view event) {
  constexpr size_t at = 9;  // offset of field 2, after the key and value of field 1
  if (event.size() <= at || event[at] != (2 << 3 | varint)) return std::nullopt;
  uint64_t step = 0;
  int shift = 0;
  for (const char byte : event.substr(at + 1)) {
    step |= (uint64_t{static_cast<uint8_t>(byte)} & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) == 0 || shift > 63) break;
  }
  return step;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string tensorboard_record(std::string_view payload) {
  std::string record;
  put_little_endian(record, uint64_t{payload.size()});
  put_little_endian(record, masked_crc(record));
  record += payload;
  put_little_endian(record, masked_crc(payload));
  return record;
}

std::string tensorboard_version_event(double wall_time) {
  std::string event;
  put_double(event, 1, wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string tensorboard_scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  std::string item;  // Summary.Value
  put_bytes(item, 1, tag);
  put_key(item, 2, fixed32);
  put_little_endian(item, std::bit_cast<uint32_t>(value));
  std::string summary;
  put_bytes(summary, 1, item);
  std::string event;
  put_double(event, 1, wall_time);
  put_key(event, 2, varint);
  put_varint(event, static_cast<uint64_t>(step));
  put_bytes(event, 5, summary);
  return event;
}

bool is_tensorboard_file(std::string_view name) { return name.starts_with(kFilePrefix) && name.ends_with(kFileSuffix); }

void drop_tensorboard_steps(const std::string& path, int64_t step) {
  const std::string all = read_file(path);
  std::string kept;
  for (std::string_view rest = all; rest.size() >= 16;) {
    const auto length = get_little_endian<uint64_t>(rest);
    if (length > rest.size() - 16) break;
    const std::string_view record = rest.substr(0, length + 16), event = record.substr(12, length);
    if (record != tensorboard_record(event)) break;
    const auto found = step_of(event);
    if (!found || static_cast<int64_t>(*found) < step) kept += record;
    rest.remove_prefix(record.size());
  }
  if (kept.size() < all.size()) write_file_atomically(path, kept);
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  const double now = seconds_since_1970();
  path_ = fmt::format("{}/{}{}.{}.{}{}", folder, kFilePrefix, static_cast<int64_t>(now), host, getpid(), kFileSuffix);
  file_.reset(std::fopen(path_.c_str(), "abe"));
  check(file_ != nullptr, "TensorBoardWriter: cannot write {}: {}", path_, std::strerror(errno));
  write(tensorboard_version_event(now));
}

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, double value) {
  write(tensorboard_scalar_event(seconds_since_1970(), step, tag, static_cast<float>(value)));
}

void TensorBoardWriter::write(std::string_view event) {
  const std::string record = tensorboard_record(event);
  const bool ok = std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size();
  check(ok && std::fflush(file_.get()) == 0, "TensorBoardWriter: cannot write {}: {}", path_, std::strerror(errno));
}

}  // namespace pg
