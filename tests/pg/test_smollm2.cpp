// A real pretrained model, SmolLM2-135M-Instruct as GGUF, compared with transformers: ids, log-probabilities and greedy
// answers. tools/goldens/make_smollm2_goldens.py made the expected numbers from the same file.
#include <cmath>

#include "nn/decode/generate.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat/chat.h"
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tools/pg/run/run_model.h"

using namespace pg;

namespace {

std::string model_path() {
  const std::string path = find_data(data_files("smollm2-gguf")[0]);
  if (path.empty()) SKIP_TEST("SmolLM2 is not here; ./pg fetch smollm2-gguf gets it");
  return path;
}

}  // namespace

TEST_CASE("smollm2: ids, log-probabilities and greedy answers are those of transformers", "[pg][pretrained]") {
  const tools::RunModel model = tools::load_run_model(model_path(), Device{});
  const auto& tokenizer = dynamic_cast<const BpeTokenizer&>(*model.tokenizer);
  const Json golden = Json::parse(read_file("tests/goldens/pretrained/smollm2.json"));
  NoGrad no_grad;
  for (const auto& text : golden.at("texts")) {
    INFO(text.at("text"));
    const auto ids = text.at("ids").get<std::vector<int32_t>>();
    CHECK(tokenizer.encode(text.at("text").get<std::string>()) == ids);
    const auto count = static_cast<int64_t>(ids.size());
    const Tensor all = Tensor::from(ids, {1, count});
    const Tensor logits = (*model.model)(all.view_slice(1, 0, count - 1));
    const auto got = token_log_prob(logits, all.view_slice(1, 1, count)).first.to_vector();
    const auto want = text.at("log_probs").get<std::vector<double>>();
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-4);
  }
  const ChatEncoder encoder(tokenizer, model.chat_template);
  for (const auto& chat : golden.at("chats")) {
    INFO(chat.at("question"));
    const auto ids = encoder.prompt({{"user", chat.at("question").text()}});
    CHECK(ids == chat.at("ids").get<std::vector<int32_t>>());
    GenerateOptions options;
    options.greedy = true;
    options.max_new_tokens = 48;
    options.stop_ids = {encoder.end_id()};
    CHECK(generate(*model.model, {ids}, options)[0].tokens == chat.at("answer").get<std::vector<int32_t>>());
  }
}
