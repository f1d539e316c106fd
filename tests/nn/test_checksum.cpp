// The checksum of safetensors files: a change of any bit is found, and files without one are read.
#include <bit>

#include "nn/files/checkpoint.h"
#include "nn/files/peft.h"
#include "nn/files/pretrained.h"
#include "nn/files/safetensors_header.h"
#include "nn/transformer.h"
#include "nn/variants/lora.h"
#include "tensor/base/files/mapped_file.h"
#include "tests/catch.h"
#include "tests/model_files.h"

using namespace pg;
using namespace pg::testing;

namespace {

// CRC-32C bit by bit, by its definition: the remainder of the polynomial 0x1EDC6F41, bits reflected.
uint32_t by_definition(const std::string& bytes) {
  uint32_t c = ~0u;
  for (const char byte : bytes) {
    c ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~c;
}

Transformer small_model() {
  Generator g(3);
  return Transformer({.vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4}, g);
}

// The file with one bit flipped at each of many places: every byte of its header and every seventh of its data.
template <class F>
void flip_bits(const std::string& path, F f) {
  const std::string bytes = read_bytes(path);
  const size_t header = bytes.find("data_offsets") + 8;
  for (size_t at = 0; at < bytes.size(); at += at < header ? 1 : 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    write_bytes(path, damaged);
    f(at);
  }
  write_bytes(path, bytes);
}

std::optional<uint32_t> verify(const std::string& path) { return verify_checksum(MappedFile(path)); }

}  // namespace

TEST_CASE("safetensors: a checksum at the file's end that is cut was read past the end", "[safetensors][checksum]") {
  const TempDir dir;
  const std::string path = dir.file("a.safetensors");
  for (const char* digits : {"", "12", "1234567", "xxxxxxxx", "1234ABCD"}) {
    INFO(digits);
    const std::string header =
        fmt::format(R"({{"w":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}},"__metadata__":{{"{}":"{}"}}}})",
                    kChecksumKey, digits);
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    write_bytes(path, bytes + header);
    CHECK(contains(error_of([&] { verify(path); }), "must have eight hexadecimal digits"));
    CHECK(contains(error_of([&] { load_safetensors(path); }), "must have eight hexadecimal digits"));
  }
}

TEST_CASE("safetensors: the checksum is the CRC-32C of the file with zeros for its digits", "[safetensors][checksum]") {
  const TempDir dir;
  const std::string path = dir.file("a.safetensors");
  // A name and a text that look like the checksum's entry are none.
  const std::map<std::string, std::string> metadata = {{"a", "\"policygrad_crc32c\":\"12345678\""},
                                                       {"policygrad_crc32c", "of an earlier file"}};
  save_safetensors(path, {{"w", Tensor::arange(6)}, {"policygrad_crc32c", Tensor::ones({2})}}, metadata);
  std::string bytes = read_bytes(path);
  const std::string key = "\"policygrad_crc32c\":\"";
  const size_t at = bytes.find(key) + key.size();
  const std::string digits = bytes.substr(at, 8);
  bytes.replace(at, 8, "00000000");
  CHECK(digits == fmt::format("{:08x}", by_definition(bytes)));
  CHECK(verify(path) == by_definition(bytes));
  CHECK(load_safetensors(path).metadata == std::map<std::string, std::string>{{"a", metadata.at("a")}});
}

TEST_CASE("safetensors: a file without a checksum is read", "[safetensors][checksum]") {
  const TempDir dir;
  const std::string path = dir.file("a.safetensors");
  write_bytes(path, safetensors_file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", bytes_of({1.5f})));
  CHECK(!verify(path));
  CHECK(load_safetensors(path).at("w").item() == 1.5);
}

TEST_CASE("checkpoint: a flipped bit anywhere in the file is refused", "[nn][checkpoint][checksum]") {
  const TempDir dir;
  const std::string path = dir.file("c.safetensors");
  Transformer model = small_model();
  ParamSlab slab(model);
  const AdamW optimizer(slab, {});
  save_checkpoint(path, model, &optimizer, {3, {{"data", Generator(7)}}, {{"model", to_json(model.config)}}});
  size_t flips = 0;
  flip_bits(path, [&](size_t at) {
    const std::string error = error_of([&] { load_checkpoint(path); });
    INFO(at << ": " << error);
    CHECK(error.find(path) != std::string::npos);
    ++flips;
  });
  CHECK(flips > 500);
  CHECK(error_of([&] { load_checkpoint(path); }).empty());
}

TEST_CASE("a flipped bit in exported weights or adapters is refused", "[pretrained][lora][checksum]") {
  const TempDir dir;
  // With another key the file is one without a checksum, as those of other programs are.
  const auto has_key = [](const std::string& path) { return read_bytes(path).find(kChecksumKey) != std::string::npos; };
  Transformer model = small_model();
  save_pretrained(model, dir.file("model"));
  const std::string weights = dir.file("model/model.safetensors");
  flip_bits(weights, [&](size_t at) {
    INFO(at);
    CHECK((!has_key(weights) || !error_of([&] { load_pretrained(dir.file("model")); }).empty()));
  });
  Generator g(1);
  Transformer base = load_pretrained("tests/goldens/pretrained/llama");
  add_lora(base, {.rank = 1, .targets = "q_proj"}, g);
  save_peft(base, dir.file("adapters"), "");
  const std::string adapters = dir.file("adapters/adapter_model.safetensors");
  flip_bits(adapters, [&](size_t at) {
    if (at % 49 != 0 || !has_key(adapters)) return;
    Transformer other = load_pretrained("tests/goldens/pretrained/llama");
    INFO(at);
    CHECK(!error_of([&] { load_peft(other, dir.file("adapters")); }).empty());
    CHECK(other.config.lora.rank == 0);
  });
}

TEST_CASE("checkpoint: one of a later version, or one that lost its checksum, is refused",
          "[nn][checkpoint][checksum]") {
  const TempDir dir;
  const std::string path = dir.file("c.safetensors");
  const auto error = [&](const std::string& version) {
    const std::string state = R"({\"version\":)" + version + R"(,\"step\":1,\"texts\":{},\"generators\":{}})";
    write_bytes(path, safetensors_file(R"({"__metadata__":{"policygrad":")" + state + "\"}}", ""));
    return error_of([&] { load_checkpoint(path); });
  };
  CHECK(error("2").find("its checksum is gone") != std::string::npos);
  CHECK(error("3").find("a later policygrad wrote it") != std::string::npos);
  CHECK(error("true").find("its version must be an integer") != std::string::npos);
}
