// Makes one call of the C library fail, in a process that is started with LD_PRELOAD naming this file. It acts in `pg`
// alone, from main() on, and not on the standard streams:
//   FAULT=KIND:N         the N-th call of this kind fails, with FAULT=KIND:N+ every one from the N-th on
//   FAULT_COUNTS=FILE    at the end the number of calls of each kind is written to FILE, a line "KIND NUMBER" each,
//                        unless FILE has a larger one, of another process of the command
// KIND is write, sync, rename, open, mmap or alloc. It has no C++ run-time, and allocates nothing.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum Kind { kWrite, kSync, kRename, kOpen, kMmap, kAlloc, kKinds };
constexpr const char* kNames[kKinds] = {"write", "sync", "rename", "open", "mmap", "alloc"};
constexpr int kReasons[kKinds] = {ENOSPC, EIO, EIO, EMFILE, ENOMEM, ENOMEM};

std::atomic<bool> active{false};
std::atomic<long> counts[kKinds];
int chosen = -1;
long nth = 0;
bool ever_after = false;
const char* counts_path = nullptr;

// Counts a call. Whether it shall fail; then errno says why.
bool fails(Kind kind) {
  if (!active.load(std::memory_order_relaxed)) return false;
  const long n = ++counts[kind];
  if (kind != chosen || (ever_after ? n < nth : n != nth)) return false;
  errno = kReasons[kind];
  return true;
}

template <class F>
F next(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function) static const auto real = next(&function, #function)

bool is_stream(FILE* file) { return file == stdout || file == stderr || file == stdin; }

void write_counts() {
  active = false;
  if (!counts_path) return;
  const int file = open(counts_path, O_RDWR | O_CREAT, 0666);
  flock(file, LOCK_EX);
  char before[512] = {};  // by another process of the command
  if (read(file, before, sizeof before - 1) < 0 || ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0) abort();
  for (int i = 0; i < kKinds; ++i) {
    const char* const line = strstr(before, kNames[i]);
    const long most = line ? strtol(line + strlen(kNames[i]), nullptr, 10) : 0, mine = counts[i].load();
    dprintf(file, "%s %ld\n", kNames[i], mine > most ? mine : most);
  }
  close(file);
}

int (*real_main)(int, char**, char**) = nullptr;

int main_with_faults(int argc, char** argv, char** environment) {
  const char* const fault = getenv("FAULT");
  counts_path = getenv("FAULT_COUNTS");
  for (int i = 0; fault && i < kKinds; ++i) {
    const size_t length = strlen(kNames[i]);
    if (strncmp(fault, kNames[i], length) != 0 || fault[length] != ':') continue;
    chosen = i;
    char* end = nullptr;
    nth = strtol(fault + length + 1, &end, 10);
    ever_after = *end == '+';
  }
  atexit(write_counts);
  if (strcmp(program_invocation_short_name, "pg") == 0) active = true;
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"))(main_with_faults, argc, argv, init, fini,
                                                                        rtld_fini, stack_end);
}

// Ranks that are processes of one command end so.
void _exit(int status) {
  write_counts();
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"))(status);
  abort();
}

ssize_t write(int file, const void* data, size_t bytes) {
  NEXT(write);
  return file > 2 && fails(kWrite) ? -1 : real(file, data, bytes);
}
ssize_t writev(int file, const iovec* parts, int count) {
  NEXT(writev);
  return file > 2 && fails(kWrite) ? -1 : real(file, parts, count);
}
size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  NEXT(fwrite);
  return !is_stream(file) && fails(kWrite) ? 0 : real(data, size, count, file);
}
int fflush(FILE* file) {
  NEXT(fflush);
  return file && !is_stream(file) && fails(kWrite) ? EOF : real(file);
}
int fsync(int file) {
  NEXT(fsync);
  return fails(kSync) ? -1 : real(file);
}
int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  return fails(kRename) ? -1 : real(from, to);
}
FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  return fails(kOpen) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  NEXT(fopen64);
  return fails(kOpen) ? nullptr : real(path, mode);
}
#define OPENED_MODE(flags)                                         \
  va_list rest;                                                    \
  va_start(rest, flags);                                           \
  const int mode = ((flags)&O_CREAT) != 0 ? va_arg(rest, int) : 0; \
  va_end(rest)
int open(const char* path, int flags, ...) {
  OPENED_MODE(flags);
  NEXT(open);
  return fails(kOpen) ? -1 : real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  OPENED_MODE(flags);
  NEXT(open64);
  return fails(kOpen) ? -1 : real(path, flags, mode);
}
void* mmap(void* address, size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  NEXT(mmap);
  return fails(kMmap) ? MAP_FAILED : real(address, bytes, access, flags, file, offset);
}
void* mmap64(void* address, size_t bytes, int access, int flags, int file, off64_t offset) noexcept {
  NEXT(mmap64);
  return fails(kMmap) ? MAP_FAILED : real(address, bytes, access, flags, file, offset);
}

void* malloc(size_t bytes) noexcept { return fails(kAlloc) ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) noexcept { return fails(kAlloc) ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) noexcept { return fails(kAlloc) ? nullptr : __libc_realloc(old, bytes); }
void* memalign(size_t alignment, size_t bytes) noexcept {
  return fails(kAlloc) ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(kAlloc) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  if (fails(kAlloc)) return ENOMEM;
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}

}  // extern "C"
