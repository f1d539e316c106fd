#pragma once
// A corpus that needs no download: small stories from a seeded grammar. The text determines every choice the generator
// made, so the entropy of the process is known exactly, and so is the lowest loss that any model of this text can
// reach.
#include <cstdint>
#include <string>

namespace pg {

// Whole stories, each ending in an empty line, until the text has at least `bytes` bytes. ASCII. The text is a pure
// function of the two arguments.
std::string generate_stories(int64_t bytes = 1'000'000, uint64_t seed = 1);

// The entropy rate of the process in nats per character: E[nats of the choices in a story] / E[characters in a story].
// Stories are independent and no story is a prefix of another, so no predictor has a lower expected loss on fresh
// stories, however long its context; a predictor that has the grammar reaches it.
double stories_entropy_per_char();

}  // namespace pg
