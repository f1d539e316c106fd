// Functions of a system with processes. A browser has none: a check there runs in the page's own worker.
#include <errno.h>
#include <signal.h>
#include <spawn.h>

extern "C" {

int at_quick_exit(void (*)()) { return 0; }
int sigaltstack(const stack_t*, stack_t*) { return -1; }
int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                 char* const[]) {
  return ENOENT;
}

}  // extern "C"
