// Fuzz target: the folder of an evaluation: evaluation.json, a zero byte, results.jsonl. What is read are whole
// problems from the first on; reading again gives the same, and a line that is written again is read as the same.
// sources: tools/pg/eval/eval_results.cpp tasks/data/text_data.cpp tensor/base/json.cpp tensor/base/json_text.cpp
// sources: tensor/base/text.cpp
// archives: pg_parts pg_rl_text pg_rl pg_models pg_files pg_nn pg_check pg_autograd pg_comm pg_tensor
// archives: pg_tasks pg_bpe pg_text_tasks pg_text pg_act pg_base_files pg_base
// libraries: pcre2-8 utf8proc gmpxx gmp
// options: -max_len=2000 -dict=tests/fuzz/eval_folder.dict
// seed-file: tests/fuzz/corpus/eval_folder.copy
// seed-file: tests/fuzz/corpus/eval_folder.cut
// seed-file: tests/fuzz/corpus/eval_folder.other
#include <filesystem>

#include "tests/fuzz/driver/files.h"
#include "tools/pg/eval/eval_results.h"

using namespace pg;
using namespace pg::tools;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string folder = fuzz::path_of("evaluation");
  std::filesystem::create_directories(folder);
  fuzz::file("evaluation/evaluation.json", text.substr(0, end));
  fuzz::file("evaluation/results.jsonl", text.substr(std::min(end + 1, text.size())));
  fuzz::no_worse_than_error([&] {
    const Json models = Json::array({{{"run", "c"}, {"weights", "w"}}});
    EvalFolder evaluation(folder, {{"task", "copy"}, {"models", models}});
    const std::vector<rl::EvalResponse> read = evaluation.read(1, 3, 1);
    fuzz::expect(read.size() <= 3);
    const std::vector<rl::EvalResponse> again = evaluation.read(1, 3, 1);
    fuzz::expect(again.size() == read.size());
    for (size_t i = 0; i < read.size(); ++i) {
      const std::string line = eval_line(0, read[i]);
      fuzz::expect(read[i].problem == static_cast<int64_t>(i) && line == eval_line(0, again[i]));
      fuzz::expect(eval_line(0, eval_response(line, 0, "line")) == line);
    }
  });
  return 0;
}
