# Catch2, of which a program needs the header and the library of one version: those of different ones do not link, and
# the linker's errors name functions of Catch2 in whatever test comes first. find_package() finds the library, and the
# compiler may find another header in a folder that it searches earlier.
find_package(Catch2 REQUIRED)

# check_catch2_header(): Error unless the header that tests/catch.h takes is of the library's version, but for the last
# number of it.
function(check_catch2_header)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  foreach(target fmt::fmt nlohmann_json::nlohmann_json Catch2::Catch2WithMain Catch2::Catch2)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(folder ${folders})
      if(IS_DIRECTORY "${folder}" AND NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        list(APPEND flags -isystem ${folder})
      endif()
    endforeach()
  endforeach()
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/catch2_header.cpp)
  file(WRITE ${probe} "#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_version_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++20 -M ${probe} OUTPUT_VARIABLE files ERROR_VARIABLE says)
  if(NOT files MATCHES "([^ \n]*/catch2/catch(_version_macros)?\\.hpp)")
    message(FATAL_ERROR "Catch2: expected a header beside the library of ${Catch2_CONFIG}, found none: ${says}")
  endif()
  set(header ${CMAKE_MATCH_1})
  file(STRINGS ${header} lines REGEX "define CATCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers . version)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" of_header "${version}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" of_library "${Catch2_VERSION}")
  if(NOT of_header STREQUAL of_library)
    message(FATAL_ERROR "Catch2: the header ${header} is of version ${version}, beside the library of ${Catch2_CONFIG}, "
                        "which is of version ${Catch2_VERSION}; a program needs both of one version.")
  endif()
endfunction()
check_catch2_header()
