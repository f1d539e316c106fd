// check: none
#include "lessons/03_language_model/mutants/answers.h"
