// The engine compared with PyTorch: every golden case (docs/GOLDENS.md), and checks that the replayer can fail.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "tensor/base/error.h"
#include "tests/catch.h"
#include "tools/pg/golden/golden.h"
#include "tools/pg/golden/ops.h"

using namespace pg;
using namespace pg::tools;
using pg::testing::contains;

namespace {

const std::string kFolder = "tests/goldens";  // the tests run in the repository's root

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

// A modified copy of one case in a separate file, which is removed at the end of the test.
struct Copy {
  std::string path, bytes;
  explicit Copy(const std::string& name) {
    const auto file = "policygrad_" + std::to_string(::getpid()) + "_" + name + ".safetensors";
    path = (std::filesystem::temp_directory_path() / file).string();
    for (const GoldenCase& golden : load_goldens(kFolder + "/" + name.substr(0, name.find('.')) + ".safetensors")) {
      if (golden.name == name) save_safetensors(path, golden.file.tensors, golden.file.metadata);
    }
    bytes = read(path);
    replace("policygrad_crc32c", "without__checksum");  // the tests change what it covers
  }
  ~Copy() { std::remove(path.c_str()); }
  void replace(const std::string& from, const std::string& to) {
    const size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    REQUIRE(from.size() == to.size());  // the header's length stays valid
    bytes.replace(at, from.size(), to);
  }
  // The f64 that ends at `end` bytes before the file's end.
  void set_double(size_t end, double (*change)(double)) {
    double x = 0;
    char* place = bytes.data() + bytes.size() - end;
    std::copy(place, place + 8, reinterpret_cast<char*>(&x));
    x = change(x);
    std::copy_n(reinterpret_cast<const char*>(&x), 8, place);
  }
  const std::string& write() const {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

// Replays a file with one case.
GoldenResult replay(const std::string& path) { return replay_golden(load_goldens(path).at(0)); }
std::string error_of(const std::string& path) {
  return testing::error_of([&] { replay(path); });
}

int exit_status_of(const std::string& path) {
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  const int status = run_golden({path}, out);
  std::fclose(out);
  return status;
}

}  // namespace

TEST_CASE("every golden case", "[golden]") {
  size_t count = 0;
  for (const std::string& file : golden_files({kFolder})) {
    for (const GoldenCase& golden : load_goldens(file)) {
      ++count;
      std::string outcome;
      bool ok = false;
      try {
        const GoldenResult result = replay_golden(golden);
        outcome = result.to_string();
        ok = result.ok();
      } catch (const Error& error) {
        outcome = golden.file.path + ": " + error.what();
      }
      INFO(outcome);
      CHECK(ok);
    }
  }
  CHECK(count >= 592);
}

TEST_CASE("an archive without cases or with stray names is refused", "[golden]") {
  const Tensor x = Tensor::ones({1}, f64);
  Copy copy("argmax.f32.last");
  save_safetensors(copy.path, {});
  CHECK(contains(error_of(copy.path), "there is no case in it"));
  save_safetensors(copy.path, {{"in.0", x}});
  CHECK(contains(error_of(copy.path), "'in.0' is not named CASE/NAME"));
  save_safetensors(copy.path, {{"a/in.0", x}}, {{"/op", "exp"}});
  CHECK(contains(error_of(copy.path), "'/op' is not named CASE/NAME"));
  save_safetensors(copy.path, {{"a/in.0", x}});
  CHECK(contains(error_of(copy.path), "the metadata have no 'op'"));
}

TEST_CASE("a golden case with a wrong number fails", "[golden]") {
  // The doubles are sorted by name: grad.0, grad_out, in.0, out.0, with 99 elements each.
  Copy copy("tanh.f64.odd");
  REQUIRE(replay(copy.write()).ok());
  REQUIRE(exit_status_of(copy.path) == 0);
  SECTION("in the result") {
    copy.set_double(8, [](double x) { return x + 1e-6; });
    const GoldenResult result = replay(copy.write());
    CHECK(!result.tensors.at(0).ok());
    CHECK(result.tensors.at(1).ok());
    CHECK(exit_status_of(copy.path) == 1);
  }
  SECTION("in the gradient") {
    copy.set_double(8 * 99 * 4, [](double x) { return x + 1e-6; });
    const GoldenResult result = replay(copy.write());
    CHECK(result.tensors.at(0).ok());
    CHECK(!result.tensors.at(1).ok());
  }
  SECTION("not a number") {
    copy.set_double(8, [](double) { return std::numeric_limits<double>::quiet_NaN(); });
    CHECK(!replay(copy.write()).ok());
  }
  SECTION("infinity") {
    copy.set_double(8, [](double) { return std::numeric_limits<double>::infinity(); });
    CHECK(!replay(copy.write()).ok());
  }
}

TEST_CASE("a golden case of integers must be equal", "[golden]") {
  Copy copy("argmax.f32.last");
  REQUIRE(replay(copy.write()).ok());
  // The 4-byte tensors are sorted by name: in.0, out.0. The fourth byte from the end is the low byte of the last index.
  copy.bytes[copy.bytes.size() - 4] ^= 1;
  CHECK(!replay(copy.write()).ok());
}

TEST_CASE("denormal numbers of a golden case are compared", "[golden]") {
  const Tensor want = Tensor::from(std::vector<double>{1e-310, 5e-324, 0}, {3});
  CHECK(relative_error("out.0", want, want) == 0);
  CHECK(relative_error("out.0", Tensor::zeros({3}, f64), want) == 1);
  const Tensor huge = Tensor::from(std::vector<double>{1e308, -1e308}, {2});
  CHECK(relative_error("out.0", huge, huge) == 0);
}

TEST_CASE("golden cases that the runner does not understand are refused", "[golden]") {
  SECTION("attribute") {
    Copy copy("softmax.f64.odd");
    copy.replace("dim\\\":", "din\\\":");
    CHECK(contains(error_of(copy.write()), "softmax: unknown attribute 'din'; known: dim"));
    CHECK(exit_status_of(copy.path) == 1);
  }
  SECTION("op") {
    Copy copy("softmax.f64.odd");
    copy.replace("\"softmax\"", "\"softmux\"");
    CHECK(contains(error_of(copy.write()), "unknown op 'softmux' (did you mean softmax?); known: abs "));
  }
  SECTION("tensor") {
    Copy copy("softmax.f64.odd");
    copy.replace("\"grad.0\"", "\"grad.9\"");
    CHECK(contains(error_of(copy.write()), "tensor 'grad.9' is not one of"));
  }
  SECTION("layout") {
    Copy copy("softmax.f64.transposed");
    copy.replace("\\\"transposed\\\"", "\\\"transmogri\\\"");
    CHECK(contains(error_of(copy.write()), "unknown layout 'transmogri'"));
  }
  SECTION("a result of gigabytes") {
    const Tensor ids = Tensor::from(std::vector<int32_t>{0, 1}, {2});
    Copy copy("argmax.f32.last");
    save_safetensors(copy.path, {{"a/in.0", ids}, {"a/out.0", ids}},
                     {{"a/op", "one_hot"}, {"a/attributes", "{\"num_classes\": 2147483647}"}});
    CHECK(contains(error_of(copy.path), "num_classes: expected at most 1048576, got 2147483647"));
  }
  SECTION("value of an attribute") {
    Copy copy("softmax.f64.odd");
    copy.replace(": -1", ": .5");
    CHECK(contains(error_of(copy.write()), "not a JSON object"));
    Copy number("gelu.f64.none");
    number.replace("\\\"none\\\"", "\\\"nine\\\"");
    CHECK(contains(error_of(number.write()), "gelu: approximate: expected tanh or none, got nine"));
  }
  SECTION("half a file") {
    Copy copy("softmax.f64.odd");
    copy.bytes.resize(copy.bytes.size() / 2);
    CHECK(error_of(copy.write()) != "");
  }
  SECTION("no such file") {
    CHECK_THROWS_AS(golden_files({kFolder + "/nowhere"}), Error);
    CHECK_THROWS_AS(golden_files({"autograd"}), Error);  // a folder without golden cases
  }
}

TEST_CASE("golden operations on losses take every field of an algorithm", "[golden]") {
  const Tensor log_prob = Tensor::from<double>({-1, -2, -3}, {1, 3}),
               old = Tensor::from<double>({-1.5, -1.8, -3.9}, {1, 3});
  const Tensor advantage = Tensor::from<double>({2, -1, 3}, {1, 3}), mask = Tensor::ones({1, 3}, u8);
  const auto run = [&](const std::string& op, const std::vector<Tensor>& inputs, const std::string& json) {
    return apply_golden_op(op, inputs, GoldenAttributes(op, json))[0].to_vector();
  };
  const std::vector<Tensor> inputs = {log_prob, old, advantage, mask};
  const auto loss = [&](const std::string& json) { return run("rl.policy_loss", inputs, json); };
  const std::string clip = R"("ratio": "token", "surrogate": "clip")";
  const std::vector<double> narrow = loss("{" + clip + R"(, "clip_low": 0.1})");
  CHECK(loss("{" + clip + R"(, "low": 0.1})") == narrow);
  CHECK(loss("{" + clip + R"(, "clip_low": "1e-1"})") == narrow);
  CHECK(loss("{" + clip + "}") != narrow);
  const auto fails = [&](const std::string& op, const std::vector<Tensor>& given, const std::string& json) {
    return testing::error_of([&] { run(op, given, json); });
  };
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"surrogate": "clip"})"), "surrogate clip needs a ratio"));
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"surrogate": "clap"})"), "expected one of log_prob, "));
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"clip_low": "narrow"})"), "clip-low: expected"));
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"clip_low": [1]})"), "clip_low"));
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"low": 0.1, "clip_low": 0.1})"), "are one field"));
  CHECK(contains(fails("rl.policy_loss", inputs, R"({"tokens": "high_entropy"})"), "needs the entropy"));
  CHECK(contains(fails("rl.weight", {old, log_prob}, R"({"weight": "none"})"), "weight none has no weights"));
  CHECK(contains(fails("rl.tokens", {old, advantage, old, mask}, "{}"), "tokens all selects none"));
  CHECK(contains(fails("rl.advantage", {advantage}, R"({"baseline": "remax"})"), "needs more than rewards"));
  CHECK(run("rl.advantage", {advantage}, R"({"baseline": "none"})") == std::vector<double>{2, -1, 3});
  CHECK(run("rl.advantage", {advantage, old}, R"({"baseline": "none", "reward_weights": "0=2"})") ==
        std::vector<double>{4, -2, 6});
}

