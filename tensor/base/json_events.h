#pragma once
// Reads a JSON text without building its value.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pg {

// What read_json() tells, in the order of the text. A function may throw, which ends the reading, and may move from the
// text that it is given.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void integer(int64_t value) = 0;  // a negative one
  virtual void whole(uint64_t value) = 0;   // of at least 0
  virtual void real(double value) = 0;      // with a point or an exponent, or outside the range of the other two
  virtual void string(std::string& text) = 0;
  virtual void start_array() = 0;
  virtual void end_array() = 0;
  virtual void start_object() = 0;
  virtual void key(std::string& text) = 0;  // before the value of each member
  virtual void end_object() = 0;
  // The text is no JSON: the number of bytes read, and a sentence. It is the last event.
  virtual void error(size_t byte, const char* why) = 0;
};

// Reads one JSON value and the white space around it, by the parser of nlohmann/json. A number beyond the range of
// double and a string that is not UTF-8 are errors.
void read_json(std::string_view text, JsonEvents& events);

}  // namespace pg
