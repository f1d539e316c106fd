#pragma once
// What two ranks say to each other on a new connection, as bytes. Each of them proves that it knows the key of the run;
// the key itself is never sent. The rank that opened the connection proves first, so a stranger that calls learns
// nothing.
//
//   from the opener    Hello      who it is, where it runs, and a nonce
//   from the listener  Challenge  a nonce
//   from the opener    Proof      HMAC-SHA-256 of the hello, the challenge and its side
//   from the listener  KeyVerdict the same with the other side, or that the proof was wrong
//
// Rank 0 is the listener. Once all ranks have come it sends each of them an Answer. What follows a handshake is neither
// encrypted nor authenticated. The functions here read bytes of a network: any bytes are allowed.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/base/sha256.h"
#include "tensor/comm/activity.h"

namespace pg {

inline constexpr char kMagic[8] = {'p', 'g', 'r', 'a', 'n', 'k', 's', '3'};

using Nonce = std::array<unsigned char, 32>;
using Proof = Digest;
enum class Side : char { opener = 'o', listener = 'l' };

struct Hello {
  char magic[8] = {};
  int32_t rank = 0, size = 0;
  ProcessAddress process = {};
  Nonce nonce = {};
};
struct Challenge {
  char magic[8] = {};
  Nonce nonce = {};
};
struct KeyVerdict {
  char magic[8] = {};
  int32_t same_key = 0;  // 1, and the proof; or 0
  Proof proof = {};
};
// What rank 0 says once all have come: an error, or how they go on.
struct Answer {
  char magic[8] = {};
  int32_t pid = 0, file = 0;  // rank 0's process, and its file of memory if the ranks share one
  int32_t elsewhere = 0;      // otherwise a rank that is not on rank 0's machine; 0 if all are
  char error[1004] = {};
};

// These have a new nonce. The hello is that of this process. Error if the system has no random numbers.
Hello new_hello(int rank, int size);
Challenge new_challenge();
Answer new_answer(const std::string& error);

Proof proof_of(Side side, std::string_view key, const Hello& hello, const Challenge& challenge);
// What the listener says to a proof, which has sizeof(Proof) bytes.
KeyVerdict verdict_on(std::string_view proof, std::string_view key, const Hello& hello, const Challenge& challenge);

// A hello whose numbers are those of some rank of some group, from rank 1 on: rank 0 opens no connections.
std::optional<Hello> parse_hello(std::string_view bytes);
std::optional<Challenge> parse_challenge(std::string_view bytes);
std::optional<KeyVerdict> parse_verdict(std::string_view bytes);
// An answer whose numbers can be those of a process, a file and a rank, and whose error ends with 0.
std::optional<Answer> parse_answer(std::string_view bytes);

}  // namespace pg
