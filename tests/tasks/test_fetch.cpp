// Downloads: checksums, offline use, damaged files.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tasks/data/fetch.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
namespace fs = std::filesystem;

namespace {

struct Folder : testing::TempDir {
  Folder() { fs::create_directories(path / "mirror"); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return read_file((path / name).string()); }
  FetchPlaces places() const { return {"", (path / "cache").string(), "file://" + (path / "mirror").string()}; }
};

const std::string kText = generate_stories(50000, 11);
DataFile known_file() { return {"text.txt", "http://127.0.0.1:1/", int64_t(kText.size()), sha256(kText), "none"}; }

// A port of this machine on which no process listens.
int closed_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

void need_curl() {
  if (std::system("curl --version > /dev/null 2>&1") != 0) SKIP_TEST("curl is not installed");
}

}  // namespace

TEST_CASE("the manifest names its files completely", "[fetch]") {
  for (const auto& file : data_manifest()) {
    CHECK(file.url.substr(0, 8) == "https://");
    CHECK(file.sha256.size() == 64);
    CHECK(file.bytes > 0);
    CHECK(!file.licence.empty());
    CHECK(data_file(file.name).url == file.url);
  }
  CHECK(contains(error_of([] { data_file("moby_dick"); }), "tinyshakespeare.txt"));
}

TEST_CASE("a file that is here is found without a download", "[fetch]") {
  const Folder folder;
  FetchPlaces places = folder.places();
  places.mirror = "file:///nowhere";
  CHECK(find_data(known_file(), places).empty());
  folder.write("cache/text.txt", kText);
  CHECK(fetch_data(known_file(), places) == places.cache + "/text.txt");
  places.data = (folder.path / "given").string();
  folder.write("given/text.txt", kText);
  CHECK(fetch_data(known_file(), places) == places.data + "/text.txt");
  folder.write("given/text.txt", kText + "x");
  CHECK(contains(error_of([&] { fetch_data(known_file(), places); }), "given/text.txt is not the published file"));
}

TEST_CASE("a download is checked and put in place", "[fetch]") {
  need_curl();
  const Folder folder;
  folder.write("mirror/text.txt", kText);
  int64_t last = 0;
  const std::string path = fetch_data(known_file(), folder.places(), [&](int64_t done, int64_t total) {
    CHECK(total == known_file().bytes);
    last = done;
  });
  CHECK(read_file(path) == kText);
  CHECK(last == known_file().bytes);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path / "cache")) files += entry.exists();
  CHECK(files == 1);
}

TEST_CASE("a cut download goes on where it stopped", "[fetch]") {
  need_curl();
  const Folder folder;
  // The first half of the mirror's file is corrupt: only a download that resumes gets the right file.
  const size_t half = kText.size() / 2;
  folder.write("mirror/text.txt", std::string(half, '?') + kText.substr(half));
  folder.write("cache/text.txt.part", kText.substr(0, half));
  CHECK(read_file(fetch_data(known_file(), folder.places())) == kText);
}

TEST_CASE("the remains of another download do not spoil this one", "[fetch]") {
  need_curl();
  const Folder folder;
  folder.write("mirror/text.txt", kText);
  SECTION("a wrong beginning") { folder.write("cache/text.txt.part", "something else"); }
  SECTION("longer than the file") { folder.write("cache/text.txt.part", kText + kText); }
  SECTION("as long as the file") { folder.write("cache/text.txt.part", std::string(kText.size(), 'x')); }
  SECTION("already complete") { folder.write("cache/text.txt.part", kText); }
  CHECK(read_file(fetch_data(known_file(), folder.places())) == kText);
}

