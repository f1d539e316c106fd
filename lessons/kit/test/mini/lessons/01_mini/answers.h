#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lessons/kit/todo.h"

namespace pg::mini {

double twice(double x) {
  // [answer 01.1 twice]
  return 2 * x;
  // [end]
}

double thrice(double x) {
  // [answer 01.2 thrice]
  return 3 * x;
  // [end]
}

}  // namespace pg::mini
