#pragma once
// A JSON value. The names are those of nlohmann/json, whose parser and number formats it has, but this header is cheap
// to include. Differences: an object keeps the order of its members; no implicit conversion to another type; reading a
// member that is not there gives null. No operation is recursive, so that a value may nest as deep as memory allows.
// Every error is an Error with the words of nlohmann/json.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pg {

namespace detail {
template <class T>
concept JsonText = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept JsonNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class R>
concept JsonRange = !JsonText<R> && requires(const R& range) {
  typename R::value_type;
  range.begin();
  range.end();
};
template <class R>
concept JsonMap = JsonRange<R> && requires {
  typename R::mapped_type;
};
}  // namespace detail

class Json {
 public:
  struct Item;                                  // an element of an initializer list
  using Member = std::pair<std::string, Json>;  // of an object
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // no two have the same key
  // What dump() does with bytes that are no UTF-8: an Error, or U+FFFD in their place.
  enum class Utf8 : uint8_t { strict, replace };

  // Null; true or false; a number; a text; an array of the elements of a range; an object of a map from texts.
  constexpr Json() noexcept {}
  Json(std::nullptr_t) noexcept : Json() {}
  template <std::same_as<bool> T>
  Json(T value) noexcept : kind_(Kind::boolean), data_{.boolean = value} {}
  template <detail::JsonNumber T>
  Json(T value) noexcept {
    if constexpr (std::is_floating_point_v<T>)
      kind_ = Kind::real, data_.real = static_cast<double>(value);
    else if constexpr (std::is_signed_v<T>)
      kind_ = Kind::integer, data_.integer = value;
    else
      kind_ = Kind::whole, data_.whole = value;
  }
  template <detail::JsonText T>
  Json(const T& text) : Json(new std::string(std::string_view(text))) {}
  template <std::same_as<std::string> T>
  Json(T&& text) : Json(new std::string(std::move(text))) {}
  template <detail::JsonRange R>
  Json(const R& range) : Json(detail::JsonMap<R> ? object() : array()) {
    if constexpr (detail::JsonMap<R>) {
      for (const auto& [key, value] : range) append(key, value);
    } else {
      for (const typename R::value_type& value : range) push_back(value);
    }
  }
  // {{"key", value}, …} is an object: all elements are pairs of a text and a value. Any other list is an array.
  Json(std::initializer_list<Item> items);
  static Json array(std::initializer_list<Item> items = {});
  static Json object();

  Json(const Json& other);
  Json(Json&& other) noexcept : Json() { swap(other); }
  Json& operator=(Json other) noexcept { return swap(other), *this; }
  ~Json() {
    if (kind_ >= Kind::string) destroy();
  }

