// JSONL files for supervised tuning: what is learned, what is left out, and damaged lines.
#include <algorithm>
#include <fstream>

#include "tasks/chat/chat_data.h"
#include "tensor/base/table.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::TempDir;

namespace {

const BpeTokenizer& byte_tokenizer() {
  static const BpeTokenizer tokenizer = testing::byte_tokenizer();
  return tokenizer;
}

struct File {
  TempDir dir;
  std::string path = dir.file("data.jsonl");
  explicit File(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
};

ChatData read(const std::string& text, const char* format, double val_share = 0, int64_t max_length = 100) {
  const File file(text);
  return read_chat_data(
      file.path, byte_tokenizer(),
      {.format = ChatTemplate(format ? format : ""), .max_length = max_length, .val_share = val_share, .seed = 3});
}

std::string learned_text(const TunedText& text) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (text.learned[i]) ids.push_back(text.ids[i]);
  }
  return byte_tokenizer().decode(ids);
}

}  // namespace

TEST_CASE("chat data: exactly the assistant's words are learned", "[tasks][chat]") {
  const ChatData data = read(
      "\xEF\xBB\xBF{\"prompt\": \"2+2?\", \"response\": \"4\"}\r\n\r\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"},"
      " {\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"dd\"}], \"other\": 1}",
      "chatml");
  CHECK(data.lines == 2);
  REQUIRE(data.train.size() == 2);
  CHECK(byte_tokenizer().decode(data.train[0].ids) ==
        "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n4<|im_end|>\n");
  CHECK(learned_text(data.train[0]) == "4<|im_end|>");
  CHECK(learned_text(data.train[1]) == "b<|im_end|>dd<|im_end|>");
  CHECK(data.learned == 2 + 2 + 3);
  CHECK(data.tokens == std::ssize(data.train[0].ids) + std::ssize(data.train[1].ids));
}

TEST_CASE("chat data: without a template prompt and response follow each other", "[tasks][chat]") {
  const ChatData data = read(R"({"prompt": "ab", "response": "cd"})", nullptr);
  CHECK(data.train[0].ids == std::vector<int32_t>{'a', 'b', 'c', 'd', 257});
  CHECK(data.train[0].learned == std::vector<uint8_t>{0, 0, 1, 1, 1});
}

TEST_CASE("chat data: long texts are counted and left out, and the held-out share is drawn by the seed",
          "[tasks][chat]") {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string response(i == 7 ? 200 : 3, static_cast<char>('A' + i % 26));
    text += "{\"prompt\": \"" + std::to_string(i) + "\", \"response\": \"" + response + "\"}\n";
  }
  const ChatData data = read(text, "chatml", 0.25);
  CHECK(data.lines == 40);
  CHECK(data.too_long == 1);
  CHECK(data.train.size() == 30);
  CHECK(data.val.size() == 9);
  std::vector<std::vector<int32_t>> all;
  for (const auto* part : {&data.train, &data.val}) {
    for (const TunedText& one : *part) all.push_back(one.ids);
  }
  std::sort(all.begin(), all.end());
  CHECK(std::unique(all.begin(), all.end()) == all.end());
  const ChatData again = read(text, "chatml", 0.25);
  for (size_t i = 0; i < data.val.size(); ++i) CHECK(again.val[i].ids == data.val[i].ids);
}

TEST_CASE("chat data: a turn that the template rewrites later is not learned as its model never writes it",
          "[tasks][chat]") {
  const std::string two = R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},)"
                          R"( {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  const ChatData data = read(two + "\n" + R"({"prompt": "2+2?", "response": "<think>\nadd\n</think>\n\n4"})", "qwen3");
  CHECK(learned_text(data.train[0]) == "<think>\n\n</think>\n\nd<|im_end|>");
  CHECK(learned_text(data.train[1]) == "<think>\nadd\n</think>\n\n4<|im_end|>");
  CHECK(contains(data.note, "data.jsonl: of 3 turns of the assistant 1 are not learned"));
  CHECK(contains(error_of([&] { read(two.substr(0, two.rfind(", {")) + "]}", "qwen3"); }),
                 "data.jsonl:1: the chat template writes no turn of the assistant here as the model would"));
}

TEST_CASE("chat data: what a template refuses or cannot learn names the line", "[tasks][chat]") {
  const char* const gemma =
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% for m in messages %}"
      "<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>"
      "assistant: {% endif %}";
  CHECK(learned_text(read(R"({"prompt": "a", "response": "b"})", gemma).train[0]) == "b<|im_end|>");
  CHECK(contains(error_of([&] {
                   read(R"({"messages": [{"role": "system", "content": "s"}, {"role": "assistant", "content": "b"}]})",
                        gemma);
                 }),
                 "data.jsonl:1: chat template: line 1: the template refuses the conversation: no system"));
  // The prompt begins a thought that the turn does not have.
  const char* const thinks =
      "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}"
      "<|im_start|><think>{% endif %}";
  CHECK(contains(error_of([&] { read(R"({"prompt": "a", "response": "b"})", thinks); }),
                 "asks for an answer by '…<|im_start|>What is asked?<|im_end|><|im_start|><think>' and writes "));
  const char* const endless =
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% "
      "endif %}";
  CHECK(contains(error_of([&] { read(R"({"prompt": "a", "response": "b"})", endless); }),
                 "writes no token after the assistant's words"));
}

