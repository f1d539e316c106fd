// check: none
#include "lessons/07_ppo/mutants/answers.h"
