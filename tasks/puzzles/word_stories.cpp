// Stories of the word problems.
#include <algorithm>

#include "tasks/puzzles/word_problems.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr const char* kNames[] = {"Anna", "Ben",  "Clara", "David", "Emma", "Finn", "Grace", "Henry",
                                  "Iris", "Jack", "Kate",  "Liam",  "Mia",  "Noah", "Olive", "Paul"};
constexpr const char* kThings[] = {"apples", "marbles", "stickers", "shells", "stamps", "buttons",
                                   "nuts",   "cards",   "ribbons",  "beads",  "stones", "pencils"};
// With the word for one of them.
constexpr std::pair<const char*, const char*> kGoods[] = {{"pen", "pens"},   {"ruler", "rulers"}, {"cup", "cups"},
                                                          {"book", "books"}, {"lamp", "lamps"},   {"ball", "balls"}};

// Draws names, things and numbers.
class Draws {
 public:
  explicit Draws(Generator& generator) : generator_(generator) {}

  int64_t number(int64_t low, int64_t high) { return low + generator_.integer(high - low + 1); }
  // `count` different entries of a list.
  template <class T, size_t N>
  std::vector<T> some(const T (&list)[N], size_t count) {
    std::vector<T> all(std::begin(list), std::end(list));
    shuffle(all, generator_);
    all.resize(count);
    for (const T& drawn : all) note(drawn);
    return all;
  }
  // The text with the drawn names and things numbered.
  std::string bare(std::string text) const {
    for (size_t i = 0; i < drawn_.size(); ++i) {
      for (size_t at = text.find(drawn_[i]); at != std::string::npos; at = text.find(drawn_[i], at)) {
        text.replace(at, drawn_[i].size(), fmt::format("<{}>", i));
      }
    }
    return text;
  }

 private:
  void note(const char* word) { drawn_.emplace_back(word); }
  void note(const std::pair<const char*, const char*>& words) {
    note(words.second);  // which contains the first
    note(words.first);
  }

  Generator& generator_;
  std::vector<std::string> drawn_;
};

struct Told {
  std::string text;
  int64_t answer = 0;
};

// Things that somebody gets, gives away, doubles and divides: one step each.
Told collection(Draws& draws, int steps) {
  const auto names = draws.some(kNames, 2);
  const std::string who = names[0], things = draws.some(kThings, 1)[0];
  int64_t count = draws.number(6, 60);
  std::string text = fmt::format("{} has {} {}.", who, count, things);
  for (int step = 0; step < steps; ++step) {
    std::vector<int64_t> piles;
    for (int64_t k = 2; k <= 5; ++k) {
      if (count % k == 0 && count / k >= 2) piles.push_back(k);
    }
    const int64_t what = draws.number(0, 3);
    if (what == 0 || count < 4) {
      const int64_t more = draws.number(2, 30);
      text += fmt::format(" {} buys {} more.", who, more);
      count += more;
    } else if (what == 1 || (what == 2 && piles.empty()) || count > 200) {
      const int64_t fewer = draws.number(2, std::min<int64_t>(count - 2, 40));
      text += fmt::format(" {} gives {} of them to {}.", who, fewer, names[1]);
      count -= fewer;
    } else if (what == 2) {
      const int64_t k = piles[static_cast<size_t>(draws.number(0, std::ssize(piles) - 1))];
      text += fmt::format(" {} divides them into {} equal piles and keeps only one pile.", who, k);
      count /= k;
    } else {
      text += fmt::format(" {} buys as many again, which doubles the number.", who);
      count *= 2;
    }
  }
  return {text + fmt::format(" How many {} does {} have now?", things, who), count};
}

// Boxes of things; some break, the others are shared, and each child loses some.
Told boxes(Draws& draws, int steps) {
  const std::string things = draws.some(kThings, 1)[0];
  const int64_t each = draws.number(3, 12), children = steps > 2 ? draws.number(2, 6) : 1;
  int64_t count = draws.number(3, 9);
  int64_t lost = draws.number(2, count * each - 2);
  if (steps > 2) {  // what is left can be shared, at least three for each child
    const int64_t share = std::max<int64_t>(3, (count * each - lost) / children);
    while (count * each - children * share < 2) ++count;
    lost = count * each - children * share;
  }
  std::string text =
      fmt::format("There are {} boxes with {} {} each. {} of the {} are lost.", count, each, things, lost, things);
  const int64_t left = count * each - lost;
  if (steps == 2) return {text + fmt::format(" How many {} are left?", things), left};
  text += fmt::format(" The others are shared equally by {} children.", children);
  if (steps == 3) return {text + fmt::format(" How many {} does each child get?", things), left / children};
  const int64_t given = draws.number(2, left / children - 1);
  text += fmt::format(" Each child gives {} of them to a teacher.", given);
  return {text + fmt::format(" How many {} does each child have now?", things), left / children - given};
}

