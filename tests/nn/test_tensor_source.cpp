// Tensors from safetensors files, folders of shards and GGUF files, into destinations of every layout.
#include <cmath>
#include <cstring>

#include "nn/files/safetensors.h"
#include "nn/files/safetensors_source.h"
#include "nn/files/tensor_source.h"
#include "tensor/base/parallel.h"
#include "tensor/base/sha256.h"
#include "tests/catch.h"
#include "tests/model_files.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::string file_with(const std::string& dtype, const std::string& shape, const std::string& data) {
  return safetensors_file(R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[0,)" +
                              std::to_string(data.size()) + "]}}",
                          data);
}

std::vector<double> values(const Tensor& tensor) { return tensor.to_vector(); }

// A folder with a model in two files and its index.
struct Shards {
  TempDir dir;
  std::string index = dir.file("model.safetensors.index.json");
  std::string map = R"("a":"one.safetensors","b":"two.safetensors","c":"two.safetensors")";

  Shards() {
    save_safetensors(dir.file("one.safetensors"), {{"a", Tensor::arange(6).view_reshape({2, 3})}}, {{"format", "pt"}});
    save_safetensors(dir.file("two.safetensors"), {{"b", Tensor::arange(4, i32)}, {"c", Tensor::scalar(5)}});
  }
  std::string refusal(const std::string& json) const {
    write_bytes(index, json);
    return error_of([&] { open_tensors(index); });
  }
};

}  // namespace

TEST_CASE("tensor source: every stored type to every type of its kind", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  struct Case {
    std::string stored, bytes;
    DType standard;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"F64", bytes_of<double>({1.5, -0.0, 1e300, 0.1}), f64, {1.5, -0.0, 1e300, 0.1}},
      {"F32", bytes_of<float>({1.5f, -2, 1e-40f, INFINITY}), f32, {1.5, -2, 1e-40f, INFINITY}},
      {"F16", bytes_of<uint16_t>({0x3c00, 0xc000, 0x0001, 0xfc00}), f32, {1, -2, 0x1p-24, -INFINITY}},
      {"BF16", bytes_of<uint16_t>({0x3f80, 0xc000, 0x0001, 0x7f80}), bf16, {1, -2, 0x1p-133, INFINITY}},
      {"I64", bytes_of<int64_t>({1, -2, 70000, 0}), i32, {1, -2, 70000, 0}},
      {"I32", bytes_of<int32_t>({1, -2, 70000, 0}), i32, {1, -2, 70000, 0}},
      {"U8", bytes_of<uint8_t>({1, 2, 255, 0}), u8, {1, 2, 255, 0}},
      {"BOOL", bytes_of<uint8_t>({1, 0, 0, 1}), u8, {1, 0, 0, 1}},
  };
  for (const Case& c : cases) {
    INFO(c.stored);
    write_bytes(path, file_with(c.stored, "[2,2]", c.bytes));
    const TensorSource source = open_tensors(path);
    REQUIRE(source.tensors().size() == 1);
    CHECK(source.at("w").type->name == c.stored);
    CHECK(source.at("w").shape == Shape{2, 2});
    CHECK(default_dtype(*source.at("w").type) == c.standard);
    CHECK(values(source.read("w", c.standard)) == c.values);
    for (const DType to : {f32, f64, bf16, i32, u8}) {
      INFO(name_of(to));
      const bool whole = c.standard == i32 || c.standard == u8;
      if (whole == is_floating(to)) {
        CHECK(contains(error_of([&] { source.read("w", to); }), c.stored + ", which are not converted"));
      } else if (whole && to == u8 && c.standard == i32) {
        CHECK(contains(error_of([&] { source.read("w", to); }), "holds -2, which does not fit in u8"));
      } else {
        // The engine's own conversion of the exact values.
        const DType exact = c.stored == "F64" ? f64 : whole ? i32 : f32;
        std::vector<double> expected = values(source.read("w", exact).to(to));
        CHECK(values(source.read("w", to)) == expected);
      }
    }
  }
  write_bytes(path, file_with("I64", "[1]", bytes_of<int64_t>({int64_t{1} << 31})));
  CHECK(contains(error_of([&] { open_tensors(path).read("w", i32); }), "'w' holds 2147483648, which does not fit"));
}

