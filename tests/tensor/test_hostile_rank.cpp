// A rank that has joined a group and then sends what no rank sends: the other one ends with an error that says so, and
// does not crash.
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/comm/activity.h"
#include "tests/catch.h"
#include "tests/tensor/ranks.h"

using namespace pg;
using pg::testing::bytes_of;

namespace {

struct Ended {
  int status = 0;
  std::string sentences;
};

// Rank 0 calls all_reduce of 5 f32. Rank 1 sends it `bytes` instead of a collective, and stays.
Ended against_rank_0(const std::string& bytes) {
  const testing::PairedRanks all(2);
  Ended ended;
  ended.status = run_ranks(
      2,
      [&](Comm& memory) {
        auto links = std::make_unique<testing::PairLinks>(all, memory.rank());
        if (memory.rank() == 0) {
          const auto comm = message_rank(std::move(links));
          comm->all_reduce(Tensor::ones({5}));
          return 0;
        }
        links->send(0, bytes.data(), std::ssize(bytes));
        char more = 0;
        while (!links->has_left(0) && links->failure().empty()) {
          if (links->receives_left(0) == 0) links->receive(0, &more, 1);
          links->progress(0.05);
        }
        return 0;
      },
      {.timeout = 20}, &ended.sentences);
  return ended;
}

// The same over the connections of a meeting: what rank `hostile` sends to the other one, which calls all_reduce of 5
// f32 and ends with this error. Rank 0 sends its bytes once the other one has called.
std::string against_meeting(int hostile, const std::string& bytes) {
  int port = 0;
  SocketOptions o{.size = 2, .port = 1, .token = "a test", .timeout = 20, .sees_processes = false};
  o.listener = listen_at(o.address, port);
  o.port = port;
  const auto connections_of = [](SocketOptions options, int rank) {
    options.rank = rank;
    return meet(options).connections;
  };
  auto one = std::async(std::launch::async, connections_of, o, 1);
  std::vector<Socket> of[2] = {connections_of(o, 0), {}};
  of[1] = one.get();
  const Socket own = std::move(of[hostile][hostile == 0 ? 1 : 0]);
  auto error = std::async(std::launch::async, [&] {
    const int rank = 1 - hostile;
    const auto comm = meeting_rank(rank, 2, std::move(of[rank]), {.timeout = 1});
    return testing::error_of([&] { comm->all_reduce(Tensor::ones({5})); });
  });
  CHECK(send_all(own.fd(), bytes.data(), bytes.size(), Deadline::in(10)));
  return error.get();
}

}  // namespace

TEST_CASE("160 kB of anything in place of a collective is an error and not a crash", "[comm]") {
  std::vector<std::string> anything = {std::string(160000, 'x'), std::string(160000, '\0'),
                                       std::string(160000, '\xff')};
  Generator generator(5);
  for (int i = 0; i < 7; ++i) {
    std::string random(160000, '\0');
    for (char& byte : random) byte = static_cast<char>(generator.integer(256));
    anything.push_back(random);
  }
  for (const std::string& bytes : anything) {
    const Ended ended = against_rank_0(bytes);
    INFO(ended.sentences);
    CHECK(ended.status == 1);
    CHECK(testing::contains(ended.sentences, "all_reduce of 5 f32, call 1: rank 1 sent no call of a collective: "));
  }
}

TEST_CASE("anything in place of a collective over sockets is an error and not a crash", "[comm]") {
  const CollectiveCall sum{.op = CollectiveCall::Op::all_reduce, .terms = 2, .n = 5};
  CollectiveCall bad = sum, other = sum;
  bad.op = static_cast<CollectiveCall::Op>(7);
  other.n = int64_t{1} << 60;
  const std::string name = "all_reduce of 5 f32, call 1";
  const struct {
    std::string from_1, from_0, says;
  } cases[] = {
      {"x", "x", "sent 0x78 where it may only call a collective or say why it ends"},
      {"c" + bytes_of(bad), "c" + bytes_of(sum) + bytes_of(bad), "sent no call of a collective: operation 7"},
      {"c" + bytes_of(other), "c" + bytes_of(sum) + bytes_of(other), "rank 1: all_reduce of 1152921504606846976 f32"},
      {"c" + bytes_of(sum), "c" + bytes_of(sum) + bytes_of(sum) + "few", "did not come within "},
      {"r" + std::string(sizeof(LastWords), 'y'), "r" + std::string(sizeof(LastWords), 'y'), "yyyy"},
      {"r", "r", "did not come within "},
  };
  for (const auto& [from_1, from_0, says] : cases) {
    INFO(says);
    const std::string of_0 = against_meeting(1, from_1), of_1 = against_meeting(0, from_0);
    CHECK(testing::contains(of_0, says));
    CHECK(testing::contains(of_1, says));
    CHECK((testing::contains(of_0, name) && testing::contains(of_1, name)));
  }
}

TEST_CASE("every number of a call from another rank is checked before it is used", "[comm]") {
  using Op = CollectiveCall::Op;
  const CollectiveCall sum{.op = Op::all_reduce, .terms = 2, .n = 5};
  const auto changed = [&](const std::function<void(CollectiveCall&)>& change) {
    CollectiveCall call = sum;
    change(call);
    return call;
  };
  const struct {
    CollectiveCall call;
    const char* says;
  } cases[] = {
      {changed([](auto& c) { c.op = static_cast<Op>(5); }), "operation 5, expected 0 to 4"},
      {changed([](auto& c) { c.op = static_cast<Op>(-1); }), "operation -1, expected 0 to 4"},
      {changed([](auto& c) { c.dtype = 1 << 20; }), "element type 1048576, expected 0 to 3"},
      {changed([](auto& c) { c.dtype = static_cast<int32_t>(u8); }), "element type 4, expected 0 to 3"},
      {changed([](auto& c) { c.dtype = -1; }), "element type -1, expected 0 to 3"},
      {changed([](auto& c) { c.root = 1; }), "root 1, expected 0"},
      {changed([](auto& c) { c.op = Op::broadcast, c.terms = 0, c.root = 2; }), "root 2, expected 0 to 1"},
      {changed([](auto& c) { c.terms = 3; }), "terms 3, expected 1 to 2"},
      {changed([](auto& c) { c.op = Op::all_gather; }), "terms 2, expected 0"},
      {changed([](auto& c) { c.n = -1; }), "elements -1, expected 0 to 9223372036854775807"},
      {changed([](auto& c) { c.op = Op::reduce_scatter, c.unit = 0; }), "unit 0, expected 1 to 9223372036854775807"},
      {changed([](auto& c) { c.unit = 2; }), "unit 2, expected 1"},
      {changed([](auto& c) { c.op = Op::reduce_scatter, c.add = 2; }), "add 2, expected 0 to 1"},
      {changed([](auto& c) { c.add = 1; }), "add 1, expected 0"},
      {changed([](auto& c) { c.op = Op::barrier, c.terms = 0; }), "elements 5, expected 0"},
  };
  for (const auto& [call, says] : cases) {
    const Ended ended = against_rank_0(bytes_of(this_process()) + bytes_of(call));
    INFO(ended.sentences);
    CHECK(ended.status == 1);
    CHECK(testing::contains(ended.sentences,
                            fmt::format("all_reduce of 5 f32, call 1: rank 1 sent no call of a collective: {}", says)));
  }
}
