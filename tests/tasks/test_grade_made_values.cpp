// Lists, units, percent, upright letters, separators of thousands, sets, ratios and repeating digits.
#include <algorithm>
#include <map>

#include "tests/tasks/made_pairs.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Numbers in a list, whose order does not count, or in a tuple, whose order does.
Pair numbers(Generator& g) {
  std::vector<std::string> all, other;
  for (int n = whole(g, 2, 5); n > 0; --n) all.push_back(fmt::format("{}", whole(g, -9, 99)));
  other = shuffled(g, all);
  const bool tuple = coin(g);
  bool equal = !tuple || other == all;
  if (g.integer(3) == 0) {
    const std::string before = std::exchange(other[0], fmt::format("{}", whole(g, 100, 200)));
    equal = false;
  }
  const auto written = [&](const std::vector<std::string>& list) {
    return tuple ? "(" + joined(list, ", ") + ")" : joined(list, ", ");
  };
  return {written(all), written(other), equal};
}

struct Measure {
  std::string name;
  int kind;
  int64_t size;  // in the smallest unit of its kind
};
const std::vector<Measure>& measures() {
  static const std::vector<Measure> all = {
      {"mm", 0, 1},      {"cm", 0, 10},      {"km", 0, 1000000},  {"millimeters", 0, 1}, {"kilometers", 0, 1000000},
      {"inches", 1, 1},  {"ft", 1, 12},      {"yards", 1, 36},    {"feet", 1, 12},       {"miles", 1, 63360},
      {"seconds", 2, 1}, {"minutes", 2, 60}, {"hours", 2, 3600},  {"days", 2, 86400},    {"grams", 3, 1},
      {"kg", 3, 1000},   {"cents", 4, 1},    {"dollars", 4, 100}, {"ounces", 5, 1},      {"pounds", 5, 16}};
  return all;
}
std::string with_unit(Generator& g, const std::string& number, const std::string& unit) {
  return coin(g) ? number + " " + unit : number + "\\text{ " + unit + "}";
}

// A length, time, mass or sum of money in two units; with the unit left out; with another unit or number.
Pair units(Generator& g) {
  const Measure &a = one_of(g, measures()), &b = one_of(g, measures());
  const int n = whole(g, 1, 500);
  const std::string given = with_unit(g, fmt::format("{}", n), a.name);
  if (g.integer(4) == 0) {
    const int more = whole(g, 0, 1);
    return {given, fmt::format("{}", n + more), more == 0};
  }
  if (a.kind != b.kind) return {given, with_unit(g, fmt::format("{}", n), b.name), false};
  const bool equal = coin(g);
  const std::string value = fmt::format("\\frac{{{}}}{{{}}}", n * a.size + (equal ? 0 : whole(g, 1, 9)), b.size);
  return {given, with_unit(g, value, b.name), equal};
}

// "5 ft 6 in", "2 hours and 30 minutes".
Pair compound_units(Generator& g) {
  struct Row {
    const char *large, *small;
    int times;
  };
  static const std::vector<Row> rows = {{"ft", "in", 12},         {"feet", "inches", 12},
                                        {"hours", "minutes", 60}, {"minutes", "seconds", 60},
                                        {"pounds", "ounces", 16}, {"dollars", "cents", 100}};
  const Row& row = one_of(g, rows);
  const int a = whole(g, 1, 20), b = whole(g, 1, row.times - 1);
  const std::string between = coin(g) ? " " : " and ";
  const std::string given = fmt::format("{} {}{}{} {}", a, row.large, between, b, row.small);
  const int other = whole(g, 1, 20);
  switch (g.integer(3)) {
    case 0:
      return {given, fmt::format("{} {}{}{} {}", b, row.large, " ", std::min(a, row.times - 1), row.small), a == b};
    case 1:
      return {given, fmt::format("{} {}", a * row.times + b, row.small), true};
    default:
      return {given, fmt::format("{} {}", other * row.times + b, row.small), a == other};
  }
}

// Speeds, areas and their inverses.
Pair quotients_of_units(Generator& g) {
  static const std::vector<std::string> all = {"m/s", "km/h", "s/m", "h/km", "sq cm", "cm", "cm^2", "cubic cm", "g/l"};
  static const std::map<std::string, std::string> same = {{"sq cm", "cm^2"}};
  const std::string &a = one_of(g, all), &b = one_of(g, all);
  const int n = whole(g, 1, 90);
  const auto normal = [&](const std::string& unit) { return same.contains(unit) ? same.at(unit) : unit; };
  return {fmt::format("{} {}", n, a), with_unit(g, fmt::format("{}", n), b), normal(a) == normal(b)};
}

Pair percent(Generator& g) {
  const int n = whole(g, 1, 400);
  const auto written = [&](int k) {
    switch (g.integer(4)) {
      case 0:
        return fmt::format("{} percent", k);
      case 1:
        return fmt::format("{}\\%", k);
      case 2:
        return fmt::format("{}\\text{{ percent}}", k);
      default:
        return fmt::format("\\frac{{{}}}{{100}}", k);
    }
  };
  const int other = coin(g) ? n : n + whole(g, 1, 50);
  const std::string given = fmt::format("{} percent", n);
  if (g.integer(4) == 0) return {given + " of the boys", fmt::format("{}\\% of the girls", n), false};
  return {given, written(other), n == other};
}