TEST_CASE("tensor source: bits of NaN are kept where the type is kept", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  const std::initializer_list<uint16_t> bits = {0x7f81, 0xff80, 0xffff, 0x7fc1};
  write_bytes(path, file_with("BF16", "[4]", bytes_of(bits)));
  const TensorSource source = open_tensors(path);
  const Tensor same = source.read("w", bf16);
  CHECK(std::memcmp(same.view().data, bits.begin(), 8) == 0);
  for (const DType to : {f32, f64}) {
    const std::vector<double> wide = values(source.read("w", to));
    CHECK(std::isnan(wide[0]));
    CHECK(wide[1] == -INFINITY);
    CHECK(std::isnan(wide[2]));
  }
  write_bytes(path, file_with("F16", "[2]", bytes_of<uint16_t>({0x7c01, 0xfe00})));
  for (const double value : values(open_tensors(path).read("w", bf16))) CHECK(std::isnan(value));
}

TEST_CASE("tensor source: bf16 is rounded once to nearest even", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.gguf");
  GgufBuilder b;
  // Scale 1 + 2^-9 and integers: ties and values beside them. Products are exact in f32.
  std::string block = bytes_of<uint16_t>({0x3c02});
  for (int i = 0; i < 32; ++i) block += static_cast<char>(i * 8 - 128);
  b.tensor("w", {32}, 8, block);
  b.tensor("ties", {4}, 0, bytes_of<float>({1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-23f, -1 - 0x1p-8f}));
  write_bytes(path, b.file());
  const TensorSource source = open_tensors(path);
  CHECK(values(source.read("ties", bf16)) == std::vector<double>{1, 1 + 0x1p-6, 1 + 0x1p-7, -1});
  CHECK(values(source.read("w", bf16)) == values(source.read("w", f32).to(bf16)));
}

TEST_CASE("tensor source: destinations of any layout", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  Generator g(5);
  // Rows longer than a decoder's buffer, more elements than a task of the pool.
  const Tensor w = Tensor::normal({70, 1100}, 0, 1, g), deep = Tensor::normal({3, 5, 2, 7}, 0, 1, g);
  save_safetensors(path, {{"w", w}, {"deep", deep}, {"scalar", Tensor::scalar(3)}, {"none", Tensor::empty({0, 4})}});
  const TensorSource source = open_tensors(path);
  for (const DType dtype : {f32, bf16, f64}) {
    INFO(name_of(dtype));
    const std::vector<double> expected = values(w.to(dtype));
    const Tensor rows = Tensor::full({200, 1100}, 9, dtype);
    source.read_into("w", rows.view_slice(0, 100, 170));
    CHECK(values(rows.view_slice(0, 100, 170)) == expected);
    CHECK(values(rows.view_slice(0, 0, 100)) == std::vector<double>(110000, 9));
    CHECK(values(rows.view_slice(0, 170, 200)) == std::vector<double>(33000, 9));
    const Tensor transposed = Tensor::full({1100, 70}, 9, dtype);
    source.read_into("w", transposed.view_transpose(0, 1));
    CHECK(values(transposed.view_transpose(0, 1)) == expected);
    const Tensor columns = Tensor::full({70, 2500}, 9, dtype);
    source.read_into("w", columns.view_slice(1, 100, 2300, 2));
    CHECK(values(columns.view_slice(1, 100, 2300, 2)) == expected);
    CHECK(values(columns.view_slice(1, 101, 2301, 2)) == std::vector<double>(77000, 9));
    const Tensor permuted = Tensor::full({7, 2, 3, 5}, 9, dtype);
    source.read_into("deep", permuted.view_permute({2, 3, 1, 0}));
    CHECK(values(permuted.view_permute({2, 3, 1, 0})) == values(deep.to(dtype)));
    const Tensor scalar = Tensor::zeros({3}, dtype);
    source.read_into("scalar", scalar.view_select(0, 1));
    CHECK(values(scalar) == std::vector<double>{0, 3, 0});
    source.read_into("none", Tensor::empty({0, 4}, dtype));
  }

  const auto says = [&](const std::string& name, const Tensor& to, const char* words) {
    const std::string message = error_of([&] { source.read_into(name, to); });
    INFO(message);
    CHECK(contains(message, words));
    CHECK(contains(message, path));
  };
  says("v", Tensor::empty({1}), "there is no tensor 'v'");
  says("deeep", Tensor::empty({1}), "(did you mean deep?)");
  says("w", Tensor::empty({1100, 70}), "'w' is [70, 1100], expected [1100, 70]");
  says("w", Tensor{}, "destination of tensor 'w' is undefined");
  says("w", Tensor::empty({1, 1100}).view_expand({70, 1100}), "repeats its elements along dim 0");
  says("w", Tensor::empty({70, 1100}, i32), "'w' has F32, which are not converted to i32");
}