  // The value of a JSON text. A key that is there twice has its last value at its first place. Error that names line
  // and column for a text that is no JSON. try_parse: a value that is_discarded() instead, which is no JSON value.
  static Json parse(std::string_view text);
  static Json try_parse(std::string_view text);
  // The value as text, in one line or, with an indent of at least 0, a line for each element. A number that is not
  // finite is written as null.
  std::string dump(int indent = -1, Utf8 invalid = Utf8::strict) const;

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return is_number_integer() || kind_ == Kind::real; }
  bool is_number_integer() const { return kind_ == Kind::integer || kind_ == Kind::whole; }
  // An integer, not one written as 1.0, of at least `low` and at most `high`.
  bool is_integer_in(int64_t low, int64_t high) const;
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_structured() const { return is_array() || is_object(); }
  bool is_discarded() const { return kind_ == Kind::discarded; }
  const char* type_name() const;

  // The value as bool, a number, std::string, a container of one of these, or a map from texts. Error for a value of
  // another type, and for a number that an integer type does not hold; a fraction is cut off.
  template <class T>
  T get() const;
  template <class T>
  void get_to(T& value) const {
    value = get<T>();
  }

  const std::string& text() const;  // get<std::string>() without a copy

  size_t size() const;  // of a value that is neither array nor object: 1, of null 0
  bool empty() const { return size() == 0; }
  // The elements of an array; null has none. Error for another type.
  const Json* begin() const { return elements().data(); }
  const Json* end() const { return begin() + elements().size(); }
  Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  Json* end() { return const_cast<Json*>(std::as_const(*this).end()); }
  // The members of an object; null has none. Error for another type.
  const Object& items() const;

  // The element of an array; Error if there is none.
  const Json& at(size_t index) const;
  const Json& operator[](size_t index) const { return at(index); }
  Json& operator[](size_t index) { return const_cast<Json&>(at(index)); }
  const Json& back() const { return at(size() - 1); }
  Json& back() { return const_cast<Json&>(at(size() - 1)); }
  void push_back(Json value);  // null becomes an array

  // The member of an object. find: nullptr if there is none, also for another type. at: an Error.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  const Json& operator[](std::string_view key) const;  // null if there is none, also for another type
  Json& operator[](std::string_view key);              // added if there is none; null becomes an object
  // The member as a T; `otherwise` if the object has none. Error for another type.
  template <class T>
  T value(std::string_view key, const T& otherwise) const {
    const Json* found = member_of_object(key);
    return found ? found->get<T>() : otherwise;
  }
  std::string value(std::string_view key, const char* otherwise) const { return value<std::string>(key, otherwise); }
  void erase(std::string_view key);
  void update(Json object);  // sets the members of another object

  // Equal values, whatever the order of members; numbers by value, so that 1 is 1.0.
  friend bool operator==(const Json& a, const Json& b) { return equal(a, b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& value);
  // The value with the members of all its objects in the order of their keys' bytes.
  friend Json sorted_by_key(Json value);

 private:
  friend class JsonBuilder;
  enum class Kind : uint8_t { null, boolean, integer, whole, real, discarded, string, array, object };

  union Data {
    int64_t integer = 0;  // of a number written with a sign, or made from a signed type
    uint64_t whole;
    bool boolean;
    double real;
    std::string* string;
    Array* array;
    Object* object;
  };

  explicit Json(std::string* text) noexcept : kind_(Kind::string), data_{.string = text} {}
  void swap(Json& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
  }
  void destroy() noexcept;
  void copy_leaf(const Json& other);
  Json& append(std::string key, Json value);  // to an object without this key
  static bool equal(const Json& a, const Json& b);
  static bool equal_leaves(const Json& a, const Json& b);

  bool truth() const;
  double number() const;
  int64_t integer(int64_t low, int64_t high) const;
  uint64_t whole(uint64_t high) const;
  const Array& elements() const;
  const Array& get_elements() const;
  const Object& get_members() const;
  const Json* member_of_object(std::string_view key) const;
  void remove_repeated_keys();

  Kind kind_ = Kind::null;
  Data data_;
};
Json sorted_by_key(Json value);

namespace detail {
template <class T>
concept JsonValue = !std::is_same_v<std::remove_cvref_t<T>, Json::Item> && std::is_constructible_v<Json, T>;
}  // namespace detail

// Elements of an initializer list are const; this one lets its value be moved out.
struct Json::Item {
  template <detail::JsonValue T>
  Item(T&& from) : value(std::forward<T>(from)) {}
  Item(std::initializer_list<Item> items) : value(items) {}
  mutable Json value;
};

template <class T>
T Json::get() const {
  if constexpr (std::is_same_v<T, Json>) {
    return *this;
  } else if constexpr (std::is_same_v<T, bool>) {
    return truth();
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number());
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<T>(integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(whole(std::numeric_limits<T>::max()));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text();
  } else if constexpr (detail::JsonMap<T>) {
    T map;
    for (const auto& [key, value] : get_members()) map[key] = value.template get<typename T::mapped_type>();
    return map;
  } else {
    T all;
    for (const Json& value : get_elements()) all.insert(all.end(), value.get<typename T::value_type>());
    return all;
  }
}

}  // namespace pg
