// check: none
#include "lessons/06_reinforce/mutants/answers.h"
