#pragma once
// Examples for supervised tuning from JSONL files: conversations, or prompts with their responses.
#include <cstdint>
#include <string>
#include <vector>

#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat/chat.h"
#include "tasks/chat/prompt_style.h"
#include "tensor/base/random.h"

namespace pg {

// A text as token ids; learned is 1 for those that the model shall learn to write.
struct TunedText {
  std::vector<int32_t> ids;
  std::vector<uint8_t> learned;
};

struct ChatData {
  std::vector<TunedText> train, val;
  int64_t lines = 0;                 // of the file that are not empty
  int64_t too_long = 0;              // left out: more tokens than allowed
  int64_t prompts = 0;               // distinct ones of the texts that are kept
  int64_t turns = 0, rewritten = 0;  // of the assistant in texts that are kept; of them those that are not learned
  int64_t tokens = 0, learned = 0;   // of the texts that are kept
  std::string note;  // sentences about keys of messages that are not read and turns that are not learned; or empty
};

struct ChatDataOptions {
  ChatTemplate format = {};        // none: prompt and response follow each other as plain text
  const Prompt* prompt = nullptr;  // in place of `format`: the style that evaluations ask in
  int64_t unique = 0;              // keep the lines of the first N distinct prompts; 0: all
  int64_t max_length = 0;          // tokens of a text at most
  double val_share = 0;            // of the texts; drawn with `seed`
  uint64_t seed = 0;
};

// Each line of the file is a JSON object {"messages": [{"role": …, "content": …}, …]} or {"prompt": …, "response": …};
// "completion" is another name of "response". A message may have more keys, and a line "tools", as far as the chat
// template writes them: thoughts, calls of tools. Error for such words if it does not. Other keys are ignored, those of
// messages are counted in the note. What of a conversation is learned: ChatEncoder::tuned; the note counts the turns
// that are not. Without a format a response ends with the tokenizer's end token. LF or CRLF, with or without a byte
// order mark. An Error names the file and the line: no JSON, a missing key, an unknown role, a conversation that the
// template refuses or in which nothing is learned. Error if no text remains.
//
// With `prompt` a line has a "question" or "problem", which is put into the style, or a "prompt". In a style of plain
// text that is the whole prompt, and Error if the style writes it in another way: the model would be trained on other
// prompts than it is asked. In a style with turns it is the question. A response is learned as far as it would have
// been generated: up to its end (Prompt::response_ids).
ChatData read_chat_data(const std::string& path, const BpeTokenizer& tokenizer, const ChatDataOptions& options);

}  // namespace pg
