// Source lines of addresses.
#include "tensor/sim/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace pg::sim {

namespace {

struct Program {
  uintptr_t bias = 0;  // address in memory minus address in the file
  Bytes image, thread_locals;
};

Program inspect_program() {
  Program program;
  // The main program is the first module of the list.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& out = *static_cast<Program*>(data);
        out.bias = info->dlpi_addr;
        uintptr_t begin = UINTPTR_MAX, end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_LOAD) {
            begin = std::min<uintptr_t>(begin, out.bias + part.p_vaddr);
            end = std::max<uintptr_t>(end, out.bias + part.p_vaddr + part.p_memsz);
          } else if (part.p_type == PT_TLS) {
            out.thread_locals = {static_cast<char*>(info->dlpi_tls_data), part.p_memsz};
          }
        }
        if (begin < end) out.image = {reinterpret_cast<char*>(begin), end - begin};
        return 1;
      },
      &program);
  return program;
}

struct Symbols {
  std::map<uintptr_t, std::pair<size_t, std::string>> functions;  // by address in the file: size, mangled name
  std::vector<ThreadLocal> thread_locals;
};

std::string demangle(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  return name;
}

template <class T>
std::vector<T> read_array(std::ifstream& file, uint64_t offset, uint64_t bytes) {
  std::vector<T> out(bytes / sizeof(T));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(T)));
  if (!file) out.clear();
  return out;
}

// The program's own symbol table; empty if it was stripped.
Symbols read_symbols() {
  Symbols out;
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto headers = read_array<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return out;
  const auto sections = read_array<Elf64_Shdr>(file, headers[0].e_shoff, headers[0].e_shnum * sizeof(Elf64_Shdr));
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const auto& strings = sections[section.sh_link];
    const auto symbols = read_array<Elf64_Sym>(file, section.sh_offset, section.sh_size);
    auto names = read_array<char>(file, strings.sh_offset, strings.sh_size);
    names.push_back('\0');
    for (const auto& symbol : symbols) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
      const char* name = names.data() + symbol.st_name;
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC) out.functions[symbol.st_value] = {symbol.st_size, name};
      if (type == STT_TLS && symbol.st_size > 0) {
        const std::string full = demangle(name);
        const size_t colons = full.rfind("::");
        const bool scoped = colons != std::string::npos;
        out.thread_locals.push_back({scoped ? full.substr(0, colons) : "", scoped ? full.substr(colons + 2) : full,
                                     symbol.st_value, symbol.st_size});
      }
    }
  }
  return out;
}

const Symbols& symbols() {
  static const Symbols table = read_symbols();
  return table;
}

// Removes the return type and the parameters of a demangled function: both are outside of all <>.
std::string short_name(std::string name) {
  const std::string anonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(anonymous)) != std::string::npos;) name.erase(at, anonymous.size());
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth == 0 && name[i] == ' ') begin = i + 1;
    if (depth == 0 && name[i] == '(') return name.substr(begin, i - begin);
  }
  return name;
}

// "/…/policygrad/build/../tests/a.cu" as "tests/a.cu".
std::string relative(const std::string& path) {
  const std::string file = std::filesystem::path(path).lexically_normal().string(), root = POLICYGRAD_SOURCES;
  return file.rfind(root, 0) == 0 ? file.substr(root.size()) : file;
}

// One call of addr2line for all addresses. It prints per address the address itself, then pairs of lines (function,
// file:line), the innermost inlined function first.
std::vector<SourceLine> ask_addr2line(const std::vector<const void*>& pcs) {
  std::vector<SourceLine> out(pcs.size());
  std::string command = fmt::format("addr2line -a -i -f -e /proc/{}/exe", getpid());
  const uintptr_t bias = inspect_program().bias;
  std::map<uintptr_t, std::vector<size_t>> wanted;
  for (size_t i = 0; i < pcs.size(); ++i) {
    const uintptr_t call = reinterpret_cast<uintptr_t>(pcs[i]) - bias - 1;  // inside the call, not after it
    if (wanted[call].empty()) command += fmt::format(" {:#x}", call);
    wanted[call].push_back(i);
  }
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return out;
  char line[4096];
  uintptr_t current = 0;
  bool function_line = false, settled = false;
  while (std::fgets(line, sizeof(line), pipe)) {
    std::string text(line, std::strcspn(line, "\n"));
    if (text.rfind("0x", 0) == 0) {
      current = std::strtoull(text.c_str(), nullptr, 16);
      function_line = true;
      settled = false;
    } else if (function_line) {
      function_line = false;
    } else {
      function_line = true;
      const size_t colon = text.rfind(':');
      if (settled || colon == std::string::npos || text[0] == '?') continue;
      const SourceLine found{relative(text.substr(0, colon)), std::atoi(text.c_str() + colon + 1)};
      settled = found.file.find("tensor/sim/") == std::string::npos;
      for (size_t i : wanted[current]) out[i] = found;
    }
  }
  pclose(pipe);
  return out;
}

}  // namespace

std::string to_string(const SourceLine& source, const void* pc) {
  if (source.file.empty()) return fmt::format("address {}", fmt::ptr(pc));
  return fmt::format("{}:{}", source.file, source.line);
}

std::vector<SourceLine> source_lines(const std::vector<const void*>& return_addresses) {
  static std::mutex mutex;
  static std::map<const void*, SourceLine> known;
  std::lock_guard lock(mutex);
  std::vector<const void*> unknown;
  for (const void* pc : return_addresses) {
    if (!known.count(pc)) unknown.push_back(pc);
  }
  if (!unknown.empty()) {
    const auto found = ask_addr2line(unknown);
    for (size_t i = 0; i < unknown.size(); ++i) known[unknown[i]] = found[i];
  }
  std::vector<SourceLine> out;
  for (const void* pc : return_addresses) out.push_back(known[pc]);
  return out;
}

std::string function_name(const void* function) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(function) - inspect_program().bias;
  const auto& functions = symbols().functions;
  auto it = functions.upper_bound(address);
  if (it == functions.begin()) return fmt::format("kernel at {}", fmt::ptr(function));
  --it;
  if (address >= it->first + std::max<size_t>(it->second.first, 1))
    return fmt::format("kernel at {}", fmt::ptr(function));
  return short_name(demangle(it->second.second));
}

std::vector<ThreadLocal> thread_locals() { return symbols().thread_locals; }

Bytes thread_local_block() { return inspect_program().thread_locals; }

Bytes program_image() { return inspect_program().image; }

}  // namespace pg::sim
