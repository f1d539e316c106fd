// check: none
#include "lessons/04_gpt/mutants/answers.h"
