#pragma once
// The random inputs of the checks, and other ones for `check --challenge N`.
#include "tensor/base/random.h"

namespace pg::kit {

// From here on draws() gives other numbers, the same for the same `number`; 0: those of every check without a
// challenge.
void set_challenge(uint64_t number);

// A generator of a check's inputs. `seed` is the check's own.
Generator draws(uint64_t seed);

// Whether draws() was called since begin_draws(). A check that does not call it has the same inputs in every challenge.
void begin_draws();
bool has_drawn();

}  // namespace pg::kit