TEST_CASE("tensor source: a read counts as a write of a parameter", "[tensor_source]") {
  TempDir dir;
  save_safetensors(dir.file("a.safetensors"), {{"w", Tensor::ones({2})}});
  Tensor parameter = Tensor::zeros({2});
  parameter.set_requires_grad();
  const uint64_t version = parameter.storage()->version, writes = parameter.storage()->writes;
  open_tensors(dir.file("a.safetensors")).read_into("w", parameter);
  CHECK(parameter.storage()->version > version);
  CHECK(parameter.storage()->writes > writes);
  CHECK(values(parameter) == std::vector<double>{1, 1});
}

TEST_CASE("tensor source: quantised rows, with any number of threads", "[tensor_source]") {
  TempDir dir;
  const TensorSource source = open_tensors("tests/goldens/gguf/blocks.gguf");
  REQUIRE(source.gguf() != nullptr);
  CHECK(source.gguf()->string_at("general.architecture") == "blocks");
  for (const SourceTensor& tensor : source.tensors()) {
    if (tensor.name.ends_with(".f32")) continue;
    INFO(tensor.name);
    const Tensor expected = source.read(tensor.name + ".f32", f32);
    CHECK(values(source.read(tensor.name, f32)) == values(expected));
    CHECK(values(source.read(tensor.name, bf16)) == values(expected.to(bf16)));
    const Tensor wide = Tensor::zeros({tensor.shape[1], 2 * tensor.shape[0]});
    source.read_into(tensor.name, wide.view_transpose(0, 1).view_slice(0, 1, 7, 2));
    CHECK(values(wide.view_transpose(0, 1).view_slice(0, 1, 7, 2)) == values(expected));
  }
  GgufBuilder b;
  std::string blocks;
  for (int i = 0; i < 9000; ++i) {
    blocks += bytes_of<uint16_t>({static_cast<uint16_t>(0x3000 + i)}) + std::string(16, static_cast<char>(i));
  }
  b.tensor("w", {96, 3000}, 2, blocks);
  write_bytes(dir.file("a.gguf"), b.file());
  const TensorSource big = open_tensors(dir.file("a.gguf"));
  Threads guard(1);
  const std::vector<double> alone = values(big.read("w", f32));
  set_num_threads(3);
  CHECK(values(big.read("w", f32)) == alone);
}

TEST_CASE("tensor source: rows for interleaved rotation", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.gguf");
  GgufBuilder b;
  // Two heads of 6 rows. The file has row 2·j + p of a head where the other form has row 3·p + j.
  std::string bytes;
  for (const float head : {0.f, 100.f}) {
    for (const float row : {0.f, 3.f, 1.f, 4.f, 2.f, 5.f}) bytes += bytes_of<float>({head + row, head + row + 0.5f});
  }
  b.tensor("q", {2, 12}, 0, bytes);
  b.tensor("bias", {12}, 0, std::string(48, '\0'));
  write_bytes(path, b.file());
  const TensorSource source = open_tensors(path);
  const Tensor all = Tensor::zeros({20, 2});
  source.read_interleaved_into("q", all.view_slice(0, 4, 16), 2);
  std::vector<double> expected;
  for (const double head : {0., 100.}) {
    for (const double row : {0., 1., 2., 3., 4., 5.}) expected.insert(expected.end(), {head + row, head + row + 0.5});
  }
  CHECK(values(all.view_slice(0, 4, 16)) == expected);
  CHECK(all.view_slice(0, 0, 4).to_vector() == std::vector<double>(8, 0));
  const Tensor transposed = Tensor::zeros({2, 12}, bf16);
  source.read_interleaved_into("q", transposed.view_transpose(0, 1), 2);
  CHECK(values(transposed.view_transpose(0, 1)) == values(all.view_slice(0, 4, 16).to(bf16)));
  const auto refusal = [&](const char* name, const Tensor& to, int64_t heads) {
    return error_of([&] { source.read_interleaved_into(name, to, heads); });
  };
  for (const int64_t heads : {0, -2, 4, 5}) {
    CHECK(contains(refusal("q", Tensor::empty({12, 2}), heads), "expected the rows of"));
  }
  CHECK(contains(refusal("q", Tensor::empty({2, 12}), 2), "'q' is [12, 2], expected [2, 12]"));
  CHECK(contains(refusal("bias", Tensor::empty({12}), 2), "expected the rows of"));
}

