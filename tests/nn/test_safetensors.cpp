// safetensors files: round trips and malicious files.
#include <bit>
#include <cstring>
#include <functional>

#include "nn/files/safetensors.h"
#include "tests/catch.h"
#include "tests/model_files.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("safetensors: saved tensors are loaded", "[safetensors]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  Generator g(1);
  const NamedTensors tensors = {
      {"weight", Tensor::normal({3, 5}, 0, 1, g)},
      {"double", Tensor::normal({2, 2, 2}, 0, 1, g, f64)},
      {"half", Tensor::normal({7}, 0, 1, g).to(bf16)},
      {"ids", Tensor::from<int32_t>(std::vector<int32_t>{-5, 0, INT32_MAX}, {3})},
      {"mask", Tensor::from<uint8_t>(std::vector<uint8_t>{1, 0, 255}, {1, 3})},
      {"scalar", Tensor::scalar(2.5)},
      {"empty", Tensor::empty({0, 4})},
      {"transposed", Tensor::normal({3, 4}, 0, 1, g).view_transpose(0, 1)},
  };
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"note", "ümläut \"quoted\"\n"}};
  save_safetensors(path, tensors, metadata);
  const SafetensorsFile loaded = load_safetensors(path);
  CHECK(loaded.metadata == metadata);
  CHECK(loaded.tensors.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    CHECK(loaded.at(name).dtype() == tensor.dtype());
    CHECK(equal_values(loaded.at(name), tensor));
  }
  CHECK(loaded.find("nothing") == nullptr);
  CHECK(error_of([&] { loaded.at("nothing"); }).find("no tensor 'nothing'") != std::string::npos);

  const std::string bytes = read_bytes(path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  CHECK(header % 8 == 0);
  CHECK(loaded.tensors[0].first == "double");  // sorted by element size, widest first, then by name
  CHECK(loaded.tensors[1].first == "empty");
  save_safetensors(dir.file("b.safetensors"), loaded.tensors, metadata);
  CHECK(read_bytes(dir.file("b.safetensors")) == bytes);
  // The folder holds no temporary file.
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path), {}) == 2);
}

TEST_CASE("safetensors: a file written by hand with the types of others", "[safetensors]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  // f16 values: 1, -2, 65504, 2^-24, 2^-14, -0, infinity, 1/3 rounded.
  const std::string data = bytes_of<int64_t>({-1, 7}) +
                           bytes_of<uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000, 0x7c00, 0x3555}) +
                           bytes_of<uint8_t>({0, 1});
  write_bytes(path, safetensors_file(R"({"h":{"shape":[2,4],"data_offsets":[16,32],"dtype":"F16"},)"
                                     R"("l":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                                     R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[32,34]}}   )",
                                     data));
  const SafetensorsFile file = load_safetensors(path);
  CHECK(file.at("l").dtype() == i32);
  CHECK(file.at("l").to_vector() == std::vector<double>{-1, 7});
  CHECK(file.at("b").dtype() == u8);
  CHECK(file.at("h").dtype() == f32);
  CHECK(file.at("h").to_vector() ==
        std::vector<double>{1, -2, 65504, 0x1p-24, 0x1p-14, -0.0, INFINITY, 0.333251953125});
  CHECK(std::signbit(file.at("h").data<float>()[5]));

  write_bytes(path, safetensors_file(R"({"big":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})",
                                     bytes_of<int64_t>({int64_t{1} << 31})));
  CHECK(error_of([&] { load_safetensors(path); }).find("'big' holds 2147483648, which does not fit") !=
        std::string::npos);
}

