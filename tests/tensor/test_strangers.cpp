// Connections of strangers while the ranks of a TCP group meet: none of them ends, delays or joins the start.
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tensor/comm/authentication.h"
#include "tensor/comm/links.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/socket_meeting.h"
#include "tests/catch.h"
#include "tests/tensor/ranks.h"

using namespace pg;
using pg::testing::bytes_of;

namespace {

const std::string kSecret = "a secret of these tests";

struct Came {
  std::unique_ptr<Comm> comm;
  std::string error;
};
Came come_as(const SocketOptions& o) {
  Came came;
  came.error = testing::error_of([&] {
    Met met = meet(o);
    came.comm = met.memory ? shared_memory_rank(*met.memory, o.rank, true)
                           : meeting_rank(o.rank, o.size, std::move(met.connections), {.timeout = 20});
  });
  return came;
}

// The start of a group whose rank 0 listens already; the others come when a test says so.
class Start {
 public:
  explicit Start(int ranks = 2, double timeout = 20, bool sees_processes = true)
      : options_{.size = ranks, .port = 0, .token = kSecret, .timeout = timeout, .sees_processes = sees_processes} {
    SocketOptions o = options_;
    o.listener = listen_at(o.address, o.port);
    options_.port = o.port;
    zero_ = std::async(std::launch::async, come_as, o);
  }
  std::future<Came> comes(int rank, int ranks, const std::string& token = kSecret) const {
    SocketOptions o = options_;
    o.rank = rank;
    o.size = ranks;
    o.token = token;
    return std::async(std::launch::async, come_as, o);
  }
  Socket stranger() const { return connect_to(options_.address, options_.port, Deadline::in(10)); }
  Came zero() { return zero_.get(); }
  // Rank 1 comes, and a message arrives.
  void both_meet() {
    const Came one = comes(1, 2).get(), zero = zero_.get();
    CHECK(one.error == "");
    CHECK(zero.error == "");
    REQUIRE((one.comm && zero.comm));
    auto heard = std::async(std::launch::async, [&] { return broadcast_text(*one.comm, ""); });
    CHECK(broadcast_text(*zero.comm, "a message") == "a message");
    CHECK(heard.get() == "a message");
  }

 private:
  SocketOptions options_;
  std::future<Came> zero_;
};

void say(const Socket& socket, const std::string& bytes) {
  REQUIRE(send_all(socket.fd(), bytes.data(), bytes.size(), Deadline::in(10)));
}
std::string hear(const Socket& socket, size_t bytes) {
  std::string text(bytes, '\0');
  REQUIRE(receive_all(socket.fd(), text.data(), bytes, Deadline::in(10)));
  return text;
}
Socket next_call(int listener) {
  int error = 0;
  for (int i = 0; i < 1000; ++i) {
    Socket socket = accept_one(listener, error);
    if (socket.fd() >= 0) return socket;
    usleep(10'000);
  }
  return Socket();
}

// An address of this machine that others reach; "" if it has none.
std::string address_of_machine() {
  ifaddrs* first = nullptr;
  std::string found;
  if (getifaddrs(&first) != 0) return "";
  for (const ifaddrs* a = first; a; a = a->ifa_next) {
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !found.empty()) continue;
    Address address{.family = 4};
    std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr, 4);
    if (!address.loopback()) found = text_of(address);
  }
  freeifaddrs(first);
  return found;
}
bool reachable(const std::string& address, int port) {
  return testing::error_of([&] { connect_to(address, port, Deadline::in(0)); }).empty();
}

}  // namespace

TEST_CASE("a hello of a rank that cannot be does not end the start", "[comm]") {
  const Hello good = new_hello(1, 2);
  REQUIRE(parse_hello(bytes_of(good)).has_value());
  std::vector<Hello> bad(7, good);
  bad[0].rank = INT32_MIN;
  bad[1].rank = 0;
  bad[2].rank = 2;
  bad[3].size = INT32_MIN;
  bad[4].size = INT32_MAX;
  bad[5].process.pid = -1;
  bad[6].magic[7] = '1';
  for (const Hello& hello : bad) CHECK_FALSE(parse_hello(bytes_of(hello)).has_value());
  CHECK_FALSE(parse_hello(bytes_of(good).substr(1)).has_value());
  CHECK_FALSE(parse_hello(bytes_of(good) + "x").has_value());
  bad.push_back(new_hello(1, 99));
  Start start;
  std::vector<Socket> strangers;
  for (const Hello& hello : bad) say(strangers.emplace_back(start.stranger()), bytes_of(hello));
  start.both_meet();
}

TEST_CASE("a hello without a proof does not take the place of a rank", "[comm]") {
  Start start;
  const Socket stranger = start.stranger();
  say(stranger, bytes_of(new_hello(1, 2)));
  hear(stranger, sizeof(Challenge));
  start.both_meet();
}

