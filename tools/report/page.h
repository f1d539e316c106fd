#pragma once
// A report: one HTML file that shows JSON data and needs no network. Its parts are the files of this folder, which
// CMake compiles into the program.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pg {

// The files of the page by name: report.html, report.css, and the scripts in their order.
const std::vector<std::pair<std::string_view, std::string_view>>& report_files();

// The page. `data` and `samples` are JSON texts: what main.js shows, and an array of responses. No text in them can
// become HTML: < is written as \u003c, and the scripts show strings as text only. A Content-Security-Policy admits this
// page's script and style by their hashes, and nothing else. Error if a text is no UTF-8.
std::string report_page(std::string_view title, std::string_view data, std::string_view samples = "[]");

// JSON for a <script> element: no <, and no line separators of Unicode. The value stays the same.
std::string script_json(std::string_view json);

}  // namespace pg
