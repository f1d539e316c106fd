# Compiler flags of the whole tree. Never -ffast-math: results must not depend on how a compiler reorders sums.
include(CheckCXXCompilerFlag)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, RelWithDebInfo or Release" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# -ffp-contract=off: a fused multiply-add happens only where the source says so, on every compiler.
# The two -fno options change no result; they let loops over sqrt, exp and comparisons become vector code.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math)
add_compile_options(-Wall -Wextra -Wno-psabi)

# g++ 12 with AVX-512 turns a 32-byte constant such as {1, 1, 0, 0} into {1, 1, 1, 1}: it takes the constant's leading
# words for all of it. With moves of at most 16 bytes it does not try.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  check_cxx_compiler_flag("-mmove-max=128 -mstore-max=128" POLICYGRAD_HAS_MOVE_MAX)
  if(POLICYGRAD_HAS_MOVE_MAX)
    add_compile_options(-mmove-max=128 -mstore-max=128)
  endif()
endif()

# Warnings are errors with the compilers of Debian 12, Debian 13 and Ubuntu 24.04, under which the whole tree was checked
# (scripts/warnings.sh). A newer one may know new warnings; they shall not stop a learner.
set(werror OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  set(werror ON)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 20)
  set(werror ON)
endif()
option(POLICYGRAD_WERROR "Treat warnings as errors" ${werror})
if(POLICYGRAD_WERROR)
  add_compile_options(-Werror)
endif()

# g++ 13 and 14 name accesses out of bounds that cannot happen, in code of their own library that they have inlined: a
# copy of a vector of one element. g++ 12, which does not, and the sanitizers find those that can.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# clang++ 19 warns of a deprecated function that the std::stable_sort of g++ 12's library calls.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-std=c++20 -Wall -Werror")
  check_cxx_source_compiles("#include <algorithm>
    int main() { int x[2] = {2, 1}; std::stable_sort(x, x + 2); return x[0] - 1; }" POLICYGRAD_SORTS_WITHOUT_WARNING)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT POLICYGRAD_SORTS_WITHOUT_WARNING)
    add_compile_options(-Wno-deprecated-declarations)
  endif()
endif()

if(POLICYGRAD_NATIVE)
  check_cxx_compiler_flag(-march=native POLICYGRAD_HAS_MARCH_NATIVE)
  check_cxx_compiler_flag(-mcpu=native POLICYGRAD_HAS_MCPU_NATIVE)
  if(POLICYGRAD_HAS_MARCH_NATIVE)
    add_compile_options(-march=native)
  elseif(POLICYGRAD_HAS_MCPU_NATIVE)
    add_compile_options(-mcpu=native)
  endif()
endif()

if(POLICYGRAD_SANITIZE)
  add_compile_options(-fsanitize=${POLICYGRAD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # AddressSanitizer reports the bad access that these two lead to, and they add a third to the compile time.
  if(POLICYGRAD_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,pointer-overflow)
  endif()
  add_link_options(-fsanitize=${POLICYGRAD_SANITIZE})
endif()

# pg_hardened(TARGET): a release ends with a message where it would read or write outside of a container of the library,
# a buffer of the C library or an array on the stack. For all that reads files, texts and networks. Kernels do without,
# and so do lessons, whose checks say themselves what a learner's mistake is.
check_cxx_compiler_flag(-fstack-protector-strong POLICYGRAD_HAS_STACK_PROTECTOR)
set(hardened -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS
             $<$<BOOL:${POLICYGRAD_HAS_STACK_PROTECTOR}>:-fstack-protector-strong>)
function(pg_hardened target)
  if(TARGET ${target}_core)  # cmake/core.cmake
    pg_hardened(${target}_core)
  endif()
  if(NOT POLICYGRAD_SANITIZE AND NOT EMSCRIPTEN)
    target_compile_options(${target} PRIVATE
                           "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${hardened}>")
  endif()
endfunction()
# The tables of addresses in a program are read-only once it is loaded.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,relro,-z,now POLICYGRAD_HAS_RELRO)
if(POLICYGRAD_HAS_RELRO AND NOT EMSCRIPTEN)
  add_link_options(-Wl,-z,relro,-z,now)
endif()

# pg_unrolled(SOURCE...): sources of kernels with unrolled loops. clang++ makes calls of AddressSanitizer's checks in them,
# not inline code, which takes a third of the compile time. In other sources the slower tests would cost more than that.
function(pg_unrolled)
  if(POLICYGRAD_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -mllvm -asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()

# The quickest linker that is installed: a test program takes ld.bfd 2.5 s, gold 1.0 s, lld 0.7 s.
if(NOT APPLE AND NOT CMAKE_CROSSCOMPILING)
  foreach(linker lld gold)
    check_linker_flag(CXX -fuse-ld=${linker} POLICYGRAD_HAS_${linker})
    if(POLICYGRAD_HAS_${linker})
      add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${linker}>)
      break()
    endif()
  endforeach()
endif()

# With precompiled headers ccache must be told that they may be older than the clock says.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without a base directory: a precompiled header names the files of its own checkout, so another checkout may not
  # take it from the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR= CCACHE_SLOPPINESS=pch_defines,time_macros
      ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
