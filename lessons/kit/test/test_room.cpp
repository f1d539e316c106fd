// The room: a real server at a port of its own, and real sockets.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "lessons/kit/post.h"
#include "lessons/kit/room/board.h"
#include "tensor/base/clock.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;
using testing::contains;
using testing::read_bytes;
using testing::TempDir;
namespace fs = std::filesystem;

namespace {

const Course kCourse = {{"1", {"Lesson 1: tensors", {{"01.1", 10}, {"01.2", 15}}}},
                        {"2", {"Lesson 2: the <tape>", {{"02.1", 10}}}}};

// A room that runs until the end of the block.
class TestRoom {
 public:
  explicit TestRoom(const HttpLimits& limits = {}, size_t names = 200)
      : board_(dir.file("room"), "kobamide", kCourse, names),
        server_(0, limits, [this](const HttpRequest& request) { return board_.answer(request); }),
        thread_([this] {
          while (!stop_) server_.step(10);
        }) {}
  ~TestRoom() {
    stop_ = true;
    thread_.join();
  }
  std::string url(const std::string& code = "kobamide") const {
    return fmt::format("http://127.0.0.1:{}/{}", server_.port(), code);
  }
  Socket connect() const { return connect_to("127.0.0.1", server_.port(), Deadline::in(5)); }
  // What comes back for these bytes, until the room ends the connection.
  std::string raw(const std::string& bytes) const { return raw(connect(), bytes); }
  static std::string raw(const Socket& socket, const std::string& bytes) {
    const Deadline deadline = Deadline::in(20);
    send_all(socket.fd(), bytes.data(), bytes.size(), deadline);
    std::string text;
    for (char c = 0; receive_all(socket.fd(), &c, 1, deadline);) text += c;
    return text;
  }
  std::string post(const std::string& record) const { return post_record(url(), record, 20); }
  std::string page() const { return raw("GET / HTTP/1.1\r\nHost: room\r\n\r\n"); }
  std::string file(const std::string& name) const { return read_bytes(dir.file("room/" + name + "/progress.json")); }

  const TempDir dir;

