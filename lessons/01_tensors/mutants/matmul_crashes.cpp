// check: 01.4  says: an index outside its memory
#define MUTANT_matmul
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

void matmul(View c, View, View) {
  for (int64_t i = 0;; ++i) c.as<float>()[i << 20] = 0;  // walks off the end
}

}  // namespace pg::lesson01
