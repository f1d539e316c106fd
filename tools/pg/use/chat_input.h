#pragma once
// The messages and commands of a conversation, from lines.
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace pg::tools {

struct ChatInput {
  bool command = false;
  std::string text;  // of a command without its '/'
};

// Reads messages. A line is a message, except:
// - Lines from one that begins with """ to one that ends with """ are one message.
// - A line that ends with \ goes on in the next line.
// - Lines that are there at once, as after a paste into a terminal, are one message.
// - A line "/NAME" or "/NAME VALUE" with the name of a command is a command, and "//NAME" is the message "/NAME". Other
//   lines that begin with / are messages.
class ChatReader {
 public:
  // `more`: whether another line can be read without waiting, where that means a paste.
  ChatReader(std::istream& in, std::vector<std::string> commands, std::function<bool()> more);
  // The next message or command that is not empty; nothing at the end of the input.
  std::optional<ChatInput> next();

 private:
  std::optional<std::string> line();
  std::string quoted(std::string first);
  std::string continued(std::string first);
  bool is_command(const std::string& line) const;

  std::istream& in_;
  std::vector<std::string> commands_;
  std::function<bool()> more_;
};

}  // namespace pg::tools