TEST_CASE("tensor source: a model in several files", "[tensor_source]") {
  const Shards shards;
  write_bytes(shards.index, R"({"metadata":{"total_size":44,"x":[{"y":1.5}]},"weight_map":{)" + shards.map + "}}");
  for (const std::string& path : {shards.index, shards.dir.path.string()}) {
    const TensorSource source = open_tensors(path);
    REQUIRE(source.tensors().size() == 3);
    CHECK(source.tensors()[0].name == "a");
    CHECK(values(source.read("a", f32)) == std::vector<double>{0, 1, 2, 3, 4, 5});
    CHECK(values(source.read("b", i32)) == std::vector<double>{0, 1, 2, 3});
    CHECK(source.read("c", f64).item() == 5);
    CHECK(source.gguf() == nullptr);
  }
  CHECK(shards.refusal(R"({"metadata":{"total_size":4.4e1},"weight_map":{)" + shards.map + "}}").empty());
  // The cache of a hub has symbolic links to files elsewhere.
  TempDir cache;
  std::filesystem::rename(shards.dir.file("one.safetensors"), cache.file("blob"));
  std::filesystem::create_symlink(cache.file("blob"), shards.dir.file("one.safetensors"));
  std::filesystem::create_symlink(shards.index, cache.file("model.safetensors.index.json"));
  CHECK(values(open_tensors(shards.index).read("a", f32)).size() == 6);
  // But the files are looked for beside the name of the index that was given.
  CHECK(contains(error_of([&] { open_tensors(cache.path.string()); }), "one.safetensors: No such file"));
}

TEST_CASE("tensor source: hostile indices are refused with their reason", "[tensor_source]") {
  const Shards shards;
  const std::string& map = shards.map;
  const std::string good = R"("weight_map":{)" + map + "}";
  struct Case {
    std::string json, words;
  };
  const Case cases[] = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "has an array"},
      {"3", "has a number"},
      {"\"a\"", "has a string"},
      {"{}", "no weight_map"},
      {R"({"weight_map":[]})", "has an array"},
      {R"({"weight_map":"a"})", "has a string"},
      {R"({"weight_map":null})", "has null"},
      {R"({"weight_map":{"a":1}})", "has a number"},
      {R"({"weight_map":{"a":{}}})", "has an object"},
      {R"({"weight_map":{"a":["one.safetensors"]}})", "has an array"},
      {"{" + good + "," + good + "}", "'weight_map' appears twice"},
      {R"({"weight_map":{)" + map + R"(,"a":"one.safetensors"}})", "names the tensor 'a' twice"},
      {"{\"metadata\":{\"total_size\":44,\"total_size\":44}," + good + "}", "total_size appears twice"},
      {"{\"metadata\":{\"total_size\":43}," + good + "}", "total_size is 43, but the tensors have 44 bytes"},
      {"{\"metadata\":{\"total_size\":-44}," + good + "}", "has a negative number"},
      {"{\"metadata\":{\"total_size\":44.5}," + good + "}", "no size"},
      {"{\"metadata\":{\"total_size\":1e300}," + good + "}", "no size"},
      {"{\"metadata\":{\"total_size\":\"44\"}," + good + "}", "has a string"},
      {"{\"metadata\":{\"total_size\":[44]}," + good + "}", "has an array"},
      {R"({"weight_map":{"a":"../one.safetensors"}})", "expected the name of a .safetensors file in the same folder"},
      {R"({"weight_map":{"a":"/one.safetensors"}})", "in the same folder"},
      {R"({"weight_map":{"a":"sub/one.safetensors"}})", "in the same folder"},
      {R"({"weight_map":{"a":"sub\\one.safetensors"}})", "in the same folder"},
      {R"({"weight_map":{"a":".."}})", "in the same folder"},
      {R"({"weight_map":{"a":""}})", "in the same folder"},
      {R"({"weight_map":{"a":"one.bin"}})", "in the same folder"},
      {R"({"weight_map":{"a":"one\u0000.safetensors"}})", "in the same folder"},
      {R"({"weight_map":{"a":"three.safetensors"}})", "three.safetensors: No such file"},
      {R"({"weight_map":{)" + map + R"(,"d":"one.safetensors"}})", "do not have the tensors 'd'"},
      {R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})", "does not name for them: 'c'"},
      {R"({"weight_map":{"a":"two.safetensors","b":"two.safetensors","c":"two.safetensors"}})", "tensors 'a'"},
      {R"({"weight_map":{"a":"two.safetensors","b":"one.safetensors","c":"two.safetensors"}})", "tensors 'a', 'b'"},
  };
  for (const Case& c : cases) {
    const std::string message = shards.refusal(c.json);
    INFO(c.json << "\n" << message);
    CHECK(contains(message, c.words));
  }
  std::string many;
  for (int i = 0; i < 9; ++i) many += ",\"x" + std::to_string(i) + "\":\"one.safetensors\"";
  CHECK(contains(shards.refusal("{\"weight_map\":{" + map + many + "}}"), "'x0', 'x1', 'x2', 'x3', 'x4' and 4 more"));
  std::filesystem::create_directory(shards.dir.path / "four.safetensors");
  CHECK(contains(shards.refusal(R"({"weight_map":{"a":"four.safetensors"}})"), "a folder, expected a file"));
  CHECK(contains(shards.refusal(std::string(200000, '[')), "has an array"));
  CHECK(contains(shards.refusal("{\"x\":" + std::string(200000, '[')), "not valid JSON"));
}