// Prices, an amount to pay, and the change.
Told shop(Draws& draws, int steps) {
  const auto goods = draws.some(kGoods, 2);
  const std::string who = draws.some(kNames, 1)[0];
  const int64_t price = draws.number(2, 20), count = draws.number(2, 9);
  if (steps == 2) {
    const int64_t paid = (price * count / 10 + 1 + draws.number(0, 3)) * 10;
    return {fmt::format("A {} costs ${}. {} buys {} {} and pays with ${}. How many dollars does {} get back?",
                        goods[0].first, price, who, count, goods[0].second, paid, who),
            paid - price * count};
  }
  const int64_t other = draws.number(2, 20), others = draws.number(2, 9);
  const int64_t sum = price * count + other * others;
  const std::string text =
      fmt::format("A {} costs ${} and a {} costs ${}. {} buys {} {} and {} {}", goods[0].first, price, goods[1].first,
                  other, who, count, goods[0].second, others, goods[1].second);
  if (steps == 3) return {text + fmt::format(". How many dollars does {} pay?", who), sum};
  const int64_t paid = (sum / 10 + 1 + draws.number(0, 3)) * 10;
  return {text + fmt::format(" and pays with ${}. How many dollars does {} get back?", paid, who), paid - sum};
}

// Three people, each compared with the one before.
Told comparison(Draws& draws, int steps) {
  const auto names = draws.some(kNames, 3);
  const std::string things = draws.some(kThings, 1)[0];
  const int64_t first = draws.number(3, 40), more = draws.number(2, 30), times = draws.number(2, 6);
  const int64_t second = first + more, third = times * second;
  const std::string text =
      fmt::format("{} has {} {}. {} has {} more {} than {}. {} has {} times as many {} as {}.", names[0], first, things,
                  names[1], more, things, names[0], names[2], times, things, names[1]);
  if (steps == 2) return {text + fmt::format(" How many {} does {} have?", things, names[2]), third};
  if (steps == 3) {
    return {text + fmt::format(" How many more {} does {} have than {}?", things, names[2], names[0]), third - first};
  }
  return {text + fmt::format(" How many {} do {}, {} and {} have together?", things, names[0], names[1], names[2]),
          first + second + third};
}

// A book, read at one speed and then at another.
Told reading(Draws& draws, int steps) {
  const std::string who = draws.some(kNames, 1)[0];
  const int64_t speed = draws.number(4, 30), days = draws.number(2, 9), later = draws.number(4, 30),
                later_days = draws.number(2, 9);
  const int64_t left = later * later_days, pages = speed * days + left;
  const std::string text =
      fmt::format("A book has {} pages. {} reads {} pages a day for {} days.", pages, who, speed, days);
  if (steps == 2) return {text + fmt::format(" How many pages does {} still have to read?", who), left};
  const std::string then = fmt::format("{} After that {} reads {} pages a day.", text, who, later);
  if (steps == 3) return {then + fmt::format(" How many more days does {} need to finish the book?", who), later_days};
  return {then + fmt::format(" How many days does {} need for the whole book?", who), days + later_days};
}

// Wages, a gift, and something to save for.
Told saving(Draws& draws, int steps) {
  const std::string who = draws.some(kNames, 1)[0];
  const int64_t wage = draws.number(5, 20), hours = draws.number(2, 8), days = draws.number(2, 6);
  const int64_t gift = steps == 4 ? draws.number(5, 50) : 0;
  const int64_t saved = wage * hours * days + gift;
  std::string text = fmt::format("{} earns ${} an hour and works {} hours a day for {} days.", who, wage, hours, days);
  if (steps == 2) return {text + fmt::format(" How many dollars does {} earn?", who), saved};
  if (steps == 4) text += fmt::format(" An aunt adds ${}.", gift);
  const int64_t price = saved + draws.number(5, 200);
  return {text + fmt::format(" A bicycle costs ${}. How many more dollars does {} need for it?", price, who),
          price - saved};
}

struct Story {
  const char* kind;
  Told (*tell)(Draws& draws, int steps);
};
constexpr Story kStories[] = {{"collection", collection}, {"boxes", boxes},     {"shop", shop},
                              {"comparison", comparison}, {"reading", reading}, {"saving", saving}};

}  // namespace

WordProblem make_word_problem(Generator& generator, int steps) {
  check(steps >= 2 && steps <= 4, "make_word_problem: 2 to 4 steps, got {}", steps);
  const Story& story = kStories[generator.integer(std::ssize(kStories))];
  Draws draws(generator);
  Told told = story.tell(draws, steps);
  WordProblem problem;
  problem.key = draws.bare(told.text);
  problem.text = std::move(told.text);
  problem.number = fmt::format("{}", told.answer);
  problem.kind = story.kind;
  problem.steps = steps;
  return problem;
}

}  // namespace pg
