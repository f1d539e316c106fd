// Fuzzes the chat templates of models: a program in Jinja, run on a conversation with tools.
// sources: tasks/jinja/lexer.cpp tasks/jinja/library.cpp tasks/jinja/parser.cpp tasks/jinja/template.cpp
// sources: tasks/jinja/texts.cpp
// sources: tasks/jinja/value.cpp tensor/base/fields.cpp tensor/base/text.cpp tensor/base/json.cpp
// sources: tensor/base/json_text.cpp tasks/data/utf8.cpp
// libraries: utf8proc
// seed: {%% for m in messages -%%}<|{{ m.role }}|>{{ m['content'] | trim }}{%% if not loop.last %%},{%% endif %%}
// seed: {%% for m in messages %%}{{ m.content[1:] }}{%% else %%}x{%% endfor %%}{# c #}{{ 1 if x is defined else 2 }}
// seed: {%% set n = namespace(a=1) %%}{%% for k, v in tools[0].items() %%}{%% set n.a = n.a ~ k %%}{%% endfor %%}
// seed: {%% macro f(x, y=2) %%}{{ x[1:] ~ y // 2 }}{%% endmacro %%}{{ f('abc') }}{{ 'a b'.split(' ')[0] | tojson }}
// seed: {{ messages | selectattr('role', 'eq', 'user') | map(attribute='content') | join('-') | replace('a', 'b') }}
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tasks/jinja/template.h"
#include "tensor/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const pg::Json variables = {
      {"messages",
       pg::Json::array({{{"role", "system"}, {"content", " a b\n"}}, {{"role", "user"}, {"content", "\xc3\xa9 x"}}})},
      {"tools", pg::Json::array({{{"name", "f"}, {"n", 1}, {"x", 2.5}, {"none", nullptr}, {"yes", true}}})},
      {"add_generation_prompt", true}};
  try {
    pg::jinja::Template({reinterpret_cast<const char*>(data), size}).render(variables);
  } catch (const pg::Error&) {
  }
  return 0;
}
