// Connections of strangers while the ranks of a TCP group meet: none of them ends, delays or joins the start.
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tensor/comm/authentication.h"
#include "tensor/comm/links.h"
#include "tensor/comm/socket_links.h"
#include "tests/catch.h"

using namespace pg;

namespace {

const std::string kSecret = "a secret of these tests";

struct Met {
  std::unique_ptr<Links> links;
  std::string error;
};
Met meet_as(const SocketOptions& o) {
  Met met;
  met.error = testing::error_of([&] { met.links = socket_links(o); });
  return met;
}

// The start of a group whose rank 0 listens already; the others come when a test says so.
class Start {
 public:
  explicit Start(int ranks = 2, double timeout = 20)
      : options_{.size = ranks, .port = 0, .token = kSecret, .timeout = timeout} {
    SocketOptions o = options_;
    o.listener = listen_at(o.address, o.port);
    options_.port = o.port;
    zero_ = std::async(std::launch::async, meet_as, o);
  }
  std::future<Met> comes(int rank, int ranks, const std::string& token = kSecret) const {
    SocketOptions o = options_;
    o.rank = rank;
    o.size = ranks;
    o.token = token;
    return std::async(std::launch::async, meet_as, o);
  }
  Socket stranger() const { return connect_to(options_.address, options_.port, Deadline::in(10)); }
  Met zero() { return zero_.get(); }
  // Rank 1 comes, and a message arrives.
  void both_meet() {
    Met one = comes(1, 2).get(), zero = zero_.get();
    CHECK(one.error == "");
    CHECK(zero.error == "");
    REQUIRE((one.links && zero.links));
    const std::string sent = "a message";
    std::string received(sent.size(), ' ');
    zero.links->send(1, sent.data(), std::ssize(sent));
    one.links->receive(0, received.data(), std::ssize(received));
    for (int i = 0; i < 1000 && one.links->receives_left(0) > 0; ++i) {
      zero.links->progress(0.01);
      one.links->progress(0.01);
    }
    CHECK(received == sent);
    CHECK(zero.links->failure() == "");
    CHECK(one.links->failure() == "");
  }

 private:
  SocketOptions options_;
  std::future<Met> zero_;
};

template <class T>
std::string bytes_of(const T& x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}
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
  const Hello good = new_hello(1, 2, 5000, Use::control);
  REQUIRE(parse_hello(bytes_of(good)).has_value());
  std::vector<Hello> bad(9, good);
  bad[0].rank = INT32_MIN;
  bad[1].rank = 0;
  bad[2].rank = 2;
  bad[3].size = INT32_MIN;
  bad[4].size = INT32_MAX;
  bad[5].port = -1;
  bad[6].port = 65536;
  bad[7].use = static_cast<Use>(2);
  bad[8].magic[7] = '1';
  for (const Hello& hello : bad) CHECK_FALSE(parse_hello(bytes_of(hello)).has_value());
  CHECK_FALSE(parse_hello(bytes_of(good).substr(1)).has_value());
  CHECK_FALSE(parse_hello(bytes_of(good) + "x").has_value());
  bad.push_back(new_hello(1, 99, 5000, Use::control));
  Start start;
  std::vector<Socket> strangers;
  for (const Hello& hello : bad) say(strangers.emplace_back(start.stranger()), bytes_of(hello));
  start.both_meet();
}

TEST_CASE("a hello without a proof does not take the place of a rank", "[comm]") {
  Start start;
  const Socket control = start.stranger(), data = start.stranger();
  say(control, bytes_of(new_hello(1, 2, 5000, Use::control)));
  say(data, bytes_of(new_hello(1, 2, 0, Use::data)));
  hear(control, sizeof(Challenge));
  start.both_meet();
}

