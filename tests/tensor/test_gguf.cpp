// Mapped files and the GGUF container.
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tensor/base/files/gguf.h"
#include "tests/catch.h"
#include "tests/model_files.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::string refusal(const GgufBuilder& builder) {
  const std::string file = builder.file();
  return error_of([&] { parse_gguf(file); });
}

// A file with every type of value and two tensors.
GgufBuilder sample() {
  GgufBuilder b;
  b.number<uint8_t>("u8", GgufType::u8, 255);
  b.number<int8_t>("i8", GgufType::i8, -128);
  b.number<uint16_t>("u16", GgufType::u16, 65535);
  b.number<int16_t>("i16", GgufType::i16, -32768);
  b.number<uint32_t>("u32", GgufType::u32, UINT32_MAX);
  b.number<int32_t>("i32", GgufType::i32, INT32_MIN);
  b.number<float>("f32", GgufType::f32, 0.1f);
  b.number<uint8_t>("yes", GgufType::boolean, 1);
  b.string("text", "ümläut");
  b.number<uint64_t>("u64", GgufType::u64, UINT64_MAX);
  b.number<int64_t>("i64", GgufType::i64, INT64_MIN);
  b.number<double>("f64", GgufType::f64, 1e300);
  b.array("words", GgufType::string, 3,
          GgufBuilder::text("a") + GgufBuilder::text("") + GgufBuilder::text(std::string("\xff\0b", 3)));
  b.array("ids", GgufType::i32, 2, bytes_of<int32_t>({-7, 8}));
  b.array("scores", GgufType::f32, 2, bytes_of<float>({0.5f, -1}));
  b.array("none", GgufType::u8, 0, "");
  b.array("nested", GgufType::array, 2,
          GgufBuilder::type(GgufType::u8) + bytes_of<uint64_t>({2}) + "\x01\x02" +
              GgufBuilder::type(GgufType::boolean) + bytes_of<uint64_t>({1}) + std::string(1, '\0'));
  b.tensor("w", {3, 2}, 0, bytes_of<float>({1, 2, 3, 4, 5, 6}));
  b.tensor("q", {32, 1}, 8, bytes_of<uint16_t>({0x3c00}) + std::string(32, '\x05'));
  return b;
}

}  // namespace

TEST_CASE("gguf: files are known by their first bytes, and those that are named so are refused with a reason",
          "[gguf]") {
  TempDir dir;
  const std::string content = sample().file();
  write_bytes(dir.file("model.bin"), content);
  write_bytes(dir.file("b.gguf"), "no GGUF");
  write_bytes(dir.file("short"), "GGU");
  write_bytes(dir.file("notes.txt"), "about GGUF");
  std::filesystem::create_directory(dir.file("folder.gguf"));
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);  // an open of it would wait
  CHECK(is_gguf_path(dir.file("model.bin")));
  CHECK(is_gguf_path(dir.file("b.gguf")));
  CHECK(is_gguf_path(dir.file("absent.gguf")));
  for (const char* other : {"short", "notes.txt", "folder.gguf", "pipe", "absent"}) {
    INFO(other);
    CHECK_FALSE(is_gguf_path(dir.file(other)));
  }
  CHECK(gguf_files_in(dir.path.string()) == std::vector<std::string>{dir.file("b.gguf"), dir.file("model.bin")});
  CHECK(contains(error_of([&] { gguf_files_in(dir.file("absent")); }), "No such file or directory"));
}

TEST_CASE("mapped files: bytes and what is no file", "[gguf]") {
  TempDir dir;
  write_bytes(dir.file("a"), "abc");
  write_bytes(dir.file("empty"), "");
  const MappedFile a(dir.file("a"));
  REQUIRE(a.bytes().size() == 3);
  CHECK(a.bytes()[2] == std::byte{'c'});
  CHECK(MappedFile(dir.file("empty")).bytes().empty());
  const auto refused = [](const std::string& path) { return error_of([&] { MappedFile file(path); }); };
  CHECK(contains(refused(dir.file("none")), "none: No such file"));
  CHECK(contains(refused(dir.path.string()), "a folder, expected a file"));
  CHECK(contains(refused("/dev/zero"), "a device or a pipe"));
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  CHECK(contains(refused(dir.file("pipe")), "a device or a pipe"));
  std::filesystem::create_symlink("loop", dir.path / "loop");
  CHECK(contains(refused(dir.file("loop")), "symbolic links"));
  CHECK(contains(refused(std::string("a\0b", 3)), "NUL"));

  a.check_size();
  std::filesystem::resize_file(dir.file("a"), 4);
  a.check_size();
  std::filesystem::resize_file(dir.file("a"), 2);
  CHECK(contains(error_of([&] { a.check_size(); }), "2 bytes instead of 3"));
}

