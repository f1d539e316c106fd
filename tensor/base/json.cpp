// Building, copying, comparing and reading JSON values.
#include "tensor/base/json.h"

#include <algorithm>
#include <numeric>
#include <ostream>

#include "tensor/base/error.h"

namespace pg {
namespace {

constinit const Json kNull;
const Json::Array kNoElements;
const Json::Object kNoMembers;

// The message of a type error; `id` is its number in nlohmann/json.
[[noreturn]] void wrong_type(int id, const std::string& what) { fail("[json.exception.type_error.{}] {}", id, what); }
[[noreturn]] void not_gettable(const char* expected, const Json& got) {
  wrong_type(302, fmt::format("type must be {}, but is {}", expected, got.type_name()));
}

// The members in the order of their keys.
std::vector<const Json::Member*> by_key(const Json::Object& members) {
  std::vector<const Json::Member*> sorted;
  for (const Json::Member& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  return sorted;
}

}  // namespace

Json::Json(std::initializer_list<Item> items) {
  const bool is_object = std::all_of(items.begin(), items.end(), [](const Item& item) {
    return item.value.is_array() && item.value.size() == 2 && item.value[0].is_string();
  });
  *this = is_object ? object() : array(items);
  if (!is_object) return;
  for (const Item& item : items) {
    const std::string& key = item.value[0].text();
    if (!contains(key)) append(key, std::move(item.value[1]));
  }
}

Json Json::array(std::initializer_list<Item> items) {
  Json json;
  json.data_.array = new Array;
  json.kind_ = Kind::array;
  json.data_.array->reserve(items.size());
  for (const Item& item : items) json.data_.array->push_back(std::move(item.value));
  return json;
}

Json Json::object() {
  Json json;
  json.data_.object = new Object;
  json.kind_ = Kind::object;
  return json;
}

void Json::copy_leaf(const Json& other) {
  data_ = other.data_;
  if (other.is_string()) data_.string = new std::string(*other.data_.string);
  kind_ = other.kind_;
}

Json::Json(const Json& other) : Json() {
  if (!other.is_structured()) {
    copy_leaf(other);
    return;
  }
  std::vector<std::pair<const Json*, Json*>> open = {{&other, this}};  // arrays and objects, and nulls to become them
  const auto copy = [&](const Json& from, Json& to) {
    if (from.is_structured())
      open.emplace_back(&from, &to);
    else
      to.copy_leaf(from);
  };
  while (!open.empty()) {
    const auto [from, to] = open.back();
    open.pop_back();
    if (from->is_array()) {
      *to = array();
      Array& elements = *to->data_.array;
      elements.resize(from->size());
      for (size_t i = 0; i < elements.size(); ++i) copy((*from)[i], elements[i]);
    } else {
      *to = object();
      Object& members = *to->data_.object;
      members.resize(from->size());
      for (size_t i = 0; i < members.size(); ++i) {
        members[i].first = from->items()[i].first;
        copy(from->items()[i].second, members[i].second);
      }
    }
  }
}

void Json::destroy() noexcept {
  if (is_string()) {
    delete data_.string;
    return;
  }
  std::vector<Json> open;  // arrays and objects that were in others
  const auto destroy_one = [&](Json& json) {
    const auto keep = [&](Json& inner) {
      if (inner.is_structured()) open.push_back(std::move(inner));
    };
    if (json.is_array()) {
      for (Json& element : *json.data_.array) keep(element);
      delete json.data_.array;
    } else {
      for (Member& member : *json.data_.object) keep(member.second);
      delete json.data_.object;
    }
    json.kind_ = Kind::null;
  };
  destroy_one(*this);
  while (!open.empty()) {
    Json last = std::move(open.back());
    open.pop_back();
    destroy_one(last);
  }
}

const char* Json::type_name() const {
  switch (kind_) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "boolean";
    case Kind::string:
      return "string";
    case Kind::array:
      return "array";
    case Kind::object:
      return "object";
    case Kind::discarded:
      return "discarded";
    default:
      return "number";
  }
}

bool Json::is_integer_in(int64_t low, int64_t high) const {
  if (kind_ == Kind::whole)
    return high >= 0 && data_.whole <= static_cast<uint64_t>(high) && low <= static_cast<int64_t>(data_.whole);
  return kind_ == Kind::integer && low <= data_.integer && data_.integer <= high;
}

bool Json::truth() const {
  if (!is_boolean()) not_gettable("boolean", *this);
  return data_.boolean;
}
double Json::number() const {
  if (kind_ == Kind::real) return data_.real;
  if (!is_number_integer()) not_gettable("number", *this);
  return kind_ == Kind::integer ? static_cast<double>(data_.integer) : static_cast<double>(data_.whole);
}
int64_t Json::integer(int64_t low, int64_t high) const {
  if (kind_ == Kind::real && data_.real >= -0x1p63 && data_.real < 0x1p63) {
    return Json(static_cast<int64_t>(data_.real)).integer(low, high);
  }
  if (!is_number()) not_gettable("number", *this);
  if (!is_integer_in(low, high)) fail("expected a number from {} to {}, got {}", low, high, dump());
  return kind_ == Kind::integer ? data_.integer : static_cast<int64_t>(data_.whole);
}
uint64_t Json::whole(uint64_t high) const {
  if (kind_ == Kind::real && data_.real > -1 && data_.real < 0x1p64) {
    return Json(static_cast<uint64_t>(data_.real)).whole(high);
  }
  if (kind_ == Kind::integer && data_.integer >= 0) return Json(static_cast<uint64_t>(data_.integer)).whole(high);
  if (!is_number()) not_gettable("number", *this);
  if (kind_ != Kind::whole || data_.whole > high) fail("expected a number from 0 to {}, got {}", high, dump());
  return data_.whole;
}
const std::string& Json::text() const {
  if (!is_string()) not_gettable("string", *this);
  return *data_.string;
}
const Json::Array& Json::get_elements() const {
  if (!is_array()) not_gettable("array", *this);
  return *data_.array;
}
const Json::Object& Json::get_members() const {
  if (!is_object()) not_gettable("object", *this);
  return *data_.object;
}

size_t Json::size() const {
  return is_array() ? data_.array->size() : is_object() ? data_.object->size() : is_null() ? 0 : 1;
}
const Json::Array& Json::elements() const { return is_null() ? kNoElements : get_elements(); }
const Json::Object& Json::items() const { return is_null() ? kNoMembers : get_members(); }

const Json& Json::at(size_t index) const {
  if (!is_array()) wrong_type(304, fmt::format("cannot use at() with {}", type_name()));
  if (index >= size()) fail("[json.exception.out_of_range.401] array index {} is out of range", index);
  return (*data_.array)[index];
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  if (!is_array()) wrong_type(308, fmt::format("cannot use push_back() with {}", type_name()));
  data_.array->push_back(std::move(value));
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : *data_.object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) wrong_type(304, fmt::format("cannot use at() with {}", type_name()));
  const Json* found = find(key);
  if (!found) fail("[json.exception.out_of_range.403] key '{}' not found", key);
  return *found;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  return found ? *found : kNull;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) wrong_type(305, fmt::format("cannot use operator[] with a string argument with {}", type_name()));
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  return append(std::string(key), {});
}

