// The bytes of a handshake: made, and checked when they come from a network.
#include "tensor/comm/handshake.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/base/error.h"

namespace pg {
namespace {

template <class T>
std::string_view bytes_of(const T& message) {
  static_assert(std::has_unique_object_representations_v<T>);  // no padding
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

template <class Message>
Message marked() {
  Message message;
  std::memcpy(message.magic, kMagic, sizeof kMagic);
  return message;
}

// The message, if the bytes have its length and the magic.
template <class Message>
std::optional<Message> read(std::string_view bytes) {
  static_assert(std::has_unique_object_representations_v<Message>);
  Message message;
  if (bytes.size() != sizeof message) return {};
  std::memcpy(&message, bytes.data(), sizeof message);
  if (std::memcmp(message.magic, kMagic, sizeof kMagic) != 0) return {};
  return message;
}

Nonce new_nonce() {
  Nonce nonce;
  check(getentropy(nonce.data(), nonce.size()) == 0, "ranks: the system has no random numbers: {}",
        std::strerror(errno));
  return nonce;
}

}  // namespace

Hello new_hello(int rank, int size) {
  Hello hello = marked<Hello>();
  hello.rank = rank;
  hello.size = size;
  hello.process = this_process();
  hello.nonce = new_nonce();
  return hello;
}

Challenge new_challenge() {
  Challenge challenge = marked<Challenge>();
  challenge.nonce = new_nonce();
  return challenge;
}

Answer new_answer(const std::string& error) {
  Answer answer = marked<Answer>();
  std::memcpy(answer.error, error.data(), std::min(error.size(), sizeof answer.error - 1));
  return answer;
}

Proof proof_of(Side side, std::string_view key, const Hello& hello, const Challenge& challenge) {
  std::string message(1, static_cast<char>(side));
  message.append(bytes_of(hello)).append(bytes_of(challenge));
  return hmac_sha256(key, message);
}

KeyVerdict verdict_on(std::string_view proof, std::string_view key, const Hello& hello, const Challenge& challenge) {
  KeyVerdict verdict = marked<KeyVerdict>();
  Proof given;
  if (proof.size() != sizeof given) return verdict;
  std::memcpy(given.data(), proof.data(), sizeof given);
  if (!same_digest(given, proof_of(Side::opener, key, hello, challenge))) return verdict;
  verdict.same_key = 1;
  verdict.proof = proof_of(Side::listener, key, hello, challenge);
  return verdict;
}

std::optional<Hello> parse_hello(std::string_view bytes) {
  const auto hello = read<Hello>(bytes);
  if (!hello) return {};
  const bool is_rank = hello->rank >= 1 && hello->size <= INT16_MAX && hello->rank < hello->size;
  return is_rank && hello->process.pid >= 0 ? hello : std::nullopt;
}

std::optional<Challenge> parse_challenge(std::string_view bytes) { return read<Challenge>(bytes); }

std::optional<KeyVerdict> parse_verdict(std::string_view bytes) {
  const auto verdict = read<KeyVerdict>(bytes);
  return verdict && (verdict->same_key == 0 || verdict->same_key == 1) ? verdict : std::nullopt;
}

std::optional<Answer> parse_answer(std::string_view bytes) {
  const auto answer = read<Answer>(bytes);
  if (!answer || answer->pid < 0 || answer->file < 0) return {};
  const bool ends = answer->error[sizeof answer->error - 1] == 0;
  return ends && answer->elsewhere >= 0 && answer->elsewhere < INT16_MAX ? answer : std::nullopt;
}

}  // namespace pg
