// Statements and expressions of Jinja, with its precedence of operators.
#include "tasks/jinja/parser.h"

#include <algorithm>
#include <cstdlib>

#include "tasks/jinja/lexer.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::jinja {
namespace {

using Kind = Token::Kind;
using Node = Expression::Kind;
constexpr int kDeepest = 100, kDeepestTree = 500;
constexpr size_t kMostSource = 256 << 10;  // bytes; published templates have up to 30 KB

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}

  Program all() {
    std::vector<Statement> statements = body({});
    if (!is(Kind::end)) refuse("this block ends nothing");
    return {std::move(statements), std::move(names_)};
  }

 private:
  // ---- tokens
  const Token& now() const { return tokens_[at_]; }
  bool is(Kind kind, std::string_view text = {}) const {
    return now().kind == kind && (text.empty() || now().text == text);
  }
  bool is_sign(std::string_view text) const { return is(Kind::sign, text); }
  bool is_word(std::string_view text) const { return is(Kind::name, text); }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip(Kind kind, std::string_view text) {
    if (!is(kind, text)) return false;
    take();
    return true;
  }
  bool skip_sign(std::string_view text) { return skip(Kind::sign, text); }
  bool skip_word(std::string_view text) { return skip(Kind::name, text); }
  [[noreturn]] void refuse(const std::string& why) const {
    fail("chat template: line {}: {}{}", now().line, why,
         now().text.empty() ? "" : fmt::format(", got '{}'", excerpt(now().text, 40)));
  }
  void expect(Kind kind, std::string_view text, const char* what) {
    if (!skip(kind, text)) refuse(fmt::format("expected {}", what));
  }
  std::string name() {
    if (!is(Kind::name)) refuse("expected a name");
    return take().text;
  }
  void end_block() { expect(Kind::end_block, {}, "%}"); }

  // ---- statements

  // Statements up to a block that begins with one of these words, whose first word is not taken.
  std::vector<Statement> body(std::initializer_list<std::string_view> ends) {
    if (++depth_ > kDeepest) refuse(fmt::format("blocks nest more than {} deep", kDeepest));
    std::vector<Statement> statements;
    while (!is(Kind::end)) {
      if (is(Kind::begin_block) && tokens_[at_ + 1].kind == Kind::name) {
        const std::string& word = tokens_[at_ + 1].text;
        if (std::find(ends.begin(), ends.end(), word) != ends.end()) {
          take();
          break;
        }
      }
      statements.push_back(statement());
    }
    --depth_;
    return statements;
  }
  void close(std::string_view word) {
    if (!skip_word(word)) refuse(fmt::format("expected {{% {} %}}", word));
    end_block();
  }

  Statement statement() {
    const int line = now().line;
    if (is(Kind::text)) return {.kind = Statement::Kind::text, .line = line, .text = take().text};
    if (is(Kind::begin_output)) {
      take();
      Statement s{.kind = Statement::Kind::output, .line = line, .value = expression()};
      expect(Kind::end_output, {}, "}}");
      return s;
    }
    take();
    const std::string word = name();
    Statement s = word == "if"           ? condition()
                  : word == "for"        ? loop()
                  : word == "set"        ? assignment()
                  : word == "macro"      ? macro()
                  : word == "generation" ? generation()
                                         : bare(word);
    s.line = line;
    return s;
  }
  Statement bare(const std::string& word) {
    if (word != "break" && word != "continue") {
      --at_;
      refuse("expected if, for, set, macro, generation, break or continue");
    }
    end_block();
    return {.kind = word == "break" ? Statement::Kind::leave : Statement::Kind::resume};
  }
  Statement condition() {
    Statement s{.kind = Statement::Kind::condition, .value = expression()};
    end_block();
    s.body = body({"elif", "else", "endif"});
    if (skip_word("elif")) {
      if (++depth_ > kDeepest) refuse(fmt::format("blocks nest more than {} deep", kDeepest));
      s.orelse.push_back(condition());
      --depth_;
      return s;
    }
    if (skip_word("else")) {
      end_block();
      s.orelse = body({"endif"});
    }
    close("endif");
    return s;
  }
  Statement loop() {
    Statement s{.kind = Statement::Kind::loop};
    do s.names.push_back(name());
    while (skip_sign(","));
    if (!skip_word("in")) refuse("expected in");
    s.value = disjunction();
    if (skip_word("if")) s.filter = expression();
    if (is_word("recursive")) refuse("recursive loops are not supported");
    end_block();
    s.body = body({"else", "endfor"});
    if (skip_word("else")) {
      end_block();
      s.orelse = body({"endfor"});
    }
    close("endfor");
    return s;
  }
  Statement assignment() {
    Statement s{.kind = Statement::Kind::assign, .names = {name()}};
    if (skip_sign(".")) {
      s.names.push_back(name());
      s.on_member = true;
    }
    while (!s.on_member && skip_sign(",")) s.names.push_back(name());
    if (skip_sign("=")) {
      s.value = tuple();
      end_block();
      return s;
    }
    if (s.on_member || s.names.size() > 1) refuse("expected =");
    end_block();
    s.kind = Statement::Kind::capture;
    s.body = body({"endset"});
    close("endset");
    return s;
  }
  Statement macro() {
    Statement s{.kind = Statement::Kind::macro, .names = {name()}};
    expect(Kind::sign, "(", "(");
    while (!is_sign(")")) {
      s.names.push_back(name());
      s.defaults.push_back(skip_sign("=") ? expression() : nullptr);
      if (!skip_sign(",")) break;
    }
    expect(Kind::sign, ")", ")");
    end_block();
    s.body = body({"endmacro"});
    close("endmacro");
    return s;
  }
  Statement generation() {
    Statement s{.kind = Statement::Kind::generation};
    end_block();
    s.body = body({"endgeneration"});
    close("endgeneration");
    return s;
  }

  // ---- expressions, each level above binds less than the one below it

  ExpressionPtr make(Node kind, std::string text = {}) const {
    auto e = std::make_unique<Expression>();
    e->kind = kind;
    e->line = now().line;
    e->text = std::move(text);
    return e;
  }
  template <class... Parts>
  ExpressionPtr make_of(Node kind, std::string text, Parts... parts) const {
    ExpressionPtr e = make(kind, std::move(text));
    (e->parts.push_back(std::move(parts)), ...);
    for (const ExpressionPtr& part : e->parts) e->depth = std::max(e->depth, part->depth + 1);
    if (e->depth > kDeepestTree) refuse(fmt::format("expressions nest more than {} deep", kDeepestTree));
    return e;
  }

  ExpressionPtr tuple() {  // "a, b" is a list
    ExpressionPtr first = expression();
    if (!is_sign(",")) return first;
    ExpressionPtr e = make_of(Node::list, "", std::move(first));
    while (skip_sign(",")) e->parts.push_back(expression());
    return e;
  }
  ExpressionPtr expression() {
    if (++depth_ > kDeepest) refuse(fmt::format("expressions nest more than {} deep", kDeepest));
    ExpressionPtr e = disjunction();
    while (skip_word("if")) {
      ExpressionPtr condition = disjunction();
      ExpressionPtr other = skip_word("else") ? expression() : make(Node::name, "");  // not defined
      e = make_of(Node::conditional, "", std::move(e), std::move(condition), std::move(other));
    }
    --depth_;
    return e;
  }
  ExpressionPtr disjunction() {
    ExpressionPtr e = conjunction();
    while (skip_word("or")) e = make_of(Node::binary, "or", std::move(e), conjunction());
    return e;
  }
  ExpressionPtr conjunction() {
    ExpressionPtr e = negation();
    while (skip_word("and")) e = make_of(Node::binary, "and", std::move(e), negation());
    return e;
  }
  ExpressionPtr negation() {
    if (!is_word("not")) return comparison();
    if (++depth_ > kDeepest) refuse(fmt::format("expressions nest more than {} deep", kDeepest));
    take();
    ExpressionPtr e = make_of(Node::negation, "", negation());
    --depth_;
    return e;
  }
  ExpressionPtr comparison() {
    ExpressionPtr left = sum(), all;
    for (;;) {
      std::string sign;
      for (const char* const known : {"==", "!=", "<=", ">=", "<", ">"}) {
        if (sign.empty() && skip_sign(known)) sign = known;
      }
      bool negated = false;
      if (sign.empty() && is_word("not") && tokens_[at_ + 1].kind == Kind::name && tokens_[at_ + 1].text == "in") {
        take();
        negated = true;
      }
      if (sign.empty() && skip_word("in")) sign = "in";
      if (sign.empty()) return all ? all : left;
      const ExpressionPtr right = sum();
      ExpressionPtr one = make_of(Node::binary, sign, left, right);
      if (negated) one = make_of(Node::negation, "", one);
      all = all ? make_of(Node::binary, "and", all, one) : one;
      left = right;
    }
  }
  // A level of operators that are signs.
  template <class Below>
  ExpressionPtr chain(std::initializer_list<const char*> signs, const Below& below) {
    ExpressionPtr e = below();
    for (;;) {
      const auto sign = std::find_if(signs.begin(), signs.end(), [&](const char* s) { return is_sign(s); });
      if (sign == signs.end()) return e;
      take();
      e = make_of(Node::binary, *sign, std::move(e), below());
    }
  }
  ExpressionPtr sum() {
    return chain({"+", "-"}, [&] { return chain({"~"}, [&] { return product(); }); });
  }
  ExpressionPtr product() {
    return chain({"*", "//", "/", "%"}, [&] { return chain({"**"}, [&] { return unary(true); }); });
  }
  ExpressionPtr unary(bool with_filters) {
    ExpressionPtr e;
    if (is_sign("-") || is_sign("+")) {
      if (++depth_ > kDeepest) refuse(fmt::format("expressions nest more than {} deep", kDeepest));
      const std::string sign = take().text;
      e = make_of(Node::sign, sign, unary(false));
      --depth_;
    } else {
      e = postfix(primary());
    }
    return with_filters ? filters(std::move(e)) : std::move(e);
  }
  ExpressionPtr primary() {
    if (is(Kind::string)) {
      std::string text = take().text;
      while (is(Kind::string)) text += take().text;
      return constant(std::move(text));
    }
    if (is(Kind::integer)) {
      const double x = std::strtod(now().text.c_str(), nullptr);
      if (x > static_cast<double>(kLargestInteger)) refuse("the integer is too large");
      take();
      return constant(checked_integer(x));
    }
    if (is(Kind::number)) return constant(std::strtod(take().text.c_str(), nullptr));
    if (skip_sign("(")) {
      ExpressionPtr e = is_sign(")") ? make(Node::list) : tuple();
      expect(Kind::sign, ")", ")");
      return e;
    }
    if (is_sign("[") || is_sign("{")) return is_sign("[") ? list() : dict();
    const std::string word = name();
    if (word == "true" || word == "True") return constant(true);
    if (word == "false" || word == "False") return constant(false);
    if (word == "none" || word == "None") return constant({});
    names_.insert(word);
    return make(Node::name, word);
  }
  ExpressionPtr constant(Value value) const {
    ExpressionPtr e = make(Node::constant);
    e->value = std::move(value);
    return e;
  }
  ExpressionPtr list() {
    take();
    ExpressionPtr e = make(Node::list);
    while (!is_sign("]")) {
      e->parts.push_back(expression());
      if (!skip_sign(",")) break;
    }
    expect(Kind::sign, "]", "]");
    return e;
  }
  ExpressionPtr dict() {
    take();
    ExpressionPtr e = make(Node::dict);
    while (!is_sign("}")) {
      e->parts.push_back(expression());
      expect(Kind::sign, ":", ":");
      e->parts.push_back(expression());
      if (!skip_sign(",")) break;
    }
    expect(Kind::sign, "}", "}");
    return e;
  }
  ExpressionPtr postfix(ExpressionPtr e) {
    for (;;) {
      if (skip_sign(".")) {
        if (is(Kind::integer))
          e = make_of(Node::index, "", std::move(e), primary());
        else
          e = make_of(Node::member, name(), std::move(e));
      } else if (skip_sign("[")) {
        e = subscript(std::move(e));
      } else if (is_sign("(")) {
        e = make_of(Node::call, "", std::move(e));
        arguments(*e);
      } else {
        return e;
      }
    }
  }
  ExpressionPtr subscript(ExpressionPtr e) {
    ExpressionPtr bounds[3];
    int colons = 0;
    for (; !is_sign("]") && colons < 3; ++colons) {
      if (!is_sign(":")) bounds[colons] = expression();
      if (!skip_sign(":")) break;
    }
    const bool is_slice = colons > 0 || !bounds[0];
    expect(Kind::sign, "]", "]");
    if (!is_slice) return make_of(Node::index, "", std::move(e), std::move(bounds[0]));
    for (ExpressionPtr& bound : bounds) bound = bound ? std::move(bound) : constant({});
    return make_of(Node::slice, "", std::move(e), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2]));
  }
  void arguments(Expression& e) {
    take();
    while (!is_sign(")")) {
      if (is(Kind::name) && tokens_[at_ + 1].kind == Kind::sign && tokens_[at_ + 1].text == "=") {
        std::string key = take().text;
        take();
        e.named.emplace_back(std::move(key), expression());
      } else {
        e.parts.push_back(expression());
      }
      if (!skip_sign(",")) break;
    }
    expect(Kind::sign, ")", ")");
  }
  ExpressionPtr filters(ExpressionPtr e) {
    for (;;) {
      if (skip_sign("|")) {
        e = make_of(Node::filter, name(), std::move(e));
        if (is_sign("(")) arguments(*e);
        e = postfix(std::move(e));
      } else if (skip_word("is")) {
        const bool negated = skip_word("not");
        e = make_of(Node::test, name(), std::move(e));
        if (is_sign("("))
          arguments(*e);
        else if (begins_argument())
          e->parts.push_back(postfix(primary()));
        if (negated) e = make_of(Node::negation, "", std::move(e));
      } else {
        return e;
      }
    }
  }
  // Whether a test's argument without brackets follows, as in "x is divisibleby 3".
  bool begins_argument() const {
    if (is(Kind::string) || is(Kind::integer) || is(Kind::number) || is_sign("[") || is_sign("{")) return true;
    static constexpr std::string_view others[] = {"else", "or", "and", "not", "if", "is", "in"};
    return is(Kind::name) && std::find(std::begin(others), std::end(others), now().text) == std::end(others);
  }

  std::vector<Token> tokens_;
  std::set<std::string> names_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Program parse_template(std::string_view source) {
  check(source.size() <= kMostSource, "chat template: it has {} bytes, at most {} are allowed", source.size(),
        kMostSource);
  return Parser(source).all();
}

}  // namespace pg::jinja