 private:
  Board board_;
  HttpServer server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

Progress progress_of(const std::string& learner, State state = State::ok) {
  Progress progress;
  progress.learner = learner;
  progress.lessons["1"].checks = {{"01.1", state}, {"01.2", State::todo}};
  progress.lessons["1"].history["01.1"] = {.checked = 1700000000, .attempts = 3};
  return progress;
}
std::string record_of(const std::string& learner, State state = State::ok) {
  return text_of(progress_of(learner, state));
}
std::string post_text(const std::string& body, const std::string& code = "kobamide") {
  return fmt::format("POST /{} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", code, body.size(), body);
}
bool has_status(const std::string& response, int status) {
  return response.starts_with(fmt::format("HTTP/1.1 {} ", status));
}

}  // namespace

TEST_CASE("the room shows a posted record and keeps it where collect reads it", "[kit]") {
  const TestRoom room;
  CHECK(contains(room.page(), "No laptop has sent a record yet."));
  CHECK(contains(room.post(record_of("Ada")), "the table has your record as Ada"));
  CHECK(contains(room.post(record_of("bob@laptop-2", State::wrong)), "as bob@laptop-2"));
  const std::string page = room.page();
  CHECK(has_status(page, 200));
  CHECK(contains(page, "<h1>2 laptops, "));
  CHECK(contains(page, "<h2>Lesson 1: tensors</h2>"));
  CHECK(contains(page,
                 ">Ada</th><td class=\"ok\">ok</td><td>TODO</td><td class=\"number\">3</td><td "
                 "class=\"number\">0 min</td></tr>"));
  CHECK(contains(page, ">bob@laptop-2</th><td class=\"wrong\">WRONG</td>"));
  CHECK(contains(page, "http-equiv=\"refresh\" content=\"5\""));
  for (const char* outside : {"<script", "src=", "http://", "https://"}) CHECK_FALSE(contains(page, outside));
  CHECK(contains(page, "Content-Security-Policy: default-src 'none';"));

  // A later record of a name takes the place of the earlier one.
  CHECK(contains(room.post(record_of("bob@laptop-2")), "as bob@laptop-2"));
  CHECK_FALSE(contains(room.page(), "WRONG</td>"));
  CHECK(room.file("Ada") == record_of("Ada"));
  const Room collected = read_room(room.dir.file("room"));
  REQUIRE(collected.laptops.size() == 2);
  CHECK(collected.laptops[1].progress.lessons.at("1").checks.at("01.1") == State::ok);
  CHECK(collected.skipped.empty());
}

TEST_CASE("the room refuses wrong codes and garbage and sizes and methods", "[kit]") {
  const TestRoom room;
  CHECK(contains(post_record(room.url("kobamida"), record_of("Ada"), 20), "The code word is wrong"));
  CHECK(contains(post_record(room.url("kobamide2"), record_of("Ada"), 20), "The code word is wrong"));
  CHECK(has_status(room.raw(post_text(record_of("Ada"), "")), 403));
  CHECK(has_status(room.raw(post_text(record_of(""))), 400));
  const std::string check =
      R"({"learner": "x", "lessons": {"1": {"checks": {"CHECK": "ok"}, "hints": {}, "solution_asked": []}}})";
  for (std::string id : {"<b>", "02.1", "01.123", "01.", ""}) {
    std::string record = check;
    CHECK(has_status(room.raw(post_text(record.replace(record.find("CHECK"), 5, id))), 400));
  }
  for (const std::string& garbage :
       {std::string("{"), std::string("[]"), std::string("null"), std::string("{\"learner\": 3, \"lessons\": {}}"),
        std::string(200000, '['), std::string("\0\xff\xfe", 3), std::string()}) {
    CHECK(has_status(room.raw(post_text(garbage)), 400));
  }
  CHECK(has_status(room.raw(post_text(std::string((256 << 10) + 1, ' '))), 413));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\nContent-Length: 999999999999999\r\n\r\n"), 413));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"), 400));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n1"), 400));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 411));
  CHECK(has_status(room.raw("POST /kobamide HTTP/1.1\r\n\r\n"), 411));
  CHECK(has_status(room.raw("GET /../../etc/passwd HTTP/1.1\r\n\r\n"), 404));
  CHECK(has_status(room.raw("PUT /kobamide HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), 405));
  CHECK(has_status(room.raw("\r\n\r\n"), 400));
  CHECK(has_status(room.raw("GET\r\n\r\n"), 400));
  CHECK(has_status(room.raw("GET / HTTP/1.1\r\nno field\r\n\r\n"), 400));
  CHECK(has_status(room.raw("\x16\x03\x01 TLS \xff\r\n\r\n"), 400));
  CHECK(has_status(room.raw("GET / HTTP/1.1\r\nX: " + std::string(9000, 'x')), 431));
  std::string members;  // a parser that looks for each among all before it would need minutes
  while (members.size() < 250000) members += fmt::format("\"{}\":0,", members.size());
  const Timer timer;
  CHECK(has_status(room.raw(post_text("{" + members + "\"x\":0}")), 400));
  CHECK(timer.seconds() < 10);
  CHECK(contains(room.page(), "No laptop has sent a record yet."));
  CHECK(fs::is_empty(room.dir.file("room")));
}

TEST_CASE("a request may come in any pieces and with any bytes changed", "[kit]") {
  const std::string whole = "POST /kobamide HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:  3 \r\n\r\nabc";
  for (size_t n = 0; n < whole.size(); ++n) {
    const ParsedRequest part = parse_request(whole.substr(0, n), {});
    CHECK_FALSE((part.request || part.refusal));
  }
  const ParsedRequest parsed = parse_request(whole, {});
  REQUIRE(parsed.request);
  CHECK(parsed.request->path == "/kobamide");
  CHECK(parsed.request->body == "abc");
  Generator random(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (int64_t n = 1 + random.integer(4); n > 0; --n) {
      const auto at = static_cast<size_t>(random.integer(static_cast<int64_t>(text.size())));
      if (random.integer(3) == 0) {
        text.erase(at, 1);
      } else {
        text[at] = static_cast<char>(random.integer(256));
      }
    }
    const ParsedRequest any = parse_request(text, {});
    CHECK_FALSE((any.request && any.refusal));
    if (any.refusal) refused += any.refusal->status >= 400 && any.refusal->status < 500;
    if (any.request) CHECK(any.request->path.starts_with("/"));
  }
  CHECK(refused > 1000);
}

TEST_CASE("names of the room are no paths and no HTML", "[kit]") {
  const TestRoom room;
  for (const char* name : {"../../x", "<script>alert(1)</script>", "a/b", "..", "\x1b[2J\n", "/etc/passwd", "\u202eada",
                           "Ève", "O'Neil & \"co\""}) {
    CHECK(contains(room.post(record_of(name)), "the table has your record as " + folder_name(name)));
  }
  CHECK(folder_name("../../x") == "______x");
  CHECK(folder_name("Ève@höst-1_2") == "Ève@höst-1_2");
  CHECK(folder_name(std::string(100, 'a')).size() == 40);
  const std::string page = room.page();
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "\x1b"));
  CHECK(contains(page, ">______x</th>"));
  CHECK(contains(page, ">_script_alert_1___script_</th>"));
  CHECK(contains(page, "<h1>9 laptops"));
  // Everything is one folder per name below the room.
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(room.dir.path)) files += entry.is_regular_file();
  CHECK(files == 9);
  for (const auto& entry : fs::directory_iterator(room.dir.file("room"))) {
    CHECK(fs::exists(entry.path() / "progress.json"));
  }
}