TEST_CASE("a proof of another key or of another conversation is refused", "[comm]") {
  Start start;
  const auto refused = [&](const std::function<Proof(const Hello&, const Challenge&)>& proof) {
    const Socket stranger = start.stranger();
    const Hello hello = new_hello(1, 2);
    say(stranger, bytes_of(hello));
    const auto challenge = parse_challenge(hear(stranger, sizeof(Challenge)));
    REQUIRE(challenge.has_value());
    say(stranger, bytes_of(proof(hello, *challenge)));
    const auto verdict = parse_verdict(hear(stranger, sizeof(KeyVerdict)));
    REQUIRE(verdict.has_value());
    return verdict->same_key == 0 && verdict->proof == Proof{};
  };
  CHECK(refused([](auto&, auto&) { return Proof{}; }));
  CHECK(refused([](auto& h, auto& c) { return proof_of(Side::opener, "another secret of tests", h, c); }));
  CHECK(refused([](auto& h, auto& c) { return proof_of(Side::opener, "", h, c); }));
  CHECK(refused([](auto& h, auto& c) { return proof_of(Side::listener, kSecret, h, c); }));
  CHECK(refused([](auto& h, auto&) { return proof_of(Side::opener, kSecret, h, new_challenge()); }));
  CHECK(refused([](auto&, auto& c) { return proof_of(Side::opener, kSecret, new_hello(1, 2), c); }));
  start.both_meet();
}

TEST_CASE("silent and garbage connections cost a start nothing", "[comm]") {
  const int silent = GENERATE(20, 40, 300);  // more than an Acceptor keeps
  Start start;
  std::vector<Socket> strangers;
  for (int i = 0; i < silent; ++i) strangers.push_back(start.stranger());
  for (int i = 0; i < 50; ++i) {
    say(strangers.emplace_back(start.stranger()), i % 2 == 0 ? "GET / HTTP/1.1\r\n" : std::string(500, 'x'));
  }
  start.both_meet();  // each would cost some of the 20 s if they were heard one after another
}

TEST_CASE("a stranger that leaves does not fail the start", "[comm]") {
  Start start;
  say(start.stranger(), bytes_of(new_hello(1, 2)));
  start.stranger();
  start.both_meet();
}

TEST_CASE("a rank that leaves before all have come may be started again", "[comm]") {
  Start start(3);
  {
    const Socket rank = start.stranger();
    introduce(rank.fd(), new_hello(1, 3), kSecret, "rank 0", Deadline::in(10));
  }
  usleep(500'000);
  auto one = start.comes(1, 3), two = start.comes(2, 3);
  // All of them stay until all have met.
  const Came of_zero = start.zero(), of_one = one.get(), of_two = two.get();
  CHECK(of_zero.error == "");
  CHECK(of_one.error == "");
  CHECK(of_two.error == "");
}

TEST_CASE("a rank that leaves once all have come is missed by the first collective", "[comm]") {
  const bool sees_processes = GENERATE(true, false);
  Start start(2, 600, sees_processes);
  {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    REQUIRE(waitpid(pid, nullptr, 0) == pid);
    const Socket rank = start.stranger();
    Hello hello = new_hello(1, 2);
    hello.process.pid = pid;
    introduce(rank.fd(), hello, kSecret, "rank 0", Deadline::in(10));
    hear(rank, sizeof(Answer));
  }
  const Came zero = start.zero();
  REQUIRE(zero.error == "");
  CHECK(testing::contains(testing::error_of([&] { zero.comm->barrier(); }), "rank 1 has ended and does not take part"));
}

#if defined(__linux__)
TEST_CASE("a group ends without an open file or memory", "[comm]") {
  const auto all = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    return std::pair(files, testing::contains(text, "policygrad ranks"));
  };
  const auto before = all();
  CHECK_FALSE(before.second);
  for (const bool sees_processes : {true, false}) {
    Start start(2, 20, sees_processes);
    start.both_meet();
  }
  CHECK(all() == before);
}
#endif

