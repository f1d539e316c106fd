// The formats of turns that published models were trained with, as programs in Jinja.
#include "tasks/chat/chat.h"

namespace pg {
namespace {

// Turns between <|im_start|> and <|im_end|>. `system` is the message of a conversation that has none; empty: none.
ChatTemplateRow chatml(std::string name, std::string about, const std::string& system) {
  std::string program = "{% for message in messages %}";
  if (!system.empty()) {
    program +=
        "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\n" + system + "<|im_end|>\n{% endif %}";
  }
  program +=
      "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  return {std::move(name), std::move(about), std::move(program), {"<|im_end|>", "<|im_start|>"}};
}

// ChatML with thoughts: those of turns before the last question are dropped, and a turn after it that has none has
// empty ones, as an answer with `enable_thinking` false has.
constexpr const char* kQwen3 = R"({%- set last = namespace(question=-1) -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}{%- set last.question = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\n' -}}
  {%- set thought = '' -%}
  {%- set content = message.content -%}
  {%- if message.role == 'assistant' -%}
    {%- if '</think>' in content -%}
      {%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') -%}
      {%- set content = content.split('</think>')[-1].lstrip('\n') -%}
    {%- endif -%}
    {%- if loop.index0 > last.question and (loop.last or thought) -%}
      {{- '<think>\n' + thought.strip('\n') + '\n</think>\n\n' -}}
      {%- set content = content.lstrip('\n') -%}
    {%- endif -%}
  {%- endif -%}
  {{- content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
  {%- if enable_thinking is defined and enable_thinking is false -%}{{- '<think>\n\n</think>\n\n' -}}{%- endif -%}
{%- endif -%})";

constexpr const char* kLlama3 =
    "{{ '<|begin_of_text|>' }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + "
    "'<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}";

}  // namespace

const std::vector<ChatTemplateRow>& chat_templates() {
  static const std::vector<ChatTemplateRow> rows = {
      chatml("smollm2", "SmolLM2 Instruct", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
      chatml("qwen2.5-math", "Qwen2.5 Math Instruct",
             "Please reason step by step, and put your final answer within \\boxed{}."),
      chatml("qwen2.5", "Qwen2.5 Instruct", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
      chatml("qwen2", "Qwen2 Instruct", "You are a helpful assistant."),
      {"qwen3", "Qwen3", kQwen3, {"<|im_end|>", "<|im_start|>"}},
      chatml("chatml", "turns between <|im_start|> and <|im_end|>, no system message of its own", ""),
      {"llama3",
       "Llama 3 Instruct, without the dates that 3.1 adds",
       kLlama3,
       {"<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>"}},
  };
  return rows;
}

}  // namespace pg