TEST_CASE("a record of a newer version is taken and kept whole", "[kit]") {
  const TestRoom room;
  const std::string newer = R"({"learner": "Ada", "version": 7, "badges": ["a"], "lessons": {
    "1": {"checks": {"01.1": "ok", "01.9": "ok"}, "hints": {}, "solution_asked": [], "mood": {"deep": [1, 2]},
          "history": {"01.1": {"checked": 1700000000, "wrong_since": 0, "later": null}}},
    "77": {"checks": {"77.1": "WRONG"}, "hints": {}, "solution_asked": [],
           "history": {"77.1": {"checked": 9223372036854775807, "wrong_since": 0}}}}})";
  CHECK(contains(room.post(newer), "the table has your record as Ada"));
  CHECK(room.file("Ada") == newer);
  const std::string page = room.page();
  CHECK(contains(page, ">Ada</th><td class=\"ok\">ok</td><td class=\"number\">0</td>"));
  CHECK_FALSE(contains(page, "01.9"));  // a record adds neither columns nor lessons
  CHECK_FALSE(contains(page, "77.1"));
}

TEST_CASE("the room has a largest number of names and a name one address", "[kit]") {
  const TestRoom room({}, 2);
  CHECK(contains(room.post(record_of("a")), "as a"));
  CHECK(contains(room.post(record_of("b")), "as b"));
  CHECK(contains(room.post(record_of("c")), "The room is full: it has 2 names."));
  CHECK(contains(room.post(record_of("a")), "as a"));
  CHECK_FALSE(fs::exists(room.dir.file("room/c")));

  const TempDir dir;
  Board board(dir.file("room"), "kobamide", kCourse);
  HttpRequest request{"POST", "/kobamide", record_of("student@image"), "10.0.0.1"};
  CHECK(board.answer(request).status == 200);
  request.from = "10.0.0.2";
  const HttpResponse refusal = board.answer(request);
  CHECK(refusal.status == 409);
  CHECK(contains(refusal.body, "Another laptop is called student@image"));
}