// CS336's tests have a cliprange of 10, which clips nothing from below.
TEST_CASE("defect: a golden operation refuses numbers that its function takes, such as a clip range of 10",
          "[golden]") {
  const Tensor log_prob = Tensor::from<double>({-0.5, -0.5, -0.5, -0.5}, {1, 4}),
               old = Tensor::from<double>({-3.5, -0.25, -3.5, -0.25}, {1, 4});
  const Tensor advantage = Tensor::from<double>({1, 1, -1, -1}, {1, 4}), mask = Tensor::ones({1, 4}, u8);
  const auto run = [&](const std::string& op, const std::vector<Tensor>& inputs, const std::string& json) {
    return apply_golden_op(op, inputs, GoldenAttributes(op, json))[0].to_vector();
  };
  const auto loss = [&](const std::string& json) {
    return run("rl.policy_loss", {log_prob, old, advantage, mask}, json);
  };
  const auto with_range = [](const std::string& range) {
    return R"({"ratio": "token", "surrogate": "clip", "aggregation": "token_mean", "low": )" + range + R"(, "high": )" +
           range + "}";
  };
  // Ratios e^3 = 20.09 and e^-.25 = .7788: only the first, of a good action, is above 11.
  const double large = std::exp(3.0), small = std::exp(-0.25);
  REQUIRE(loss(with_range("10")).size() == 1);
  CHECK(std::abs(loss(with_range("10"))[0] - (-11 - small + large + small) / 4) < 1e-12);
  // The functions keep their own ranges.
  const auto fails = [&](const std::string& json) { return testing::error_of([&] { loss(json); }); };
  CHECK(contains(fails(with_range("-1")), "clip_loss: the clip range must not be negative"));
  const auto refused = [&](const std::string& op, const std::string& json) {
    return testing::error_of([&] { run(op, {advantage}, json); });
  };
  CHECK(contains(refused("rl.advantage", R"({"baseline": "group_std", "ddof": 2})"), "ddof must be 0 or 1, got 2"));
  CHECK(contains(refused("rl.advantage", R"({"baseline": "pkpo", "best_of": 1})"), "k must be at least 2, got 1"));
  CHECK(contains(refused("rl.advantage", R"({"baseline": "group_std", "ddof": 0.5})"), "whole number"));
}