TEST_CASE("a process that was started wrongly is told so and the others go on", "[comm]") {
  Start start(3);
  auto one = start.comes(1, 3);
  CHECK(testing::contains(start.comes(1, 4).get().error, "rank 1 was started with 4 ranks, and rank 0 with 3"));
  CHECK(testing::contains(start.comes(2, 3, "another secret of tests").get().error, "the tokens differ"));
  usleep(500'000);
  CHECK(testing::contains(start.comes(1, 3).get().error, "two processes were started as rank 1"));
  auto two = start.comes(2, 3);
  // All of them stay until all have met.
  const Came of_zero = start.zero(), of_one = one.get(), of_two = two.get();
  CHECK(of_zero.error == "");
  CHECK(of_one.error == "");
  CHECK(of_two.error == "");
}

TEST_CASE("the words of one that has not proved are no rank's last words", "[comm]") {
  Start start;
  const LastWords words = LastWords::of("the moon is full");
  std::vector<Socket> strangers;
  say(strangers.emplace_back(start.stranger()), bytes_of(new_hello(1, 2)) + "r" + bytes_of(words));
  say(strangers.emplace_back(start.stranger()), "r" + bytes_of(words));
  start.both_meet();
}

TEST_CASE("a rank sends no token and believes no one who does not know it", "[comm]") {
  int port = 0;
  const Socket listener(listen_at("127.0.0.1", port));
  const auto says_of = [&](const std::function<std::string(const Hello&, const Challenge&, const Proof&)>& verdict) {
    auto rank = std::async(std::launch::async, come_as,
                           SocketOptions{.rank = 1, .size = 2, .port = port, .token = kSecret, .timeout = 10});
    Socket socket = next_call(listener.fd());
    std::string heard = hear(socket, sizeof(Hello));
    const auto hello = parse_hello(heard);
    const Challenge challenge = new_challenge();
    say(socket, bytes_of(challenge));
    const std::string proof = hear(socket, sizeof(Proof));
    heard += proof;
    CHECK_FALSE(testing::contains(heard, kSecret));
    Proof given;
    std::memcpy(given.data(), proof.data(), sizeof given);
    REQUIRE(hello.has_value());
    CHECK(given == proof_of(Side::opener, kSecret, *hello, challenge));
    say(socket, verdict(*hello, challenge, given));
    socket.close();
    return rank.get().error;
  };
  const auto accepts = [](const Proof& proof) {
    KeyVerdict verdict{.same_key = 1, .proof = proof};
    std::memcpy(verdict.magic, kMagic, sizeof kMagic);
    return bytes_of(verdict);
  };
  const std::string unknown = "does not know the token of this run";
  CHECK(testing::contains(says_of([&](auto&, auto&, auto&) { return accepts({}); }), unknown));
  CHECK(testing::contains(says_of([&](auto&, auto&, auto& proof) { return accepts(proof); }), unknown));  // mirrored
  CHECK(testing::contains(says_of([&](auto& h, auto& c, auto&) { return accepts(proof_of(Side::listener, "", h, c)); }),
                          unknown));
  CHECK(testing::contains(
      says_of([&](auto&, auto&, auto& p) { return bytes_of(verdict_on(bytes_of(p), kSecret, {}, {})); }),
      "it belongs to another run (the tokens differ)"));
  CHECK(testing::contains(says_of([&](auto&, auto&, auto&) { return std::string(sizeof(KeyVerdict), 'x'); }),
                          "is another program"));
  // It goes on with one who knows the token.
  CHECK(testing::contains(
      says_of([&](auto& h, auto& c, auto&) { return accepts(proof_of(Side::listener, kSecret, h, c)); }),
      "has ended, or is silent"));
}

TEST_CASE("ranks do not start beyond the loopback without a token", "[comm]") {
  for (const int rank : {0, 1}) {
    for (const std::string token : {"", "fifteen letters"}) {
      const std::string error =
          come_as({.rank = rank, .size = 2, .address = "0.0.0.0", .token = token, .run = kSecret, .timeout = 5}).error;
      INFO(error);
      CHECK(testing::contains(error, "0.0.0.0 is not the loopback"));
      CHECK(testing::contains(error, "POLICYGRAD_TOKEN of at least 16 characters"));
      CHECK(testing::contains(error, token.empty() ? "it is not set" : "it has 15"));
      CHECK(testing::contains(error, "openssl rand -hex 32"));
    }
  }
  const std::string machine = address_of_machine();
  if (!machine.empty()) {
    CHECK(testing::contains(come_as({.size = 2, .address = machine, .timeout = 5}).error, "POLICYGRAD_TOKEN"));
  }
}

TEST_CASE("rank 0 listens at the address that was asked for and at no other", "[comm]") {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::vector<std::string> addresses = {"127.0.0.1", "localhost", name, address_of_machine()};
#if defined(__linux__)
  addresses.push_back("127.0.0.2");  // other systems have no second address of the loopback
#endif
  for (const std::string& address : addresses) {
    int port = 0, error = 0;
    if (address.empty()) continue;
    INFO(address);
    Socket listener;
    const std::string failure = testing::error_of([&] { listener = Socket(listen_at(address, port)); });
    if (!failure.empty()) {  // the machine's name may be unknown to the machine
      CHECK(address == name);
      continue;
    }
    const std::string at = text_of(local_address(listener.fd()));
    CHECK((at == address || address.find_first_not_of("0123456789.") != std::string::npos));
    CHECK(at != "0.0.0.0");
    CHECK(at != "::");
    CHECK(reachable(at, port));
    CHECK(accept_one(listener.fd(), error).fd() >= 0);
    for (const std::string& other : addresses) {
      if (other == at || other.find_first_not_of("0123456789.") != std::string::npos || other.empty()) continue;
      INFO(other);
      CHECK_FALSE(reachable(other, port));
    }
  }
  int port = 0;
  CHECK(testing::contains(testing::error_of([&] { listen_at("198.51.100.7", port); }),
                          "rank 0 cannot listen at 198.51.100.7: it is no address of this machine"));
}
