// check: none
#include "lessons/11_cuda/mutants/answers.h"
