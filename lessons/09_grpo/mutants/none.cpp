// check: none
#include "lessons/09_grpo/mutants/answers.h"
