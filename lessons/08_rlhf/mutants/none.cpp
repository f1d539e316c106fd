// check: none
#include "lessons/08_rlhf/mutants/answers.h"
