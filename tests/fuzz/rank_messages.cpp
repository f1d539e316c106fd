// Fuzz target: what a rank reads from a socket before it trusts the other side, and the calls of collectives after it.
// sources: tensor/comm/handshake.cpp tensor/comm/activity.cpp tensor/comm/collective_call.cpp tensor/base/sha256.cpp
// seed: pgranks3\1\0\0\0\2\0\0\0%0156d
// seed: pgranks3\1\0\0\00012345678901234567890123456789012
// seed: \0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\5\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0
#include <cstdlib>
#include <cstring>

#include "tensor/comm/collective_call.h"
#include "tensor/comm/handshake.h"

using namespace pg;

namespace {

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

// The first bytes, of the length of a message, and what follows.
template <class T>
std::string_view take(std::string_view& bytes) {
  const std::string_view message = bytes.substr(0, sizeof(T));
  bytes.remove_prefix(message.size());
  return message;
}

// A conversation: hello, and then a proof that only one who knows the key can make.
void handshake(std::string_view bytes) {
  const auto hello = parse_hello(take<Hello>(bytes));
  if (!hello) return;
  expect(hello->rank >= 1 && hello->rank < hello->size && hello->process.pid >= 0);
  Challenge challenge;
  const std::string_view given = take<Proof>(bytes);
  const Proof proof = proof_of(Side::opener, "key", *hello, challenge);
  const std::string_view right(reinterpret_cast<const char*>(proof.data()), proof.size());
  const KeyVerdict verdict = verdict_on(given, "key", *hello, challenge);
  expect(verdict.same_key == (given == right));
  expect(verdict_on(right, "key", *hello, challenge).proof == proof_of(Side::listener, "key", *hello, challenge));
}

// What rank 0 or another listener says.
void answers(std::string_view bytes) {
  parse_challenge(bytes.substr(0, sizeof(Challenge)));
  if (const auto verdict = parse_verdict(bytes.substr(0, sizeof(KeyVerdict)))) {
    expect(verdict->same_key == 0 || verdict->same_key == 1);
  }
  std::string whole(bytes.substr(0, sizeof(Answer)));
  whole.resize(sizeof(Answer), 'x');
  if (const auto answer = parse_answer(whole)) {
    expect(answer->pid >= 0 && answer->file >= 0 && answer->elsewhere >= 0);
    expect(std::strlen(answer->error) < sizeof answer->error);
  }
}

void collective(std::string_view bytes) {
  CollectiveCall call;
  if (bytes.size() < sizeof call) return;
  std::memcpy(&call, bytes.data(), sizeof call);
  const std::string name = name_of(call);
  constexpr int ranks = 3;
  if (!defect_of(call, ranks).empty()) return;
  expect(name.find('?') == std::string::npos);
  expect(call.root >= 0 && call.root < ranks && call.terms >= 0 && call.terms <= ranks);
  expect(call.n >= 0 && call.unit >= 1 && (call.add == 0 || call.add == 1));
  expect(adds_up(call.op) == (call.terms > 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  handshake(bytes);
  answers(bytes);
  collective(bytes);
  return 0;
}