// Expressions in e and i, upright and italic.
Pair upright(Generator& g) {
  const int a = whole(g, 2, 9), b = whole(g, 2, 9), c = whole(g, 2, 9);
  const auto text = [&](int k) {
    const std::string e = coin(g) ? "e" : "\\mathrm{e}", i = coin(g) ? "i" : "\\mathrm{i}";
    return fmt::format("{}{}^{{{}}}+{}{}", a, e, k, c, i);
  };
  const bool equal = coin(g);
  return {text(b), text(equal ? b : b + 1), equal};
}

Pair thousands(Generator& g) {
  static const std::vector<std::string> separators = {",", "{,}", ",\\!", "\\,", "\\;", "\\!", " ", "~", "\\ "};
  const int n = whole(g, 1000, 99999999);
  const std::string digits = fmt::format("{}", n), separator = one_of(g, separators);
  std::string given;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) given += separator;
    given += digits[i];
  }
  std::string gold = coin(g) ? digits : shuffled(g, digits);
  gold.erase(0, std::min(gold.find_first_not_of('0'), gold.size() - 1));
  return {given, gold, gold == digits};
}

// Sets of real numbers in several notations.
Pair sets(Generator& g) {
  const int a = whole(g, -20, 20), b = a + whole(g, 1, 20);
  const bool low = coin(g), high = coin(g);
  const auto written = [&](int from, int to, bool closed_from, bool closed_to) {
    const std::string less = closed_from ? "\\le" : "<", less_to = closed_to ? "\\le" : "<";
    switch (g.integer(5)) {
      case 0:
        return fmt::format("{} {} x {} {}", from, less, less_to, to);
      case 1:
        return fmt::format("\\{{x \\mid {} {} x {} {}\\}}", from, less, less_to, to);
      case 2:
        return fmt::format("\\{{x : {} {} x {} {}\\}}", from, less, less_to, to);
      case 3:
        return fmt::format("x {} {} and x {} {}", closed_from ? "\\ge" : ">", from, less_to, to);
      default:
        return fmt::format("x \\in {}{}, {}{}", closed_from ? '[' : '(', from, to, closed_to ? ']' : ')');
    }
  };
  if (g.integer(4) == 0) {
    const std::string without = fmt::format("\\mathbb{{R}} \\setminus \\{{{}, {}\\}}", a, b);
    const bool equal = coin(g);
    const int c = equal ? b : b + 1;
    return {without, fmt::format("(-\\infty,{0})\\cup({0},{1})\\cup({1},\\infty)", a, c), equal};
  }
  switch (g.integer(4)) {
    case 0:
      return {written(a, b, low, high), written(a, b, !low, high), false};
    case 1:
      return {written(a, b, low, high), written(a, b + 1, low, high), false};
    default:
      return {written(a, b, low, high), written(a, b, low, high), true};
  }
}

Pair ratios(Generator& g) {
  const int a = whole(g, 1, 30), b = whole(g, 1, 30);
  const auto written = [&](int x, int y) {
    static const std::vector<std::string> forms = {"{}:{}", "{} : {}", "{} to {}", "{}\\text{{ to }}{}"};
    return fmt::format(fmt::runtime(one_of(g, forms)), x, y);
  };
  const std::string given = written(a, b);
  if (g.integer(3) == 0) {
    const bool equal = coin(g);
    return {given, fmt::format("\\frac{{{}}}{{{}}}", equal ? 2 * a : 2 * a + 1, 2 * b), equal};
  }
  return coin(g) ? Pair{given, written(a, b), true} : Pair{given, written(b, a), a == b};
}

// Decimal fractions that repeat, with the fraction that they are.
Pair repeating(Generator& g) {
  const int places = whole(g, 0, 2), length = whole(g, 1, 3);
  const auto power = [](int n) { return n == 0 ? 1 : n == 1 ? 10 : n == 2 ? 100 : 1000; };
  const int before = whole(g, 0, power(places) - 1), period = whole(g, 1, power(length) - 1);
  const std::string start = places == 0 ? "" : fmt::format("{:0{}}", before, places);
  const std::string digits = fmt::format("{:0{}}", period, length);
  std::string given = "0." + start;
  switch (g.integer(3)) {
    case 0:
      given += "\\overline{" + digits + "}";
      break;
    case 1:
      given += digits + digits + digits + (coin(g) ? "..." : "\\ldots");
      break;
    default:
      given += "\\dot{" + digits.substr(0, 1) + "}";
      if (length > 1) given += digits.substr(1, digits.size() - 2) + "\\dot{" + digits.substr(digits.size() - 1) + "}";
  }
  const int nines = power(length) - 1, bottom = nines * power(places);
  const bool equal = coin(g);
  return {given, fmt::format("\\frac{{{}}}{{{}}}", before * nines + period + (equal ? 0 : 1), bottom), equal};
}

}  // namespace

TEST_CASE("values that are made equal are equal and others are not", "[grade]") {
  try_pairs({{"numbers", numbers},
             {"units", units},
             {"compound units", compound_units},
             {"quotients of units", quotients_of_units},
             {"percent", percent},
             {"upright", upright},
             {"thousands", thousands},
             {"sets", sets},
             {"ratios", ratios},
             {"repeating", repeating}});
}
