#pragma once
// The room: takes the records that laptops post, keeps one file per name, and shows all of them as a page.
#include <map>
#include <string>

#include "lessons/kit/collect/collect.h"
#include "lessons/kit/room/http.h"

namespace pg::kit {

// A word of eight letters that is easily typed, such as "kobamide".
std::string random_code();

class Board {
 public:
  // Records are in `dir`/NAME/progress.json, which make collect reads; those that are there are shown. Error if the
  // folder cannot be made, or if `code` is not 4 to 32 lower-case letters and digits.
  Board(const std::string& dir, const std::string& code, Course course, size_t most_names = 200);

  // GET / is the page. POST /CODE takes a record, of which a later one of the same name takes the place; the answer is
  // a sentence for the learner. A name belongs to the address that it came from first. Anything else is a 4xx.
  HttpResponse answer(const HttpRequest& request);
  HttpResponse answer_at(const HttpRequest& request, int64_t now);  // seconds since 1970

 private:
  HttpResponse take(const HttpRequest& request, int64_t now);
  void show(const std::string& name, Progress progress, int64_t received);

  std::string dir_, code_;
  Course course_;
  size_t most_names_;
  std::map<std::string, Laptop> laptops_;          // by name of their folder
  std::map<std::string, std::string> address_of_;  // by name
};

}  // namespace pg::kit
