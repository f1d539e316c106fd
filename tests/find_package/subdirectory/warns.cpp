// A file of a project that contains policygrad. The warning is an error only if policygrad's flags reach this file.
#include <rl/text/trainer.h>

int main() {
  int unused;
  return 0;
}
