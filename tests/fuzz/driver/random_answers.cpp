// Calls the fuzz target grade.cpp with random pairs of answers made of the pieces of grade.dict. Without sanitizers and
// coverage it tries far more inputs than libFuzzer; the same seed tries the same ones. To build and run it:
//   g++ -std=c++20 -O2 -I. -DFMT_SHARED tests/fuzz/driver/random_answers.cpp tests/fuzz/grade.cpp
//     tasks/grade/*.cpp tensor/base/text.cpp -lfmt -lgmpxx -lgmp -o random_answers
//   ./random_answers COUNT [SEED]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::string> pieces() {
  std::vector<std::string> all = {"1", "2", "7", "10", "x", "y", "+", "-", "*", "/", "(",
                                  ")", "[", "]", "{",  "}", ",", "^", "=", "<", " "};
  std::ifstream file("tests/fuzz/grade.dict");
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || line[0] != '"') continue;
    std::string piece;
    for (size_t i = 1; i + 1 < line.size(); ++i) piece += line[line[i] == '\\' ? ++i : i];
    all.push_back(piece);
  }
  return all;
}

struct Random {  // xorshift64*
  uint64_t state;
  uint64_t below(uint64_t n) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return ((state * 0x2545f4914f6cdd1dull) >> 33) % n;
  }
};

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> all = pieces();
  const uint64_t inputs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 100000;
  Random random{count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1};
  std::string text;
  for (uint64_t i = 0; i < inputs; ++i) {
    text.clear();
    for (uint64_t k = random.below(8); k < 9; ++k) text += all[random.below(all.size())];
    if (random.below(2) == 0) {  // the gold is the given answer with one byte changed
      const std::string given = text;
      text += '\n' + given;
      text[given.size() + 1 + random.below(given.size())] = static_cast<char>(' ' + random.below(95));
    } else {
      text += '\n';
      for (uint64_t k = random.below(8); k < 9; ++k) text += all[random.below(all.size())];
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if ((i + 1) % 1000000 == 0)
      std::printf("%llu inputs\n", static_cast<unsigned long long>(i + 1)), std::fflush(stdout);
  }
  std::printf("%llu inputs without a failure\n", static_cast<unsigned long long>(inputs));
}
