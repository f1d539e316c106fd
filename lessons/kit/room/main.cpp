// lesson_room DIR [--code WORD] [--port N]: shows the laptops of a local network on a page, until Ctrl-C.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "lessons/kit/room/board.h"

namespace pg::kit {
namespace {

// The IPv4 addresses at which other machines may reach this one; the loopback if there is none.
std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {"127.0.0.1"};
  for (const ifaddrs* a = first; a; a = a->ifa_next) {
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || (a->ifa_flags & IFF_UP) == 0) continue;
    if ((a->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr, text, sizeof text);
    found.emplace_back(text);
  }
  freeifaddrs(first);
  if (found.empty()) found.emplace_back("127.0.0.1");
  return found;
}

void run(const std::string& dir, const std::string& code, int port) {
  Board board(dir, code, read_course(repository_root()));
  HttpServer server(port, {}, [&](const HttpRequest& request) { return board.answer(request); });
  const std::vector<std::string> addresses = own_addresses();
  fmt::print("The code word is {}. Records are kept in {}; make collect DIR=... reads them.\n\n", code, dir);
  for (const std::string& address : addresses) fmt::print("  the table    http://{}:{}/\n", address, server.port());
  for (const std::string& address : addresses) {
    fmt::print("  each laptop  export POLICYGRAD_ROOM=http://{}:{}/{}\n", address, server.port(), code);
  }
  fmt::print("\n{}After that each check sends the laptop's record. Ctrl-C ends the room and leaves the records.\n",
             addresses.size() > 1 ? "This machine has several addresses: take that of the laptops' network.\n" : "");
  std::fflush(stdout);
  for (;;) server.step(1000);
}

}  // namespace
}  // namespace pg::kit

int main(int argc, char** argv) {
  CLI::App app{"A page of all laptops of a local network. Usually started by: make room DIR=FOLDER"};
  std::string dir, code;
  int port = 8000;
  app.add_option("dir", dir, "The folder of the records, made if it is not there")->required();
  app.add_option("--code", code, "The code word; default a random one");
  app.add_option("--port", port, "Where to listen; 0: a free port")->check(CLI::Range(0, 65535));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  try {
    pg::check(!dir.empty(), "type: make room DIR=FOLDER, with a folder for the records");
    pg::kit::run(dir, code.empty() ? pg::kit::random_code() : code, port);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", error.what());
    return 64;
  }
}
