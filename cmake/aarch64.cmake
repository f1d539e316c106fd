# Toolchain file: builds for ARM on another kind of machine and runs the tests in an emulator (docs/BUILD.md).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

# Packages come from the unpacked ARM ones only, never from this machine's.
set(AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/root CACHE PATH "Where the ARM packages are unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AARCH64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(POLICYGRAD_NATIVE OFF CACHE BOOL "The compiler's machine is not the target's")