TEST_CASE("a proof of another key or of another conversation is refused", "[comm]") {
  Start start;
  const auto refused = [&](const std::function<Proof(const Hello&, const Challenge&)>& proof) {
    const Socket stranger = start.stranger();
    const Hello hello = new_hello(1, 2, 5000, Use::control);
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
  CHECK(
      refused([](auto&, auto& c) { return proof_of(Side::opener, kSecret, new_hello(1, 2, 5000, Use::control), c); }));
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
  say(start.stranger(), bytes_of(new_hello(1, 2, 5000, Use::control)));
  start.stranger();
  start.both_meet();
}

TEST_CASE("a rank that leaves before all have come may be started again", "[comm]") {
  Start start(3);
  {
    const Socket rank = start.stranger();
    introduce(rank.fd(), new_hello(1, 3, 5000, Use::control), kSecret, "rank 0", Deadline::in(10));
  }
  usleep(500'000);
  auto one = start.comes(1, 3), two = start.comes(2, 3);
  // All of them stay until all have met.
  const Met of_zero = start.zero(), of_one = one.get(), of_two = two.get();
  CHECK(of_zero.error == "");
  CHECK(of_one.error == "");
  CHECK(of_two.error == "");
}

TEST_CASE("a rank that leaves once all have come ends the start at once", "[comm]") {
  Start start(2, 600);
  {
    const Socket rank = start.stranger();
    introduce(rank.fd(), new_hello(1, 2, 5000, Use::control), kSecret, "rank 0", Deadline::in(10));
    hear(rank, sizeof(Answer) + 2 * sizeof(Address));
  }
  CHECK(testing::contains(start.zero().error, "rank 1 has ended"));
}

TEST_CASE("a process that was started wrongly is told so and the others go on", "[comm]") {
  Start start(3);
  auto one = start.comes(1, 3);
  CHECK(testing::contains(start.comes(1, 4).get().error, "rank 1 was started with 4 ranks, and rank 0 with 3"));
  const Socket nowhere = start.stranger();
  introduce(nowhere.fd(), new_hello(2, 3, 0, Use::control), kSecret, "rank 0", Deadline::in(10));
  CHECK(parse_answer(hear(nowhere, sizeof(Answer))) == "rank 2 did not say its port");
  CHECK(testing::contains(start.comes(2, 3, "another secret of tests").get().error, "the tokens differ"));
  usleep(500'000);
  CHECK(testing::contains(start.comes(1, 3).get().error, "two processes were started as rank 1"));
  auto two = start.comes(2, 3);
  // All of them stay until all have met.
  const Met of_zero = start.zero(), of_one = one.get(), of_two = two.get();
  CHECK(of_zero.error == "");
  CHECK(of_one.error == "");
  CHECK(of_two.error == "");
}

TEST_CASE("the words of one that has not proved are no rank's last words", "[comm]") {
  Start start;
  std::vector<Socket> strangers;
  for (const Use use : {Use::control, Use::data}) {
    const LastWords words = LastWords::of("the moon is full");
    say(strangers.emplace_back(start.stranger()), bytes_of(new_hello(1, 2, 5000, use)) + "r" + bytes_of(words));
    say(strangers.emplace_back(start.stranger()), "r" + bytes_of(words));
  }
  start.both_meet();
}

TEST_CASE("a byte that no rank says ends the group with an error", "[comm]") {
  Start start;
  const Socket control = start.stranger();
  introduce(control.fd(), new_hello(1, 2, 5000, Use::control), kSecret, "rank 0", Deadline::in(10));
  CHECK(parse_answer(hear(control, sizeof(Answer))) == "");
  hear(control, 2 * sizeof(Address));
  const Socket data = start.stranger();
  introduce(data.fd(), new_hello(1, 2, 0, Use::data), kSecret, "rank 0", Deadline::in(10));
  const Met zero = start.zero();
  REQUIRE(zero.error == "");
  say(control, "bbx");
  for (int i = 0; i < 500 && zero.links->failure().empty(); ++i) zero.links->progress(0.01);
  CHECK(testing::contains(zero.links->failure(), "rank 1 sent 0x78"));
}

TEST_CASE("a rank sends no token and believes no one who does not know it", "[comm]") {
  int port = 0;
  const Socket listener(listen_at("127.0.0.1", port));
  const auto says_of = [&](const std::function<std::string(const Hello&, const Challenge&, const Proof&)>& verdict) {
    auto rank = std::async(std::launch::async, meet_as,
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
          meet_as({.rank = rank, .size = 2, .address = "0.0.0.0", .token = token, .run = kSecret, .timeout = 5}).error;
      INFO(error);
      CHECK(testing::contains(error, "0.0.0.0 is not the loopback"));
      CHECK(testing::contains(error, "POLICYGRAD_TOKEN of at least 16 characters"));
      CHECK(testing::contains(error, token.empty() ? "it is not set" : "it has 15"));
      CHECK(testing::contains(error, "openssl rand -hex 32"));
    }
  }
  const std::string machine = address_of_machine();
  if (!machine.empty()) {
    CHECK(testing::contains(meet_as({.size = 2, .address = machine, .timeout = 5}).error, "POLICYGRAD_TOKEN"));
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

TEST_CASE("other ranks listen where they reach rank 0 and nowhere else", "[comm]") {
  const std::string machine = address_of_machine();
  if (machine.empty()) SKIP_TEST("this machine has no address but the loopback");
  int port = 0;
  const Socket listener(listen_at(machine, port));
  auto rank = std::async(
      std::launch::async, meet_as,
      SocketOptions{.rank = 1, .size = 3, .address = machine, .port = port, .token = kSecret, .timeout = 10});
  Socket socket = next_call(listener.fd());
  const auto hello = parse_hello(hear(socket, sizeof(Hello)));
  REQUIRE(hello.has_value());
  CHECK(reachable(machine, hello->port));
  CHECK_FALSE(reachable("127.0.0.1", hello->port));
  socket.close();
  CHECK(testing::contains(rank.get().error, "gave no answer, or closed the connection"));
}

TEST_CASE("ranks that reach rank 0 over the loopback and over a network cannot reach each other", "[comm]") {
  const std::string machine = address_of_machine();
  if (machine.empty()) SKIP_TEST("this machine has no address but the loopback");
  SocketOptions o{.size = 3, .address = "0.0.0.0", .port = 0, .token = kSecret, .timeout = 10};
  o.listener = listen_at(o.address, o.port);
  auto zero = std::async(std::launch::async, meet_as, o);
  o.listener = -1;
  std::vector<std::future<Met>> others;
  for (const auto& [rank, address] : {std::pair{1, std::string("127.0.0.1")}, {2, machine}}) {
    o.rank = rank;
    o.address = address;
    others.push_back(std::async(std::launch::async, meet_as, o));
  }
  CHECK(testing::contains(others[1].get().error,
                          fmt::format("rank 1 is at 127.0.0.1 for rank 0, which this rank reaches at {}", machine)));
  CHECK(testing::contains(others[0].get().error, "rank 2 is at"));
  CHECK(testing::contains(zero.get().error, "has ended"));
}