Json& Json::append(std::string key, Json value) {
  return data_.object->emplace_back(std::move(key), std::move(value)).second;
}

const Json* Json::member_of_object(std::string_view key) const {
  if (!is_object()) wrong_type(306, fmt::format("cannot use value() with {}", type_name()));
  return find(key);
}

void Json::erase(std::string_view key) {
  if (!is_object()) wrong_type(307, fmt::format("cannot use erase() with {}", type_name()));
  std::erase_if(*data_.object, [&](const Member& member) { return member.first == key; });
}

void Json::update(Json object) {
  if (!object.is_object()) wrong_type(312, fmt::format("cannot use update() with {}", object.type_name()));
  for (auto& [key, value] : *object.data_.object) (*this)[key] = std::move(value);
}

void Json::remove_repeated_keys() {
  Object& members = *data_.object;
  const auto is_repeated = [&](size_t i) {
    return std::any_of(members.begin(), members.begin() + static_cast<ptrdiff_t>(i),
                       [&](const Member& before) { return before.first == members[i].first; });
  };
  constexpr size_t few = 16;  // up to here comparing all pairs is faster than sorting
  if (members.size() <= few) {
    size_t i = 0;
    while (i < members.size() && !is_repeated(i)) ++i;
    if (i == members.size()) return;
  }
  std::vector<size_t> order(members.size());  // by key, then by place
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int difference = members[a].first.compare(members[b].first);
    return difference != 0 ? difference < 0 : a < b;
  });
  std::vector<bool> repeated(members.size());
  size_t first = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].first != members[order[first]].first) {
      first = i;
      continue;
    }
    members[order[first]].second = std::move(members[order[i]].second);
    repeated[order[i]] = true;
  }
  size_t place = 0;
  std::erase_if(members, [&](const Member&) { return repeated[place++]; });
}

bool Json::equal_leaves(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.kind_ == Kind::real || b.kind_ == Kind::real) return a.number() == b.number();
    if (a.kind_ == b.kind_) return a.data_.whole == b.data_.whole;
    const auto [sign, whole] = a.kind_ == Kind::integer ? std::pair(&a, &b) : std::pair(&b, &a);
    return sign->data_.integer >= 0 && static_cast<uint64_t>(sign->data_.integer) == whole->data_.whole;
  }
  if (a.kind_ != b.kind_) return false;
  if (a.is_string()) return *a.data_.string == *b.data_.string;
  return a.is_null() || (a.is_boolean() && a.data_.boolean == b.data_.boolean);
}

bool Json::equal(const Json& a, const Json& b) {
  std::vector<std::pair<const Json*, const Json*>> open;  // not compared yet: arrays and objects
  const auto may_be_equal = [&](const Json& x, const Json& y) {
    if (!x.is_structured() || x.kind_ != y.kind_) return equal_leaves(x, y);
    if (x.size() != y.size()) return false;
    open.emplace_back(&x, &y);
    return true;
  };
  if (!may_be_equal(a, b)) return false;
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    if (x->is_array()) {
      for (size_t i = 0; i < x->size(); ++i) {
        if (!may_be_equal((*x)[i], (*y)[i])) return false;
      }
      continue;
    }
    const auto members = by_key(x->items()), others = by_key(y->items());
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i]->first != others[i]->first || !may_be_equal(members[i]->second, others[i]->second)) return false;
    }
  }
  return true;
}

Json sorted_by_key(Json value) {
  std::vector<Json*> open = {&value};
  while (!open.empty()) {
    Json& last = *open.back();
    open.pop_back();
    if (last.is_array()) {
      for (Json& element : last) open.push_back(&element);
    } else if (last.is_object()) {
      Json::Object& members = *last.data_.object;
      std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (Json::Member& member : members) open.push_back(&member.second);
    }
  }
  return value;
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << value.dump(-1, Json::Utf8::replace); }

}  // namespace pg
