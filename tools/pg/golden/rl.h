#pragma once
// The golden operations "rl.*": the functions of rl/.
#include "tools/pg/golden/table.h"

namespace pg::tools {

void add_rl(GoldenTable& table);

}  // namespace pg::tools
