// Fuzz target: a JSONL file of conversations, or of prompts and responses. A text that is kept has a mark for each id,
// and one that is learned.
// sources: tasks/chat/chat_data.cpp tasks/chat/chat.cpp tasks/chat/chat_rows.cpp tasks/chat/chat_template.cpp
// sources: tasks/data/text_data.cpp
// sources: tensor/base/json.cpp tensor/base/json_text.cpp tensor/base/text.cpp
// archives: pg_tasks pg_bpe pg_text_tasks pg_text pg_base
// libraries: pcre2-8 utf8proc gmpxx gmp
// options: -max_len=3000 -dict=tests/fuzz/chat_data.dict
// seed: {"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}\n
// seed: {"messages":[{"role":"system","content":""},{"role":"assistant","content":"b"}]}\r\n
// seed: {"prompt":"1+1=","response":"2"}\n\n{"prompt":"x","completion":" y","z":null}
// seed: {"question":"2+2?","answer":"4"}\n{"problem":"\\u00e9","response":"\\ud83d\\ude00"}
// seed: {"messages":[{"role":"assistant","content":"b","tool_calls":[]},{"role":"user","thinking":"t","content":"c"}]}
#include "tasks/chat/chat_data.h"

#include "tests/fuzz/driver/files.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const BpeTokenizer tokenizer = testing::byte_tokenizer();
  static const ChatTemplate formats[] = {ChatTemplate(), ChatTemplate("chatml"), ChatTemplate("qwen3")};
  const std::string path = fuzz::file("x.jsonl", fuzz::text_of(data, size));
  for (const ChatTemplate& format : formats) {
    fuzz::no_worse_than_error([&] {
      const ChatData read = read_chat_data(path, tokenizer, {.format = format, .max_length = 200, .val_share = 0.3});
      fuzz::expect(!read.train.empty() || !read.val.empty());
      for (const auto* texts : {&read.train, &read.val}) {
        for (const TunedText& text : *texts) {
          fuzz::expect(text.ids.size() == text.learned.size() && text.ids.size() <= 200);
          int64_t learned = 0;
          for (const uint8_t one : text.learned) learned += one;
          fuzz::expect(learned > 0);
        }
      }
    });
  }
  return 0;
}
