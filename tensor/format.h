#pragma once
// Errors with formatted messages, and the fmt formatters of shapes and element types.
#include <fmt/format.h>

#include <string>

#include "tensor/base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

template <>
struct fmt::formatter<pg::DType> : fmt::formatter<const char*> {
  auto format(pg::DType type, fmt::format_context& context) const {
    return fmt::formatter<const char*>::format(pg::name_of(type), context);
  }
};

template <>
struct fmt::formatter<pg::Dims> : fmt::formatter<fmt::string_view> {
  auto format(const pg::Dims& dims, fmt::format_context& context) const {
    std::string text = "[";
    for (int i = 0; i < dims.rank(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
    return fmt::formatter<fmt::string_view>::format(text + "]", context);
  }
};
