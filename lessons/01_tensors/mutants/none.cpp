// check: none
#include "lessons/01_tensors/mutants/answers.h"
