// Puts the parts of a report together.
#include "tools/report/page.h"

#include <charconv>

#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

std::string_view file(std::string_view name) {
  for (const auto& [known, text] : report_files()) {
    if (known == name) return text;
  }
  fail("report: the program has no file {}", name);
}

// All scripts as one, with a scope of their own.
std::string all_scripts() {
  std::string text = "(() => {\n\"use strict\";\n";
  for (const auto& [name, script] : report_files()) {
    if (name.ends_with(".js")) text += script;
  }
  return text + "})();\n";
}

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '<') {
      html += "&lt;";
    } else if (c == '&') {
      html += "&amp;";
    } else {
      html += c;
    }
  }
  return html;
}

// A source expression of a Content-Security-Policy: 'sha256-…' with the hash of an element's text in base64.
std::string source_of(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(text);
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    int byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  std::string base64;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) base64 += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return "'sha256-" + base64 + "'";
}

}  // namespace

std::string script_json(std::string_view json) {
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i, 3);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      text += rest == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string report_page(std::string_view title, std::string_view data, std::string_view samples) {
  for (const std::string_view text : {title, data, samples}) {
    check(is_utf8(text), "report: a text of the page is no UTF-8: '{}'", excerpt(text));
  }
  const std::string script = "\n" + all_scripts(), style = fmt::format("\n{}", file("report.css"));
  const std::string policy =
      fmt::format("default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
                  source_of(script), source_of(style));
  const std::pair<std::string_view, std::string> gaps[] = {
      {"policy", policy}, {"title", html_text(title)}, {"style", style},
      {"script", script}, {"data", script_json(data)}, {"samples", script_json(samples)}};
  std::string page;
  std::string_view rest = file("report.html");
  for (size_t begin = rest.find("{{"); begin != std::string_view::npos; begin = rest.find("{{")) {
    const size_t end = rest.find("}}", begin);
    check(end != std::string_view::npos, "report: report.html has an open gap");
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    page += rest.substr(0, begin);
    for (const auto& [gap, text] : gaps) {
      if (gap == name) page += text;
    }
    rest.remove_prefix(end + 2);
  }
  return page.append(rest);
}

}  // namespace pg
