// Chat templates: where they come from, their variables, and their text of a conversation.
#include <algorithm>
#include <cctype>

#include "tasks/chat/chat.h"
#include "tasks/data/text_data.h"
#include "tasks/jinja/template.h"
#include "tensor/base/error.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// Variables that each conversation gives.
constexpr const char* kOfConversation[] = {"messages", "tools", "documents", "add_generation_prompt"};

}  // namespace

ChatTemplate::ChatTemplate(std::string program, Json variables)
    : program_(std::move(program)), variables_(std::move(variables)) {
  check(variables_.is_object(), "chat template: expected an object of variables, got {}", variables_.type_name());
  for (const ChatTemplateRow& named : chat_templates()) {
    if (program_ == named.name) program_ = named.program;
  }
  if (program_.empty()) return;
  try {
    jinja_ = std::make_shared<const jinja::Template>(program_);
  } catch (const Error& e) {
    error_ = e.what();
  }
}

const ChatTemplateRow* ChatTemplate::row() const {
  const auto& rows = chat_templates();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.program == program_; });
  return found == rows.end() ? nullptr : &*found;
}

std::string ChatTemplate::about() const {
  if (row()) return row()->name;
  return fmt::format("a program in Jinja of {} bytes{}{}", program_.size(),
                     error_.empty() ? "" : ", cannot be run: ", error_);
}

bool ChatTemplate::reads(const std::string& variable) const { return jinja_ && jinja_->reads(variable); }

ChatTemplate ChatTemplate::chosen(const std::string& option) const {
  if (option.empty()) return *this;
  if (option.ends_with(".jinja")) {
    std::string text = read_file(option);
    check(!text.empty(), "--chat-template {}: the file is empty", option);
    return ChatTemplate(std::move(text), variables_);
  }
  std::vector<std::string> known = names_of(chat_templates());
  if (std::find(known.begin(), known.end(), option) == known.end()) {
    known.emplace_back("a file that ends in .jinja");
    fail_unknown("--chat-template", option, known);
  }
  return ChatTemplate(option, variables_);
}

ChatTemplate ChatTemplate::with(const std::string& json) const {
  if (json.empty()) return *this;
  const char* const option = "--chat-template-kwargs";
  const Json more = Json::try_parse(shallow_json(json, option));
  check(more.is_object(), "{}: expected a JSON object such as {{\"enable_thinking\": false}}, got '{}'", option,
        excerpt(json));
  check(bool(*this), "{}: the model has no chat template", option);
  check(error_.empty(), "{}", error_);
  ChatTemplate result = *this;
  for (const auto& [name, value] : more.items()) {
    check(std::find(std::begin(kOfConversation), std::end(kOfConversation), name) == std::end(kOfConversation),
          "{}: the conversation gives the variable {}", option, name);
    check(reads(name), "{}: the chat template ({}) does not read the variable {}", option, about(), excerpt(name));
    result.variables_[name] = value;
  }
  return result;
}

const std::vector<std::string>& reasoning_members() {
  static const std::vector<std::string> names = {"reasoning_content", "thinking", "reasoning"};
  return names;
}

bool ChatTemplate::names(std::string_view member) const {
  const auto in_word = [&](size_t at) {
    return at < program_.size() && (program_[at] == '_' || std::isalnum(static_cast<unsigned char>(program_[at])) != 0);
  };
  for (size_t at = program_.find(member); at != std::string::npos; at = program_.find(member, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + member.size())) return true;
  }
  return false;
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool answer, const Json& tools) const {
  static const std::vector<std::string> roles = {"system", "user", "assistant", "tool"};
  check(error_.empty(), "{}", error_);
  check(jinja_ != nullptr, "chat template: the model has none");
  Json variables = variables_, list = Json::array();
  for (const ChatMessage& message : messages) {
    if (std::find(roles.begin(), roles.end(), message.role) == roles.end()) {
      fail_unknown("chat: the role of a message", message.role, roles);
    }
    Json one = {{"role", message.role}, {"content", message.content}};
    for (const auto& [key, value] : message.more.items()) {
      if (value.is_null()) {
        one.erase(key);
      } else {
        one[key] = value;
      }
    }
    for (const std::string& name : reasoning_members()) {
      if (!one.contains(name)) continue;
      const Json words = one[name];
      for (const char* const read : {"reasoning_content", "thinking"}) {
        if (!one.contains(read)) one[read] = words;
      }
      break;
    }
    list.push_back(std::move(one));
  }
  variables["messages"] = std::move(list);
  variables["tools"] = tools;
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = answer;
  return jinja_->render(variables);
}

std::map<std::string, std::string> metadata_of(const ChatTemplate& format) {
  std::map<std::string, std::string> texts;
  if (format) texts["chat_template"] = format.row() ? format.row()->name : format.program();
  if (!format.variables().empty()) texts["chat_variables"] = format.variables().dump();
  return texts;
}

ChatTemplate chat_template_in(const std::map<std::string, std::string>& metadata) {
  const auto program = metadata.find("chat_template"), variables = metadata.find("chat_variables");
  Json values = Json::object();
  if (variables != metadata.end()) values = Json::parse(shallow_json(variables->second, "chat_variables"));
  return ChatTemplate(program == metadata.end() ? "" : program->second, std::move(values));
}

}  // namespace pg
