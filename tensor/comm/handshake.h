#pragma once
// What two ranks say to each other on a new connection, as bytes. Each of them proves that it knows the key of the run;
// the key itself is never sent. The rank that opened the connection proves first, so a stranger that calls learns
// nothing.
//
//   from the opener    Hello      who it is, and a nonce
//   from the listener  Challenge  a nonce
//   from the opener    Proof      HMAC-SHA-256 of the hello, the challenge and its side
//   from the listener  KeyVerdict the same with the other side, or that the proof was wrong
//
// On rank 0's control connections Answer follows, and the addresses of all ranks. What follows a handshake is neither
// encrypted nor authenticated. The functions here read bytes of a network: any bytes are allowed.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/sha256.h"
#include "tensor/comm/sockets.h"

namespace pg {

inline constexpr char kMagic[8] = {'p', 'g', 'r', 'a', 'n', 'k', 's', '2'};

// What a connection carries.
enum class Use : int32_t { control, data };
using Nonce = std::array<unsigned char, 32>;
using Proof = Digest;
enum class Side : char { opener = 'o', listener = 'l' };

struct Hello {
  char magic[8] = {};
  int32_t rank = 0, size = 0;
  int32_t port = 0;  // where the rank itself listens, for rank 0's control connections
  Use use = Use::control;
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
// What rank 0 says before it sends the addresses of all: an error, or "".
struct Answer {
  char magic[8] = {};
  char error[1016] = {};
};

// These have a new nonce. Error if the system has no random numbers.
Hello new_hello(int rank, int size, int port, Use use);
Challenge new_challenge();
Answer new_answer(const std::string& error);

Proof proof_of(Side side, std::string_view key, const Hello& hello, const Challenge& challenge);
// What the listener says to a proof, which has sizeof(Proof) bytes.
KeyVerdict verdict_on(std::string_view proof, std::string_view key, const Hello& hello, const Challenge& challenge);

// A hello whose numbers are those of some rank of some group, from rank 1 on: rank 0 opens no connections.
std::optional<Hello> parse_hello(std::string_view bytes);
std::optional<Challenge> parse_challenge(std::string_view bytes);
std::optional<KeyVerdict> parse_verdict(std::string_view bytes);
// The error that rank 0 names, or "".
std::optional<std::string> parse_answer(std::string_view bytes);
// The addresses of all ranks, by rank; that of rank 0 is empty.
std::optional<std::vector<Address>> parse_addresses(std::string_view bytes, size_t ranks);

}  // namespace pg
