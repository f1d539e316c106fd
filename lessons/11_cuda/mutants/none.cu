// check: none
#include "lessons/11_cuda/answers.h"
