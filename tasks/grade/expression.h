#pragma once
// The tree of an answer: what parser.h makes of a text.
#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/grade/units.h"

namespace pg::grading {

struct Node {
  enum class Kind : uint8_t {
    // Values.
    number,      // number; decimal: written with a point and at least `digits` digits
    variable,    // name
    pi,          //
    euler,       // e
    imaginary,   // i
    infinity,    //
    sum,         // children
    product,     // children
    quotient,    // numerator, denominator
    power,       // base, exponent
    root,        // radicand, index
    function,    // name; argument, and for log its base
    factorial,   // argument; number: the step, 2 for n!!
    binomial,    // n, k
    absolute,    // argument
    plus_minus,  // argument; name "+-" or "-+"
    percent,     // argument
    degrees,     // argument
    based,       // number: the value; name: the digits; children: the base
    text,        // name: the words; children: the product of its letters, if it may be read as one
    // Structures of values.
    quantity,        // value; unit
    group,           // elements between open and close: tuple, interval
    set,             // elements
    list,            // elements, in any order; name "or" if one of the separators is "or"
    ratio,           // elements of a:b:c
    sequence,        // numbers with only a space between them
    set_union,       // sets
    set_difference,  // a set, what is left out of it
    matrix,          // elements by row; number: columns
    relation,        // sides; relations: one sign between neighbours
    member,          // element, set
  };
  Kind kind = Kind::number;
  mpq_class number;
  std::string name;
  std::vector<Node> children;
  std::vector<std::string> relations;  // "=", "<", "<=", ">", ">=", "!=", "~"
  Unit unit;
  char open = 0, close = 0;
  int decimals = 0;  // digits after the point
};

inline Node make(Node::Kind kind, std::vector<Node> children) {
  Node node;
  node.kind = kind;
  node.children = std::move(children);
  return node;
}
inline Node make_number(mpq_class value) {
  Node node;
  node.number = std::move(value);
  return node;
}
inline Node make_name(Node::Kind kind, std::string_view name) {
  Node node;
  node.kind = kind;
  node.name = name;
  return node;
}
inline Node negated(Node node) {
  if (node.kind == Node::Kind::number) {
    node.number = -node.number;
    return node;
  }
  std::vector<Node> factors;
  factors.push_back(make_number(-1));
  factors.push_back(std::move(node));
  return make(Node::Kind::product, std::move(factors));
}

}  // namespace pg::grading