TEST_CASE("safetensors: hostile headers are refused with their reason", "[safetensors]") {
  TempDir dir;
  const std::string path = dir.file("evil.safetensors");
  struct Case {
    std::string json, words;
    size_t data_bytes = 8;
  };
  const auto one = [](const std::string& fields) { return R"({"w":{)" + fields + "}}"; };
  const Case cases[] = {
      {"", "does not start"},
      {"[]", "does not start"},
      {" {}", "does not start"},
      {"{", "not valid JSON"},
      {"{}x", "not valid JSON"},
      {"{\"\xff\":1}", "not valid JSON"},
      {"{}", "8 bytes follow"},
      {R"({"w":3})", "has a number"},
      {R"({"w":[]})", "has an array"},
      {R"({"w":null})", "has null"},
      {R"({"w":{"dtype":{}}})", "has an object"},
      {R"({"__metadata__":{"a":1}})", "has a number"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "'a' appears twice"},
      {R"({"__metadata__":[]})", "has an array"},
      {one(R"("dtype":"F32","shape":[2])"), "no 'data_offsets'"},
      {one(R"("dtype":"F32","data_offsets":[0,8])"), "no 'shape'"},
      {one(R"("shape":[2],"data_offsets":[0,8])"), "no 'dtype'"},
      {one(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), "'dtype' twice"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)"), "unknown field 'x'"},
      {one(R"("dtype":"F9","shape":[2],"data_offsets":[0,8])"), "dtype 'F9'"},
      {one(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "negative"},
      {one(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "not an integer"},
      {one(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), "has an array"},
      {one(R"("dtype":"F32","shape":[1,1,1,1,1,1,2],"data_offsets":[0,8])"), "more than 6"},
      {one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), "that large"},
      {one(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), "too large", 0},
      {one(R"("dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0])"), "too large", 0},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "two data_offsets"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), "two data_offsets"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "hole or an overlap"},
      {one(R"("dtype":"F32","shape":[0],"data_offsets":[0,18446744073709551615])"), "truncated"},
      {one(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])"), "truncated"},
      {one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), "needs 12 bytes"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "hole or an overlap"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "4 bytes follow"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}})",
       "'a' appears twice"},
      {R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[6],"data_offsets":[2,8]}})",
       "'b' begin at byte 2"},
  };
  for (const Case& c : cases) {
    write_bytes(path, safetensors_file(c.json, std::string(c.data_bytes, '\0')));
    const std::string message = error_of([&] { load_safetensors(path); });
    INFO(c.json << "\n" << message);
    CHECK(message.find(c.words) != std::string::npos);
    CHECK(message.find(path) != std::string::npos);
  }

  write_bytes(path, "1234567");
  CHECK(error_of([&] { load_safetensors(path); }).find("too few") != std::string::npos);
  write_bytes(path, bytes_of<uint64_t>({100'000'001}) + "{}");
  CHECK(error_of([&] { load_safetensors(path); }).find("at most 100000000") != std::string::npos);
  write_bytes(path, bytes_of<uint64_t>({3}) + "{}");
  CHECK(error_of([&] { load_safetensors(path); }).find("truncated") != std::string::npos);
  CHECK(error_of([&] { load_safetensors(dir.file("none")); }).find("No such file") != std::string::npos);
  CHECK_FALSE(error_of([&] { load_safetensors(dir.path.string()); }).empty());
}

TEST_CASE("safetensors: any damage gives an Error or a file", "[safetensors]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  save_safetensors(path, {{"w", Tensor::ones({2, 3})}, {"ids", Tensor::arange(4, i32)}}, {{"k", "v"}});
  const std::string good = read_bytes(path);
  for (size_t length = 0; length < good.size(); ++length) {
    write_bytes(path, good.substr(0, length));
    CHECK_FALSE(error_of([&] { load_safetensors(path); }).empty());
  }
  Generator g(3);
  int refused = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::string bad = good;
    for (int64_t flips = 1 + g.integer(3); flips > 0; --flips) {
      bad[static_cast<size_t>(g.integer(static_cast<int64_t>(bad.size())))] = static_cast<char>(g.integer(256));
    }
    write_bytes(path, bad);
    refused += !error_of([&] { load_safetensors(path); }).empty();  // any exception other than Error ends the test
  }
  CHECK(refused > 300);   // most of the file is header
  CHECK(refused < 1000);  // but not all of it
}

TEST_CASE("safetensors: a save that fails leaves the old file", "[safetensors]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  save_safetensors(path, {{"w", Tensor::ones({2})}});
  const std::string before = read_bytes(path);
  const auto save = [&](const NamedTensors& tensors) { return error_of([&] { save_safetensors(path, tensors); }); };
  CHECK(save({{"w", Tensor::ones({2})}, {"w", Tensor::ones({3})}}).find("'w' is used twice") != std::string::npos);
  CHECK(save({{"__metadata__", Tensor::ones({2})}}).find("reserved") != std::string::npos);
  CHECK(save({{"w", Tensor{}}}).find("undefined") != std::string::npos);
  CHECK(save({{"\xff", Tensor::ones({2})}}).find("UTF-8") != std::string::npos);
  CHECK(read_bytes(path) == before);
  CHECK(error_of([&] { save_safetensors(dir.file("no/such/folder"), {}); }).find("No such file") != std::string::npos);
}

TEST_CASE("safetensors: a save copies one tensor at a time", "[safetensors]") {
  TempDir dir;
  NamedTensors tensors;
  for (const char* name : {"a", "b", "c", "d"})
    tensors.emplace_back(name, Tensor::ones({256, 512}).view_transpose(0, 1));
  const size_t before = memory_stats().in_use;
  reset_peak_memory();
  save_safetensors(dir.file("a.safetensors"), tensors);
  const size_t one = 256 * 512 * sizeof(float);
  CHECK(memory_stats().peak - before >= one);  // strided tensors are copied
  CHECK(memory_stats().peak - before < 2 * one);
}