TEST_CASE("GGUF: every type of value", "[gguf]") {
  GgufBuilder builder = sample();
  builder.version = GENERATE(2u, 3u);
  const std::string bytes = builder.file();
  const GgufFile file = parse_gguf(bytes);
  CHECK(file.version() == builder.version);
  CHECK(file.alignment() == 32);
  CHECK(file.metadata().size() == builder.metadata.size());
  CHECK(file.metadata()[1].first == "i8");
  CHECK(file.integer_at("u8") == 255);
  CHECK(file.integer_at("i8") == -128);
  CHECK(file.integer_at("u16") == 65535);
  CHECK(file.integer_at("i16") == -32768);
  CHECK(file.integer_at("u32") == UINT32_MAX);
  CHECK(file.integer_at("i32") == INT32_MIN);
  CHECK(file.integer_at("i64") == INT64_MIN);
  CHECK(std::get<uint64_t>(file.find("u64")->value) == UINT64_MAX);
  CHECK(file.number_at("f32") == static_cast<double>(0.1f));
  CHECK(file.number_at("f64") == 1e300);
  CHECK(file.number_at("i8") == -128);
  CHECK(file.number_at("u64") == 0x1p64);
  CHECK(file.bool_at("yes"));
  CHECK(file.string_at("text") == "ümläut");
  CHECK(file.strings_at("words") == std::vector<std::string_view>{"a", "", std::string_view("\xff\0b", 3)});
  CHECK(file.integers_at("ids") == std::vector<int64_t>{-7, 8});
  CHECK(file.numbers_at("ids") == std::vector<double>{-7, 8});
  CHECK(file.numbers_at("scores") == std::vector<double>{0.5, -1});
  CHECK(file.integers_at("none").empty());
  const auto& nested = std::get<GgufArray>(file.find("nested")->value);
  REQUIRE(nested.arrays.size() == 2);
  CHECK(nested.arrays[0].count == 2);
  CHECK(nested.arrays[1].type == GgufType::boolean);

  REQUIRE(file.tensors().size() == 2);
  const GgufTensor& w = file.tensors()[0];
  CHECK(w.name == "w");
  CHECK(w.shape == std::vector<int64_t>{2, 3});
  CHECK(w.type->name == "F32");
  CHECK(w.bytes == 24);
  CHECK(w.offset % 32 == 0);
  CHECK(std::memcmp(file.data(w).data(), builder.data.data(), 24) == 0);
  CHECK(file.tensors()[1].bytes == 34);
  CHECK(file.tensors()[1].offset == w.offset + 32);
}

TEST_CASE("GGUF: errors of getters name the key and both types", "[gguf]") {
  const std::string bytes = sample().file();
  const GgufFile file = parse_gguf(bytes);
  CHECK(file.find("nothing") == nullptr);
  const auto says = [](auto f, const char* words) {
    const std::string message = error_of(f);
    INFO(message);
    CHECK(contains(message, words));
    CHECK(contains(message, "model.gguf"));
  };
  says([&] { file.string_at("nothing"); }, "no key 'nothing'");
  says([&] { file.string_at("u8"); }, "'u8' has type u8, expected string");
  says([&] { file.integer_at("text"); }, "'text' has type string, expected an integer");
  says([&] { file.integer_at("f32"); }, "'f32' has type f32, expected an integer");
  says([&] { file.integer_at("u64"); }, "expected an integer below 2^63");
  says([&] { file.number_at("yes"); }, "'yes' has type bool, expected a number");
  says([&] { file.bool_at("u8"); }, "'u8' has type u8, expected bool");
  says([&] { file.strings_at("text"); }, "'text' has type string, expected array of string");
  says([&] { file.strings_at("ids"); }, "'ids' has type array of i32, expected array of string");
  says([&] { file.integers_at("scores"); }, "'scores' has type array of f32, expected array of integers");
  says([&] { file.numbers_at("words"); }, "'words' has type array of string, expected array of numbers");
  says([&] { file.numbers_at("nested"); }, "'nested' has type array of array, expected array of numbers");
}