TEST_CASE("tensor source: folders and files that hold no model", "[tensor_source]") {
  TempDir dir;
  const auto refusal = [](const std::string& path) { return error_of([&] { open_tensors(path); }); };
  CHECK(contains(refusal(dir.path.string()), "0 GGUF files, expected model.safetensors,"));
  CHECK(contains(refusal(dir.file("none")), "No such file"));
  std::filesystem::create_symlink(".", dir.path / "loop.gguf");
  CHECK(contains(refusal(dir.path.string()), "0 GGUF files"));
  std::filesystem::remove(dir.path / "loop.gguf");
  for (const char* bytes : {"", "x", "GGU", "GGUF", "12345678"}) {
    write_bytes(dir.file("a"), bytes);
    INFO(bytes);
    CHECK_FALSE(refusal(dir.file("a")).empty());
  }
  GgufBuilder b;
  b.tensor("w", {1}, 0, bytes_of<float>({2}));
  write_bytes(dir.file("a.gguf"), b.file());
  CHECK(open_tensors(dir.path.string()).read("w", f32).item() == 2);
  write_bytes(dir.file("b"), b.file());  // known by its content
  CHECK(contains(refusal(dir.path.string()), "2 GGUF files"));
  save_safetensors(dir.file("model.safetensors"), {{"w", Tensor::scalar(3)}}, {{"format", "pt"}});
  const TensorSource source = open_tensors(dir.path.string());
  CHECK(source.read("w", f32).item() == 3);
  CHECK(source.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
}

TEST_CASE("tensor source: a file that becomes shorter is an error", "[tensor_source]") {
  TempDir dir;
  const std::string path = dir.file("a.safetensors");
  save_safetensors(path, {{"w", Tensor::ones({100000})}});
  const TensorSource source = open_tensors(path);
  save_safetensors(path, {{"w", Tensor::zeros({3})}});  // another file of the same name
  CHECK(source.read("w", f32).view_slice(0, 0, 1).item() == 1);
  const TensorSource small = open_tensors(path);
  std::filesystem::resize_file(path, 10);
  CHECK(contains(error_of([&] { small.read("w", f32); }), "the file has become shorter"));
}

// SmolLM2-135M-Instruct.Q4_1.gguf: docs/GOLDENS.md says where it comes from.
TEST_CASE("tensor source: SmolLM2", "[tensor_source]") {
  const char* folder = std::getenv("POLICYGRAD_DATA");
  const std::string path = std::string(folder ? folder : ".") + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) SKIP_TEST("POLICYGRAD_DATA has no SmolLM2-135M-Instruct.Q4_1.gguf");
  const TensorSource source = open_tensors(path);
  const GgufFile& gguf = *source.gguf();
  CHECK(gguf.version() == 3);
  CHECK(gguf.string_at("general.architecture") == "llama");
  CHECK(gguf.integer_at("llama.block_count") == 30);
  CHECK(gguf.integer_at("llama.attention.head_count") == 9);
  CHECK(gguf.integer_at("llama.attention.head_count_kv") == 3);
  CHECK(gguf.number_at("llama.rope.freq_base") == 100000);
  CHECK(gguf.strings_at("tokenizer.ggml.tokens").size() == 49152);
  REQUIRE(source.tensors().size() == 272);
  const Tensor all = Tensor::empty({134515008});
  int64_t elements = 0;
  for (const SourceTensor& tensor : source.tensors()) {
    const int64_t end = elements + numel(tensor.shape);
    source.read_into(tensor.name, all.view_slice(0, elements, end).view_reshape(tensor.shape));
    elements = end;
  }
  CHECK(elements == all.numel());
  // tools/goldens/make_gguf_goldens.py --digest
  CHECK(sha256({static_cast<const char*>(all.view().data), static_cast<size_t>(elements) * sizeof(float)}) ==
        "1034100613c22abd3cc047d99b02ed7a8d419bc245f4cf54a4736c5f699ba569");
}