TEST_CASE("the curl of a killed download wrote beside the next one", "[fetch]") {
  need_curl();
  const Folder folder;
  const std::string pipe = (folder.path / "mirror/text.txt").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);  // curl waits for a writer
  const pid_t child = fork();
  if (child == 0) {
    fetch_data(known_file(), folder.places(), [](int64_t, int64_t) { kill(getpid(), SIGKILL); });
    _exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  const int lock = open((folder.path / "cache/text.txt.part.lock").string().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(lock >= 0);
  CHECK((flock(lock, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK));
  close(open(pipe.c_str(), O_WRONLY | O_CLOEXEC));  // an empty file: curl ends
  CHECK(flock(lock, LOCK_EX) == 0);
  close(lock);
}

TEST_CASE("a download follows no link and obeys no .curlrc", "[fetch]") {
  need_curl();
  const Folder folder;
  folder.write("mirror/text.txt", kText);
  folder.write("precious", "of the user");
  folder.write("home/.curlrc", "output = \"" + (folder.path / "stolen").string() + "\"\n");
  fs::create_directories(folder.path / "cache");
  fs::create_symlink(folder.path / "precious", folder.path / "cache/text.txt.part");
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("HOME", (folder.path / "home").c_str(), 1);
  const std::string path = fetch_data(known_file(), folder.places());
  setenv("HOME", home.c_str(), 1);
  CHECK(read_file(path) == kText);
  CHECK(read_file((folder.path / "precious").string()) == "of the user");
  CHECK(!fs::exists(folder.path / "stolen"));
}

TEST_CASE("a wrong file is refused", "[fetch]") {
  need_curl();
  const Folder folder;
  std::string spoiled = kText;
  SECTION("one letter differs") {
    spoiled[1000] ^= 1;
    folder.write("mirror/text.txt", spoiled);
    CHECK(contains(error_of([&] { fetch_data(known_file(), folder.places()); }), "SHA-256"));
  }
  SECTION("too short") {
    folder.write("mirror/text.txt", kText.substr(0, 100));
    CHECK(contains(error_of([&] { fetch_data(known_file(), folder.places()); }), "100 bytes instead of"));
  }
  SECTION("without an end") {
    fs::create_directories(folder.path / "mirror");
    fs::create_symlink("/dev/zero", folder.path / "mirror/text.txt");
    CHECK(contains(error_of([&] { fetch_data(known_file(), folder.places()); }), "it sends more than the"));
    CHECK(!fs::exists(folder.path / "cache/text.txt.part"));
    fs::remove(folder.path / "mirror/text.txt");
  }
  CHECK(!fs::exists(folder.path / "cache/text.txt"));
  // The corrupt download is not resumed later.
  folder.write("mirror/text.txt", kText);
  CHECK(read_file(fetch_data(known_file(), folder.places())) == kText);
}

TEST_CASE("without a connection one sentence says so and the stories serve", "[fetch]") {
  need_curl();
  const Folder folder;
  FetchPlaces places = folder.places();
  places.mirror = "http://127.0.0.1:" + std::to_string(closed_port());
  const std::string said = error_of([&] { fetch_data(known_file(), places); });
  CHECK(said == "text.txt could not be downloaded from " + places.mirror + "/text.txt: no connection");

  const Corpus corpus = load_corpus("tinyshakespeare", places);
  CHECK(corpus.name == "stories");
  CHECK(corpus.text == generate_stories());
  CHECK(contains(corpus.note, "no connection; using the built-in stories instead"));
  CHECK(corpus.note.find('\n') == std::string::npos);
}

TEST_CASE("a corpus that could not be downloaded is not tried again for a day", "[fetch]") {
  need_curl();
  const Folder folder;
  FetchPlaces places = folder.places();
  places.mirror = "http://127.0.0.1:" + std::to_string(closed_port());
  const auto remembered = [&] {
    return contains(load_corpus("tinyshakespeare", places).note, "within the last day; ./pg fetch tinyshakespeare.txt");
  };
  CHECK(!remembered());
  CHECK(remembered());
  CHECK(contains(error_of([&] { fetch_data(data_file("tinyshakespeare.txt"), places); }), "no connection"));
  const fs::path marker = folder.path / "cache/tinyshakespeare.txt.unreachable";
  fs::last_write_time(marker, fs::file_time_type::clock::now() - std::chrono::hours(25));
  CHECK(!remembered());
  CHECK(remembered());
  places.mirror = folder.places().mirror;  // another source
  CHECK(!remembered());
}

TEST_CASE("any file can be the corpus", "[fetch]") {
  const Folder folder;
  folder.write("mine.txt", "my text");
  const std::string path = (folder.path / "mine.txt").string();
  CHECK(load_corpus(path).text == "my text");
  CHECK(load_corpus(path).note.empty());
  CHECK(load_corpus("stories").text == generate_stories());
  folder.write("empty.txt", "");
  CHECK(contains(error_of([&] { load_corpus((folder.path / "empty.txt").string()); }), "empty"));
  CHECK(contains(error_of([&] { load_corpus((folder.path / "none.txt").string()); }), "No such file"));
}

TEST_CASE("a cache that cannot be written is named", "[fetch]") {
  const Folder folder;
  FetchPlaces places = folder.places();
  folder.write("file", "");
  places.cache = (folder.path / "file/cache").string();
  CHECK(contains(error_of([&] { fetch_data(known_file(), places); }), "POLICYGRAD_CACHE"));
}
