// Runs the syntax tree of a template.
#include "tasks/jinja/template.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "tasks/jinja/library.h"
#include "tasks/jinja/parser.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::jinja {
namespace {

using Node = Expression::Kind;
constexpr size_t kMostItems = 100000;  // of a list
constexpr int kDeepestCall = 50;

enum class Flow : uint8_t { on, leave, resume };  // what a loop does after a statement

Value range_of(const Arguments& a) {
  check(!a.values.empty() && a.values.size() <= 3, "range: expected 1 to 3 numbers");
  const int64_t first = a.values.size() == 1 ? 0 : integer_of(a.values[0], "range");
  const int64_t last = integer_of(a.values[a.values.size() == 1 ? 0 : 1], "range");
  const int64_t step = a.values.size() == 3 ? integer_of(a.values[2], "range") : 1;
  check(step != 0, "range: the step is 0");
  List numbers;
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    check(numbers.size() < kMostItems, "range: more than {} numbers", kMostItems);
    numbers.emplace_back(i);
  }
  return Value::list(std::move(numbers));
}
Value dict_of(const Arguments& a) {
  Dict members;
  if (!a.values.empty() && a.values[0].members()) members = *a.values[0].members();
  for (const auto& [key, value] : a.named) set_member(members, key, value);
  return Value::dict(std::move(members));
}

// Python's datetime(2024, 7, 26).strftime(format), a Friday.
Value fixed_date(const Arguments& a) {
  check(a.values.size() == 1 && a.values[0].text(), "strftime_now: expected a format");
  const std::string& format = *a.values[0].text();
  for (size_t at = format.find('%'); at != std::string::npos; at = format.find('%', at + 1)) {
    if (++at < format.size() && (format[at] == '-' || format[at] == '_')) ++at;
    // Others depend on the time zone, or are not there in every C library.
    check(at < format.size() && std::string_view("aAbBdDeFHIjmMpRSTuUVwWyY%").find(format[at]) != std::string::npos,
          "strftime_now: the format '{}' is not supported", excerpt(format));
  }
  std::tm date = {};
  date.tm_mday = 26;
  date.tm_mon = 6;
  date.tm_year = 2024 - 1900;
  date.tm_wday = 5;
  date.tm_yday = 207;
  char text[1024];
  const size_t length = std::strftime(text, sizeof text, format.c_str(), &date);
  check(length > 0 || format.empty(), "strftime_now: the text is too long, or there is none");
  return std::string(text, length);
}

class Run {
 public:
  explicit Run(const Json& variables) {
    begin_work();
    scopes_.push_back(*Value::of(variables).members());
    Dict& globals = scopes_[0];
    const auto add = [&](const char* name, Function f) { set_member(globals, name, Value::function(std::move(f))); };
    add("range", range_of);
    add("namespace", dict_of);
    add("dict", dict_of);
    add("raise_exception", [](const Arguments& a) -> Value {
      fail("the template refuses the conversation: {}", a.values.empty() ? "" : excerpt(to_text(a.values[0]), 300));
    });
    add("strftime_now", fixed_date);
  }

  // Namespaces may contain each other: each is emptied while all are still held.
  ~Run() {
    scopes_.clear();
    for (const std::shared_ptr<Dict>& changed : changed_) changed->clear();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Flow execute(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      if (const Flow flow = execute(s); flow != Flow::on) return flow;
    }
    return Flow::on;
  }
  std::string text;

 private:
  // ---- statements

  Flow execute(const Statement& s) {
    step();
    switch (s.kind) {
      case Statement::Kind::text:
        write(s.text);
        break;
      case Statement::Kind::output:
        write(to_text(value(*s.value)));
        break;
      case Statement::Kind::condition:
        return execute(is_true(value(*s.value)) ? s.body : s.orelse);
      case Statement::Kind::loop:
        return loop(s);
      case Statement::Kind::assign:
        assign(s);
        break;
      case Statement::Kind::capture:
        set_member(scopes_.back(), s.names[0], captured(s.body));
        break;
      case Statement::Kind::macro:
        set_member(scopes_.back(), s.names[0], macro(s));
        break;
      case Statement::Kind::generation:
        return execute(s.body);
      case Statement::Kind::leave:
        return Flow::leave;
      case Statement::Kind::resume:
        return Flow::resume;
    }
    return Flow::on;
  }
  static void step() { spend(10); }
  // A text is copied each time that it is a value.
  static void spend_copy(const std::string& copied) { spend(std::ssize(copied) / 64); }
  void write(const std::string& more) {
    spend_copy(more);
    text += more;
    check_bytes(text.size());
  }
  Value captured(const std::vector<Statement>& body) {
    std::string before = std::exchange(text, {});
    execute(body);
    return std::exchange(text, std::move(before));
  }
  void bind(const std::vector<std::string>& names, size_t from, const Value& v) {
    if (names.size() - from == 1) return set_member(scopes_.back(), names[from], v);
    const List parts = elements_of(v);
    check(parts.size() == names.size() - from, "{} values for {} names", parts.size(), names.size() - from);
    for (size_t i = 0; i < parts.size(); ++i) set_member(scopes_.back(), names[from + i], parts[i]);
  }
  void assign(const Statement& s) {
    if (!s.on_member) return bind(s.names, 0, value(*s.value));
    const Value* const target = lookup(s.names[0]);
    check(target && target->members(), "{}.{} can be set only if {} is a namespace", s.names[0], s.names[1],
          s.names[0]);
    const auto held = std::get<std::shared_ptr<Dict>>(target->data);
    changed_.push_back(held);
    set_member(*held, s.names[1], value(*s.value));
  }