TEST_CASE("a room that is opened again has its records and the current lesson first", "[kit]") {
  const TempDir dir;
  const std::string folder = dir.file("room");
  Progress ada = progress_of("Ada");
  ada.lessons["2"].checks = {{"02.1", State::wrong}};
  ada.lessons["2"].history["02.1"] = {.checked = 1700000600, .crashed = true};
  Board(folder, "kobamide", kCourse).answer({"POST", "/kobamide", text_of(ada), "10.0.0.1"});
  Board again(folder, "another", kCourse);
  const std::string page = again.answer({"GET", "/", "", "10.0.0.9"}).body;
  const size_t first = page.find("<h2>Lesson 2: the &lt;tape&gt;</h2>");
  REQUIRE(first != std::string::npos);
  CHECK(page.find("<h2>Lesson 1: tensors</h2>") > first);
  CHECK(contains(page, "<td class=\"wrong\">crash</td>"));
  CHECK(contains(page, "0 min</td>"));   // since the record was written, whatever the laptop's clock says
  CHECK(contains(page, "10 min</td>"));  // lesson 1, by the same clock
  CHECK(testing::error_of([&] { Board(folder, "No Word", kCourse); }) ==
        "room: a code word has 4 to 32 lower-case letters and digits, got \"No Word\"");
  for (int i = 0; i < 20; ++i) CHECK_NOTHROW(Board(folder, random_code(), kCourse));
}

TEST_CASE("slow clients and many clients do not stop the room", "[kit]") {
  HttpLimits limits;
  limits.seconds = 1;
  const TestRoom room(limits);
  const Timer timer;
  std::vector<Socket> slow;
  for (int i = 0; i < 15; ++i) slow.push_back(room.connect());
  const std::string half = "POST /kobamide HTTP/1.1\r\nContent-Length: 100\r\n\r\n{";
  send_all(slow[0].fd(), half.data(), half.size(), Deadline::in(5));
  CHECK(contains(room.post(record_of("Ada")), "as Ada"));  // while all of them wait
  CHECK(has_status(TestRoom::raw(slow[0], ""), 408));
  CHECK(has_status(TestRoom::raw(slow[1], ""), 408));
  CHECK(timer.seconds() >= 1);
  // One that sends a byte now and then has no more time than the others.
  const Socket drip = room.connect();
  const Timer dripping;
  std::string answer;
  for (char c = 'G'; dripping.seconds() < 10 && answer.empty();) {
    send_all(drip.fd(), &c, 1, Deadline::in(1));
    char back = 0;
    if (receive_all(drip.fd(), &back, 1, Deadline::in(0.1))) answer += back;
  }
  CHECK(answer == "H");
}

TEST_CASE("one address has a largest number of connections and of requests", "[kit]") {
  HttpLimits limits;
  limits.burst = 8;
  limits.per_second = 0;
  limits.open_of_address = 4;
  const TestRoom room(limits);
  std::vector<Socket> open;
  for (int i = 0; i < 4; ++i) open.push_back(room.connect());
  CHECK(room.page().empty());  // closed without an answer
  open.clear();
  int refused = 0;
  for (int i = 0; i < 12; ++i) refused += has_status(room.page(), 429);
  CHECK(refused >= 3);  // 12 requests, and at most 8 are answered: none is added in the long run
}

TEST_CASE("a laptop says in one sentence that there is no room", "[kit]") {
  int port = 0;
  const Socket silent = listen_on("127.0.0.1", port);  // takes connections and answers nothing
  const Timer timer;
  const std::string late = post_record(fmt::format("http://127.0.0.1:{}/kobamide", port), "{}", 0.3);
  CHECK(contains(late, fmt::format("the room at 127.0.0.1:{} was not reached (", port)));
  CHECK(timer.seconds() < 5);
  int closed = 0;
  listen_on("127.0.0.1", closed);
  CHECK(contains(post_record(fmt::format("http://127.0.0.1:{}/kobamide", closed), "{}"), "was not reached ("));
  for (const char* wrong :
       {"10.0.0.5:8000/x", "http://teacher:8000/x", "http://10.0.0.5:8000", "http://10.0.0.5:8000/",
        "http://10.0.0.5:/x", "http://10.0.0.5:99999/x", "http://10.0.0.5:8000/x\r\ny", "http://"}) {
    CHECK(contains(post_record(wrong, "{}"), "POLICYGRAD_ROOM: expected http://ADDRESS:PORT/CODE"));
  }
}