TEST_CASE("GGUF: tensors of rank 0 and of size 0", "[gguf]") {
  GgufBuilder b;
  b.tensor("scalar", {}, 0, bytes_of<float>({7}));
  b.tensor("empty", {32, 0}, 2, "");
  b.tensor("empty row", {0, 5}, 2, "");
  b.tensor("last", {1}, 24, "\x05");
  const std::string bytes = b.file();
  const GgufFile file = parse_gguf(bytes);
  CHECK(file.tensors()[0].shape.empty());
  CHECK(file.tensors()[0].bytes == 4);
  CHECK(file.tensors()[1].shape == std::vector<int64_t>{0, 32});
  CHECK(file.tensors()[1].bytes == 0);
  CHECK(file.tensors()[2].bytes == 0);
  CHECK(file.data(file.tensors()[3])[0] == std::byte{5});
  // An empty tensor far outside the file has no bytes there.
  GgufBuilder far;
  far.tensors = {{"empty", {0}, 0, uint64_t{1} << 40}};
  const std::string far_bytes = far.file();
  const GgufFile far_file = parse_gguf(far_bytes);
  CHECK(far_file.data(far_file.tensors()[0]).empty());
}

TEST_CASE("GGUF: the alignment of the file", "[gguf]") {
  for (const uint32_t alignment : {1u, 8u, 64u, 1u << 20}) {
    INFO(alignment);
    GgufBuilder b;
    b.alignment = alignment;
    b.number<uint32_t>("general.alignment", GgufType::u32, alignment);
    b.tensor("a", {1}, 24, "\x05");
    b.tensor("b", {2}, 0, bytes_of<float>({1.5f, -2}));
    const std::string bytes = b.file();
    const GgufFile file = parse_gguf(bytes);
    CHECK(file.alignment() == alignment);
    const GgufTensor& tensor = file.tensors()[1];
    CHECK(tensor.offset % alignment == 0);
    CHECK(decoded("F32", {reinterpret_cast<const char*>(file.data(tensor).data()), tensor.bytes}) ==
          std::vector<float>{1.5f, -2});
  }
}

