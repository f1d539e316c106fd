// JSON values from text and to text. This is the only file of the engine that includes nlohmann/json, since that header
// takes seconds to compile.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/json_events.h"
#include "tensor/base/text.h"

namespace pg {

// Builds the value that the events describe.
class JsonBuilder : public JsonEvents {
 public:
  void null() override { add(nullptr); }
  void boolean(bool value) override { add(value); }
  void integer(int64_t value) override { add(value); }
  void whole(uint64_t value) override { add(value); }
  void real(double value) override { add(value); }
  void string(std::string& text) override { add(text); }
  void start_array() override { open_.push_back(&add(Json::array())); }
  void end_array() override { open_.pop_back(); }
  void start_object() override { open_.push_back(&add(Json::object())); }
  void key(std::string& text) override { key_ = text; }
  void end_object() override {
    open_.back()->remove_repeated_keys();
    open_.pop_back();
  }
  void error(size_t, const char* why) override { why_ = why; }

  // The value. If the text was no JSON: an Error, or a value that is discarded.
  Json take(bool may_throw) {
    if (why_.empty()) return std::move(root_);
    if (may_throw) throw Error(why_);
    Json json;
    json.kind_ = Json::Kind::discarded;
    return json;
  }

 private:
  Json& add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& last = *open_.back();
    if (last.is_object()) return last.append(std::move(key_), std::move(value));
    return last.data_.array->emplace_back(std::move(value));
  }

  Json root_;
  std::vector<Json*> open_;  // arrays and objects that have not ended; what they are in does not move before they end
  std::string key_, why_;
};

namespace {

// The parser's interface.
struct SaxToEvents {
  JsonEvents& events;
  bool null() { return events.null(), true; }
  bool boolean(bool value) { return events.boolean(value), true; }
  bool number_integer(int64_t value) { return events.integer(value), true; }
  bool number_unsigned(uint64_t value) { return events.whole(value), true; }
  bool number_float(double value, const std::string&) { return events.real(value), true; }
  bool string(std::string& text) { return events.string(text), true; }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON
  bool start_array(size_t) { return events.start_array(), true; }
  bool end_array() { return events.end_array(), true; }
  bool start_object(size_t) { return events.start_object(), true; }
  bool key(std::string& text) { return events.key(text), true; }
  bool end_object() { return events.end_object(), true; }
  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception& e) {
    return events.error(byte, e.what()), false;
  }
};

// Appends JSON to a text.
class Writer {
 public:
  Writer(int indent, Json::Utf8 invalid) : indent_(indent), invalid_(invalid) {}

  std::string write(const Json& root) {
    start(root);
    while (!open_.empty()) {
      Open& last = open_.back();
      const bool is_array = last.value->is_array();
      if (last.done == last.value->size()) {
        open_.pop_back();
        new_line();
        out_ += is_array ? ']' : '}';
        continue;
      }
      const size_t i = last.done++;
      if (i > 0) out_ += ',';
      new_line();
      if (!is_array) {
        string(last.value->items()[i].first);
        out_ += indent_ < 0 ? ":" : ": ";
      }
      start(is_array ? (*last.value)[i] : last.value->items()[i].second);
    }
    return std::move(out_);
  }

 private:
  struct Open {
    const Json* value;
    size_t done = 0;  // elements or members
  };

  // Writes a leaf, or the beginning of an array or an object.
  void start(const Json& value) {
    if (value.is_structured() && value.empty()) {
      out_ += value.is_array() ? "[]" : "{}";
    } else if (value.is_structured()) {
      out_ += value.is_array() ? '[' : '{';
      open_.push_back({&value});
    } else {
      leaf(value);
    }
  }
  void leaf(const Json& value) {
    if (value.is_null()) {
      out_ += "null";
    } else if (value.is_boolean()) {
      out_ += value.get<bool>() ? "true" : "false";
    } else if (value.is_string()) {
      string(value.text());
    } else if (value.is_integer_in(INT64_MIN, INT64_MAX)) {
      out_ += std::to_string(value.get<int64_t>());
    } else if (value.is_number_integer()) {
      out_ += std::to_string(value.get<uint64_t>());
    } else if (value.is_number()) {
      out_ += nlohmann::json(value.get<double>()).dump();
    } else {
      out_ += "<discarded>";
    }
  }
  void string(const std::string& text) {
    const auto as_it_is = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\'; };
    const bool plain = std::all_of(text.begin(), text.end(), as_it_is) && is_utf8(text);
    if (plain) {
      out_ += '"';
      out_ += text;
      out_ += '"';
      return;
    }
    using Handler = nlohmann::json::error_handler_t;
    try {
      out_ += nlohmann::json(text).dump(-1, ' ', false,
                                        invalid_ == Json::Utf8::strict ? Handler::strict : Handler::replace);
    } catch (const nlohmann::json::exception& e) {
      throw Error(e.what());
    }
  }
  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(open_.size() * static_cast<size_t>(indent_), ' ');
  }

  const int indent_;
  const Json::Utf8 invalid_;
  std::string out_;
  std::vector<Open> open_;
};

}  // namespace

void read_json(std::string_view text, JsonEvents& events) {
  SaxToEvents sax{events};
  nlohmann::json::sax_parse(text.begin(), text.end(), &sax);
}

Json Json::parse(std::string_view text) {
  JsonBuilder builder;
  read_json(text, builder);
  return builder.take(/*may_throw=*/true);
}

Json Json::try_parse(std::string_view text) {
  JsonBuilder builder;
  read_json(text, builder);
  return builder.take(/*may_throw=*/false);
}

std::string Json::dump(int indent, Utf8 invalid) const { return Writer(indent, invalid).write(*this); }

}  // namespace pg
