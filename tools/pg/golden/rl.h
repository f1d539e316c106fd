#pragma once
// The operations "rl.*" of golden cases: the functions of rl/.
#include "tools/pg/golden/table.h"

namespace pg::tools {

void add_rl(GoldenTable& table);

}  // namespace pg::tools