  Flow loop(const Statement& s) {
    List items = elements_of(value(*s.value));
    if (s.filter) {
      List kept;
      for (Value& item : items) {
        scopes_.emplace_back();
        bind(s.names, 0, item);
        if (is_true(value(*s.filter))) kept.push_back(std::move(item));
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty()) return execute(s.orelse);
    for (size_t i = 0; i < items.size(); ++i) {
      step();
      scopes_.emplace_back();
      bind(s.names, 0, items[i]);
      set_member(scopes_.back(), "loop", loop_value(items, i));
      const Flow flow = execute(s.body);
      scopes_.pop_back();
      if (flow == Flow::leave) break;
    }
    return Flow::on;
  }
  static Value loop_value(const List& items, size_t i) {
    const auto index = static_cast<int64_t>(i), length = std::ssize(items);
    Dict loop = {{"index0", index},
                 {"index", index + 1},
                 {"revindex", length - index},
                 {"revindex0", length - index - 1},
                 {"first", i == 0},
                 {"last", index + 1 == length},
                 {"length", length}};
    if (i > 0) loop.emplace_back("previtem", items[i - 1]);
    if (i + 1 < items.size()) loop.emplace_back("nextitem", items[i + 1]);
    return Value::dict(std::move(loop));
  }

  // A macro sees its arguments and the variables outside of all loops.
  Value macro(const Statement& s) {
    return Value::function([this, &s](const Arguments& a) -> Value {
      check(++calls_ <= kDeepestCall, "macros call each other more than {} deep", kDeepestCall);
      Dict own;
      for (size_t i = 1; i < s.names.size(); ++i) {
        const auto named =
            std::find_if(a.named.begin(), a.named.end(), [&](const auto& n) { return n.first == s.names[i]; });
        if (i - 1 < a.values.size())
          own.emplace_back(s.names[i], a.values[i - 1]);
        else if (named != a.named.end())
          own.emplace_back(s.names[i], named->second);
        else if (s.defaults[i - 1])
          own.emplace_back(s.names[i], value(*s.defaults[i - 1]));
        else
          own.emplace_back(s.names[i], Value::undefined(s.names[i]));
      }
      std::vector<Dict> outside = std::exchange(scopes_, {});
      scopes_.push_back(std::move(outside[0]));
      scopes_.push_back(std::move(own));
      Value result = captured(s.body);
      outside[0] = std::move(scopes_[0]);
      scopes_ = std::move(outside);
      --calls_;
      return result;
    });
  }

  // ---- expressions

  const Value* lookup(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      spend(std::ssize(*scope) / 8);
      for (const auto& [key, v] : *scope) {
        if (key == name) return &v;
      }
    }
    return nullptr;
  }
  Value value(const Expression& e) {
    step();
    try {
      Value v = evaluated(e);
      if (v.text()) spend_copy(*v.text());
      return v;
    } catch (const Error& error) {
      const std::string_view what = error.what();
      if (what.starts_with("line ")) throw;
      fail("line {}: {}", e.line, what);
    }
  }
  Value evaluated(const Expression& e) {
    switch (e.kind) {
      case Node::constant:
        return e.value;
      case Node::name: {
        const Value* const found = lookup(e.text);
        return found ? *found : Value::undefined(e.text);
      }
      case Node::list: {
        List items;
        for (const ExpressionPtr& part : e.parts) items.push_back(value(*part));
        return Value::list(std::move(items));
      }
      case Node::dict: {
        Dict members;
        for (size_t i = 0; i < e.parts.size(); i += 2)
          set_member(members, to_text(value(*e.parts[i])), value(*e.parts[i + 1]));
        return Value::dict(std::move(members));
      }
      case Node::member:
        return member(value(*e.parts[0]), e.text);
      case Node::index:
        return indexed(value(*e.parts[0]), value(*e.parts[1]));
      case Node::slice:
        return slice_of(value(*e.parts[0]), value(*e.parts[1]), value(*e.parts[2]), value(*e.parts[3]));
      case Node::call:
        return called(e);
      case Node::filter:
        return apply_filter(e.text, value(*e.parts[0]), arguments_of(e));
      case Node::test:
        return passes_test(e.text, value(*e.parts[0]), arguments_of(e));
      case Node::negation:
        return !is_true(value(*e.parts[0]));
      case Node::sign:
        return e.text == "-" ? arithmetic("-", int64_t{0}, value(*e.parts[0])) : value(*e.parts[0]);
      case Node::binary:
        return binary(e);
      case Node::conditional:
        return value(*e.parts[is_true(value(*e.parts[1])) ? 0 : 2]);
    }
    return {};
  }
  Arguments arguments_of(const Expression& e) {
    Arguments a;
    for (size_t i = 1; i < e.parts.size(); ++i) a.values.push_back(value(*e.parts[i]));
    for (const auto& [name, part] : e.named) a.named.emplace_back(name, value(*part));
    return a;
  }
  Value called(const Expression& e) {
    const Value f = value(*e.parts[0]);
    check(f.callable() != nullptr, "{} cannot be called", f.kind());
    return (*f.callable())(arguments_of(e));
  }
  static Value member(const Value& v, const std::string& name) {
    check(!v.is_undefined(), "{} has no member '{}'", v.kind(), name);
    // As Jinja does: first the attribute of the object, then the member of that key.
    Value method = method_of(v, name);
    if (!method.is_undefined()) return method;
    const Value* const found = v.members() ? find_member(v, name) : nullptr;
    return found ? *found : Value::undefined(name);
  }
  static Value indexed(const Value& v, const Value& key) {
    check(!v.is_undefined(), "{} has no elements", v.kind());
    if (key.text()) {
      if (!v.members()) return member(v, *key.text());
      const Value* const found = find_member(v, *key.text());
      return found ? *found : member(v, *key.text());
    }
    if (!key.integer() || (!v.items() && !v.text())) return Value::undefined(to_text(key));
    const auto at = [&](const auto& items) -> Value {
      const int64_t i = *key.integer() < 0 ? *key.integer() + std::ssize(items) : *key.integer();
      return i < 0 || i >= std::ssize(items) ? Value::undefined(to_text(key)) : Value(items[static_cast<size_t>(i)]);
    };
    return v.items() ? at(*v.items()) : at(characters_of(*v.text()));
  }