TEST_CASE("GGUF: hostile files are refused with their reason", "[gguf]") {
  struct Case {
    const char* words;
    void (*damage)(GgufBuilder&);
  };
  const Case cases[] = {
      {"does not begin with GGUF", [](GgufBuilder& b) { b.magic = "GGML"; }},
      {"version 0, expected 2 or 3", [](GgufBuilder& b) { b.version = 0; }},
      {"version 1, expected 2 or 3", [](GgufBuilder& b) { b.version = 1; }},
      {"version 4, expected 2 or 3", [](GgufBuilder& b) { b.version = 4; }},
      {"big-endian", [](GgufBuilder& b) { b.version = 3u << 24; }},
      {"the number of keys is 18446744073709551615", [](GgufBuilder& b) { b.more_keys = -18; }},
      {"number of tensors is 4294967298", [](GgufBuilder& b) { b.more_tensors = int64_t{1} << 32; }},
      {"key 'u8' appears twice", [](GgufBuilder& b) { b.number<uint8_t>("u8", GgufType::u8, 1); }},
      {"not UTF-8", [](GgufBuilder& b) { b.number<uint8_t>("\xc0\x80", GgufType::u8, 1); }},
      {"has 0 bytes, expected 1", [](GgufBuilder& b) { b.number<uint8_t>("", GgufType::u8, 1); }},
      {"has 65536 bytes, expected 1", [](GgufBuilder& b) { b.string(std::string(65536, 'a'), ""); }},
      {"has type 13, expected 0 to 12", [](GgufBuilder& b) { b.number<uint8_t>("k", static_cast<GgufType>(13), 1); }},
      {"boolean of value 2", [](GgufBuilder& b) { b.number<uint8_t>("k", GgufType::boolean, 2); }},
      {"boolean of value 255", [](GgufBuilder& b) { b.array("k", GgufType::boolean, 2, "\x01\xff"); }},
      {"a string needs 18446744073709551615 bytes",
       [](GgufBuilder& b) { b.number<uint64_t>("k", GgufType::string, UINT64_MAX); }},
      {"length of an array is 4611686018427387904",
       [](GgufBuilder& b) { b.array("k", GgufType::u64, uint64_t{1} << 62, ""); }},
      {"length of an array is 1000", [](GgufBuilder& b) { b.array("k", GgufType::array, 1000, ""); }},
      {"nests arrays more than 4 deep",
       [](GgufBuilder& b) {
         std::string inner;
         for (int i = 0; i < 9; ++i) inner += GgufBuilder::type(GgufType::array) + bytes_of<uint64_t>({1});
         b.array("k", GgufType::array, 1, inner);
       }},
      {"'general.alignment' has type u64, expected u32",
       [](GgufBuilder& b) { b.number<uint64_t>("general.alignment", GgufType::u64, 32); }},
      {"'general.alignment' is 0", [](GgufBuilder& b) { b.number<uint32_t>("general.alignment", GgufType::u32, 0); }},
      {"'general.alignment' is 24", [](GgufBuilder& b) { b.number<uint32_t>("general.alignment", GgufType::u32, 24); }},
      {"'general.alignment' is 2147483648",
       [](GgufBuilder& b) { b.number<uint32_t>("general.alignment", GgufType::u32, 1u << 31); }},
      {"tensor name 'w' appears twice", [](GgufBuilder& b) { b.tensor("w", {1}, 0, "1234"); }},
      {"name of a tensor, '?', is not UTF-8", [](GgufBuilder& b) { b.tensor("\xff", {1}, 0, "1234"); }},
      {"tensor 'x' has 5 dimensions",
       [](GgufBuilder& b) {
         b.tensor("x", {1, 1, 1, 1, 1}, 0, "1234");
       }},
      {"tensor 'x' has type 16; F64 (28), I64 (27), F32 (0)", [](GgufBuilder& b) { b.tensor("x", {256}, 16, ""); }},
      {"tensor 'x' has type 4294967295", [](GgufBuilder& b) { b.tensor("x", {256}, UINT32_MAX, ""); }},
      {"rows of 31 elements, expected a multiple of 32 for Q4_0",
       [](GgufBuilder& b) {
         b.tensor("x", {31, 32}, 2, std::string(18, 'a'));
       }},
      {"rows of 128 elements, expected a multiple of 256",
       [](GgufBuilder& b) {
         b.tensor("x", {128, 2}, 14, "");
       }},
      {"rows of 1 elements, expected a multiple of 32", [](GgufBuilder& b) { b.tensor("x", {}, 2, ""); }},
      {"size 9223372036854775808, which is too large",
       [](GgufBuilder& b) { b.tensor("x", {uint64_t{1} << 63}, 0, ""); }},
      {"is too large",
       [](GgufBuilder& b) {
         b.tensor("x", {uint64_t{1} << 31, uint64_t{1} << 31}, 0, "");
       }},
      {"is too large",
       [](GgufBuilder& b) {
         b.tensor("x", {0, uint64_t{1} << 31, uint64_t{1} << 31}, 0, "");
       }},
      {"offset 1 of tensor 'x' is no multiple",
       [](GgufBuilder& b) {
         b.tensors.push_back({"x", {1}, 0, 1});
       }},
      {"is it truncated",
       [](GgufBuilder& b) {
         b.tensors.push_back({"x", {1}, 0, uint64_t{1} << 63});
       }},
      {"is it truncated",
       [](GgufBuilder& b) {
         b.tensors.push_back({"x", {1}, 0, UINT64_MAX - 31});
       }},
      {"is it truncated", [](GgufBuilder& b) { b.tensor("x", {2}, 0, "1234"); }},
      {"'w' and 'x' overlap",
       [](GgufBuilder& b) {
         b.tensors.push_back({"x", {1}, 0, 0});
       }},
      {"'q' and 'x' overlap",
       [](GgufBuilder& b) {
         b.data.resize(128);
         b.tensors.push_back({"x", {1}, 0, 64});
       }},
  };
  for (const Case& c : cases) {
    GgufBuilder builder = sample();
    c.damage(builder);
    const std::string message = refusal(builder);
    INFO(c.words << "\n" << message);
    CHECK(contains(message, c.words));
    CHECK(contains(message, "model.gguf"));
  }
  CHECK(refusal(sample()).empty());
  const std::string dimensions = "GGUF" + bytes_of<uint32_t>({3}) + bytes_of<uint64_t>({1, 0}) +
                                 GgufBuilder::text("x") + bytes_of<uint32_t>({UINT32_MAX}) + std::string(99, '\1');
  CHECK(contains(error_of([&] { parse_gguf(dimensions); }), "tensor 'x' has 4294967295 dimensions"));
}

TEST_CASE("GGUF: any damage gives an Error or a file", "[gguf]") {
  const std::string good = sample().file();
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string part = good.substr(0, length);
    INFO(length);
    CHECK_FALSE(error_of([&] { parse_gguf(part); }).empty());
  }
  uint32_t state = 1;
  const auto below = [&](size_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
  };
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bad = good;
    for (size_t flips = 1 + below(3); flips > 0; --flips) bad[below(bad.size())] = static_cast<char>(below(256));
    refused += !error_of([&] { parse_gguf(bad); }).empty();  // any exception other than Error ends the test
  }
  CHECK(refused > 400);
  CHECK(refused < 2000);
}
