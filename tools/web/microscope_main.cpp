// The microscope for its page, and for tests without a browser: a request per line, answered in a line.
#include "tools/web/microscope.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/bind.h>

EMSCRIPTEN_BINDINGS(microscope) {
  emscripten::function(
      "microscope", +[](const std::string& request) { return pg::web::microscope(request); });
}
int main() {}
#else
#include <iostream>

int main() {
  for (std::string request; std::getline(std::cin, request);) std::cout << pg::web::microscope(request) << std::endl;
}
#endif