  Value binary(const Expression& e) {
    const std::string& sign = e.text;
    Value a = value(*e.parts[0]);
    if (sign == "and") return is_true(a) ? value(*e.parts[1]) : a;
    if (sign == "or") return is_true(a) ? a : value(*e.parts[1]);
    const Value b = value(*e.parts[1]);
    if (sign == "==") return equal(a, b);
    if (sign == "!=") return !equal(a, b);
    if (sign == "<") return less(a, b);
    if (sign == ">") return less(b, a);
    if (sign == "<=") return !less(b, a);
    if (sign == ">=") return !less(a, b);
    if (sign == "in") return passes_test("in", a, {.values = {b}, .named = {}});
    if (sign == "~") return bounded(to_text(a) + to_text(b));
    return arithmetic(sign, a, b);
  }
  static std::string bounded(std::string text) {
    check_bytes(text.size());
    return text;
  }
  static Value arithmetic(const std::string& sign, const Value& a, const Value& b) {
    if (sign == "+" && a.text() && b.text()) return bounded(*a.text() + *b.text());
    if (sign == "+" && a.items() && b.items()) {
      List all = *a.items();
      all.insert(all.end(), b.items()->begin(), b.items()->end());
      check(all.size() <= kMostItems, "a list of more than {} elements", kMostItems);
      return Value::list(std::move(all));
    }
    check(a.is_number() && b.is_number(), "{} {} {} is not possible", a.kind(), sign, b.kind());
    const double x = number_of(a, ""), y = number_of(b, "");
    const bool whole = !std::holds_alternative<double>(a.data) && !std::holds_alternative<double>(b.data);
    check(y != 0 || (sign != "/" && sign != "//" && sign != "%"), "a division by 0");
    const double z = sign == "+"    ? x + y
                     : sign == "-"  ? x - y
                     : sign == "*"  ? x * y
                     : sign == "/"  ? x / y
                     : sign == "//" ? std::floor(x / y)
                     : sign == "%"  ? x - y * std::floor(x / y)
                                    : std::pow(x, y);
    if (!whole || sign == "/") return z;
    return checked_integer(z);
  }

  std::vector<Dict> scopes_;
  std::vector<std::shared_ptr<Dict>> changed_;  // namespaces with a member that was set
  int calls_ = 0;
};

}  // namespace

Template::Template(std::string_view source) : program_(std::make_unique<Program>(parse_template(source))) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;

bool Template::reads(const std::string& variable) const { return program_->names.contains(variable); }

std::string Template::render(const Json& variables) const {
  check(variables.is_object(), "chat template: expected an object of variables");
  try {
    Run run(variables);
    run.execute(program_->statements);
    return std::move(run.text);
  } catch (const Error& e) {
    fail("chat template: {}", e.what());
  }
}

}  // namespace pg::jinja