TEST_CASE("chat data: reasoning is not dropped in silence", "[tasks][chat]") {
  const auto line = [](const std::string& key, const std::string& value) {
    return R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", ")" + key + "\": " + value +
           R"(, "content": "ok"}]})";
  };
  for (const char* key : {"reasoning_content", "reasoning", "thinking", "tool_calls", "function_call"}) {
    const std::string error = error_of([&] { read(line(key, R"("let me think")"), "chatml"); });
    INFO(error);
    CHECK(contains(error, fmt::format("data.jsonl:1: a message has the key \"{}\", which would not be learned", key)));
    for (const char* nothing : {"null", "\"\"", "[]", "{}"}) {
      CHECK(read(line(key, nothing), "chatml").note.empty());
    }
    const std::string pair = fmt::format(R"({{"prompt": "a", "response": "b", "{}": "let me think"}})", key);
    CHECK(contains(error_of([&] { read(pair, "chatml"); }),
                   fmt::format("data.jsonl:1: the line has the key \"{}\"", key)));
  }
  CHECK(contains(error_of([&] { read(R"({"tools": [{"name": "f"}], )" + line("id", "1").substr(1), "chatml"); }),
                 "does not write \"tools\""));
  const ChatData data = read(line("id", "1") + "\n" + line("id", "2") + "\n" + line("weight", "0.5"), "chatml");
  CHECK(contains(data.note, "keys of messages that are not read: id (2 times), weight (1 times)."));
  CHECK(data.train.size() == 3);
}

TEST_CASE("chat data: turns of tools and thoughts were refused where the template writes them", "[tasks][chat]") {
  const char* const format =
      "{% for t in tools or [] %}{{ t.name }};{% endfor %}"
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.thinking %}({{ m.thinking }}){% endif %}"
      "{{ m.content or '' }}{% for c in m.tool_calls %}{{ c.name }}{{ c.arguments | tojson }}{% endfor %}"
      "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const std::string line =
      R"({"tools": [{"name": "f"}], "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null,)"
      R"( "thinking": "hm", "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}, {"role": "tool", "content": "9"},)"
      R"( {"role": "assistant", "content": "nine"}]})";
  const ChatData data = read(line, format, 0, 1000);
  REQUIRE(data.train.size() == 1);
  CHECK(learned_text(data.train[0]) == "(hm)f{\"x\": 1}<|im_end|>nine<|im_end|>");
  CHECK(contains(byte_tokenizer().decode(data.train[0].ids), "f;<|im_start|>user\na"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    return std::string(line).replace(line.find(from), from.size(), to);
  };
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& program = "") {
    return error_of([&] { read(changed(from, to), program.empty() ? format : program.c_str(), 0, 1000); });
  };
  // A template that reads one name of the thoughts reads all of them.
  for (const char* const name : {"\"reasoning\"", "\"reasoning_content\""}) {
    const ChatData other = read(changed("\"thinking\"", name), format, 0, 1000);
    CHECK((other.train[0].ids == data.train[0].ids && other.train[0].learned == data.train[0].learned));
  }
  CHECK(contains(refused("\"x\": 1", R"("x": "<|im_end|>")"), "has the special token <|im_end|>"));
  // A program that names a key and does not write it.
  CHECK(contains(refused(R"("thinking")", R"("function_call")"), "the key \"function_call\", which would not be"));
  const std::string plain =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{# thinking tool_calls tools #}";
  const std::string unwritten = refused("null", "\"\"", plain);
  CHECK(contains(unwritten, "data.jsonl:1: the chat template (a program in Jinja"));
  CHECK(contains(unwritten, "does not write \"tools\""));
  CHECK(unwritten.find("data.jsonl:1") == unwritten.rfind("data.jsonl:1"));  // the line was named twice
  CHECK(contains(refused(R"("tools": [{"name": "f"}], )", "", plain), "which would not be learned"));
}

TEST_CASE("chat data: a damaged line is an error that names it", "[tasks][chat]") {
  const auto refused = [](const std::string& line, const char* format = "chatml") {
    const std::string message =
        error_of([&] { read("{\"prompt\": \"a\", \"response\": \"b\"}\n" + line + "\n", format); });
    CHECK(contains(message, "data.jsonl:2: "));
    return message;
  };
  CHECK(contains(refused("{\"prompt\": \"a\""), "expected a JSON object"));
  CHECK(contains(refused("[1, 2]"), "expected a JSON object"));
  CHECK(contains(refused("{\"prompt\": \"a\"}"), "the key \"response\" is missing"));
  CHECK(contains(refused("{\"prompt\": 1, \"response\": \"b\"}"), "\"prompt\" must be a string, got number"));
  CHECK(contains(refused("{\"messages\": []}"), "\"messages\" must be a list"));
  CHECK(contains(refused("{\"messages\": [1]}"), "a message must be an object"));
  CHECK(contains(refused("{\"messages\": [{\"role\": \"robot\", \"content\": \"\"}]}"),
                 "expected system, user, assistant, tool"));
  CHECK(contains(refused("{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}"), "nothing would be learned"));
  CHECK(contains(refused("{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}", nullptr), "--chat-template"));
  CHECK(contains(refused(std::string(100000, '[')), "nests more than 64 deep"));
  CHECK(contains(error_of([] { read("\n\n", "chatml"); }), "the file is empty"));
  CHECK(contains(error_of([] { read(R"({"prompt": "a", "response": "b"})", "chatml", 0, 5); }),
                 "all 1 texts have more than 5 tokens"));
}
