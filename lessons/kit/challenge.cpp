// The seeds of the checks' inputs.
#include "lessons/kit/challenge.h"

namespace pg::kit {
namespace {

uint64_t challenge = 0;
bool drawn = false;

}  // namespace

void set_challenge(uint64_t number) { challenge = number; }

Generator draws(uint64_t seed) {
  drawn = true;
  return challenge == 0 ? Generator(seed) : random_stream(seed, challenge);
}

void begin_draws() { drawn = false; }
bool has_drawn() { return drawn; }

}  // namespace pg::kit
