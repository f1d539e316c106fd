#pragma once
// TensorBoard event files with scalars: a sequence of records, each a length and a protobuf `Event`, both followed by a
// checksum. Format: TensorFlow's event.proto, summary.proto and record_writer. A reader skips a truncated last record.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace pg {

// Length, masked checksum of the length, payload, masked checksum of the payload.
std::string tensorboard_record(std::string_view payload);
// The first event of a file. wall_time in seconds since 1970.
std::string tensorboard_version_event(double wall_time);
std::string tensorboard_scalar_event(double wall_time, int64_t step, std::string_view tag, float value);

// Whether `name` is the name of a file written by TensorBoardWriter.
bool is_tensorboard_file(std::string_view name);
// Removes the events of `step` and later steps from a file; the version event stays. Everything after a damaged or
// truncated record is dropped too, because a reader cannot find it.
void drop_tensorboard_steps(const std::string& path, int64_t step);

// Writes `folder`/events.out.tfevents.<seconds>.<host>.<process>.policygrad, a new file per writer. Each scalar is
// flushed.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::string& folder);
  // Tags with a '/' group charts.
  void scalar(std::string_view tag, int64_t step, double value);

 private:
  void write(std::string_view event);
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace pg
