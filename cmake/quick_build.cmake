# What makes a build quick. Headers that many files of a target include are compiled once. In a folder with a quote in its
# name CMake 3.25 writes their dependencies wrongly, and every build would compile everything again.
if(POLICYGRAD_CUDA STREQUAL "nvcc" OR PROJECT_BINARY_DIR MATCHES "'")
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(POLICYGRAD_PRECOMPILE "Compile common headers once per target" ${precompile})

# pg_precompile(TARGET header...): headers named from the repository's root, or <of the system>.
function(pg_precompile target)
  if(POLICYGRAD_PRECOMPILE)
    set(headers ${ARGN})
    list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^<]")
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# pg_headers(NAME LIBRARIES header...): a target of nothing but these headers, which others take by
# pg_precompiled_by().
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nothing.cpp CONTENT "// Nothing but the headers.\n")
function(pg_headers name libraries)
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/nothing.cpp)
  target_link_libraries(${name} PUBLIC ${libraries})
  pg_precompile(${name} ${ARGN})
endfunction()

# pg_precompiled_by(TARGET OTHER): TARGET takes those of OTHER, which has the same flags.
function(pg_precompiled_by target other)
  if(POLICYGRAD_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
    if(TARGET ${target}_core)
      pg_precompiled_by(${target}_core ${other})
    endif()
  endif()
endfunction()

# pg_quick(TARGET): little optimisation in a release, for what only parses options, prints or checks.
function(pg_quick target)
  set(level -O1)
  if(EMSCRIPTEN)
    set(level -Oz)  # a page loads the program first
  endif()
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
  if(TARGET ${target}_core)  # cmake/core.cmake
    pg_quick(${target}_core)
  endif()
endfunction()

# pg_hot(SOURCE...): sources of a quick target whose speed matters. They get full optimisation in a release, and a
# little in a build with sanitizers, which has none else. Headers precompiled at another level crash g++ 12.
function(pg_hot)
  set(level $<$<CONFIG:Release>:-O3>)
  if(POLICYGRAD_SANITIZE)
    set(level -O1)
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${level})
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# pg_plain(TARGET): no optimisation in a release, for tests that call the engine and compute little themselves.
function(pg_plain target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()
