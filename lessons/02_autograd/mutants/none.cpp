// check: none
#include "lessons/02_autograd/mutants/answers.h"
