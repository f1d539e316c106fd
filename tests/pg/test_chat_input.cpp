// The lines that a conversation reads: messages of one and of several lines, and commands.
#include <sstream>

#include "tests/catch.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/use/chat_input.h"

using namespace pg::tools;

namespace {

using Texts = std::vector<std::string>;

// The messages, and the commands with a '!' in front. `pasted`: how many lines after the first are there at once.
Texts inputs(const std::string& lines, int pasted = 0) {
  std::istringstream in(lines);
  ChatReader reader(in, {"quit", "top-k"}, [&] { return pasted-- > 0; });
  Texts all;
  while (const auto input = reader.next()) all.push_back((input->command ? "!" : "") + input->text);
  return all;
}

}  // namespace

TEST_CASE("each line is a message, and empty lines are none", "[pg][chat]") {
  CHECK(inputs("") == Texts{});
  CHECK(inputs("one\r\n\n  \ntwo") == Texts{"one", "two"});
}

TEST_CASE("a message may begin with a slash", "[pg][chat]") {
  CHECK(inputs("/no_think hi\n/etc/passwd is what?\n/\n/ quit\n// a comment\n/top-kk 3\n/quitter\n") ==
        Texts{"/no_think hi", "/etc/passwd is what?", "/", "/ quit", "// a comment", "/top-kk 3", "/quitter"});
  CHECK(inputs("//quit\n//top-k 3") == Texts{"/quit", "/top-k 3"});
}

TEST_CASE("a command is its name, with a value or without", "[pg][chat]") {
  CHECK(inputs("/quit\n/top-k 3 \t\n/top-k\t5\n/top-k \n") == Texts{"!quit", "!top-k 3 \t", "!top-k\t5", "!top-k "});
}

TEST_CASE("lines in triple quotes are one message", "[pg][chat]") {
  CHECK(inputs("\"\"\"def f():\n    return 1\n\n/quit\"\"\"\nnext") ==
        Texts{"def f():\n    return 1\n\n/quit", "next"});
  CHECK(inputs("\"\"\"\na\n\nb\n\"\"\"\nnext") == Texts{"a\n\nb", "next"});
  CHECK(inputs("\"\"\"one\"\"\"") == Texts{"one"});
  CHECK(inputs("\"\"\"\"\"\"\nnext") == Texts{"next"});
  CHECK(inputs("\"\"\"to the\nend") == Texts{"to the\nend"});
  CHECK(inputs("say \"\"\"\nnext") == Texts{"say \"\"\"", "next"});
}

TEST_CASE("a line that ends with a backslash goes on in the next", "[pg][chat]") {
  CHECK(inputs("a\\\n  b\\\n/quit\nnext") == Texts{"a\n  b\n/quit", "next"});
  CHECK(inputs("a\\") == Texts{"a\\"});
}

TEST_CASE("several lines pasted are one message", "[pg][chat]") {
  CHECK(inputs("def hello():\n    print(\"hi\")\n\nWhat does this do?\nnext", 3) ==
        Texts{"def hello():\n    print(\"hi\")\n\nWhat does this do?", "next"});
  CHECK(inputs("/quit\nnext", 1) == Texts{"!quit", "next"});
}

TEST_CASE("a path in a command line to type is quoted for a shell", "[pg]") {
  for (const char* text : {"runs/20261127-1_train", "../a+b=c,d:e@f%g",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e"})
    CHECK(shell_word(text) == text);
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my runs/x # y: [z") == "'my runs/x # y: [z'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
}

TEST_CASE("control characters of a text are shown, not sent to a terminal", "[pg][chat]") {
  CHECK(with_carets("\x1b]0;title\x07 \x1b[31mred\rback\x7f\b") == "^[]0;title^G ^[[31mred^Mback^?^H");
  CHECK(with_carets(std::string_view("a\0b", 3)) == "a^@b");
  CHECK(with_carets("\xc2\x9b"
                    "31m \xc2\x80\xc2\x9f") == "^[[31m ^[@^[_");  // U+009B, U+0080, U+009F
  for (const char* text : {"", "a\n\tb",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e \xc2\xa0\xc2\xbd \xe4\xbd\xa0 \xf0\x9f\x98\x80",
                           "\xc2"}) {
    CHECK(with_carets(text) == text);
  }
}
