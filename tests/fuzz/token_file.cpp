// Fuzz target: a token file. What is read has ids of its vocabulary, and its header is written as it was read.
// sources: tasks/data/token_file.cpp tasks/data/tokenizer.cpp tasks/data/utf8.cpp tensor/base/files/mapped_file.cpp
// sources: tensor/base/sha256.cpp tensor/base/text.cpp tensor/base/json.cpp tensor/base/json_text.cpp
// sources: tensor/base/fields.cpp
// options: -max_len=400
// seed-file: tests/fuzz/corpus/token_file.two_bytes
// seed-file: tests/fuzz/corpus/token_file.four_bytes
// seed-file: tests/fuzz/corpus/token_file.empty
#include "tasks/data/token_file.h"

#include "tests/fuzz/driver/files.h"

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::no_worse_than_error([&] {
    const std::string path = fuzz::file("x.tokens", fuzz::text_of(data, size));
    if (is_token_file(path) != TokenFile::has_magic(fuzz::text_of(data, size))) __builtin_trap();
    const TokenFile file(path);
    const TokenFileHeader& header = file.header();
    fuzz::expect(header.to_bytes() == fuzz::text_of(data, size).substr(0, TokenFileHeader::size));
    std::vector<int32_t> ids(static_cast<size_t>(header.tokens));
    file.read(0, ids);
    for (const int32_t id : ids) fuzz::expect(id >= 0 && id < header.vocab_size);
    file.verify();
  });
  return 0;
}
