# What the distribution supplies. scripts/setup.sh installs it; nothing is downloaded here.
if(EMSCRIPTEN)
  include(tools/web/packages.cmake)
  return()
endif()
set(found)  # the targets below that another project, of which this is a part, does not have yet
foreach(target Threads::Threads fmt::fmt PCRE2::8BIT utf8proc::utf8proc GMP::gmpxx)
  if(NOT TARGET ${target})
    list(APPEND found ${target})
  endif()
endforeach()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # FindPCRE2.cmake and others
find_package(PCRE2 10.40 REQUIRED)  # the first version with the property White_Space
find_package(utf8proc REQUIRED)
find_package(GMP REQUIRED)
if(NOT PROJECT_IS_TOP_LEVEL)
  if(found)
    set_target_properties(${found} PROPERTIES IMPORTED_GLOBAL TRUE)  # the other project links them too
  endif()
  return()
endif()
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # the target's name before yaml-cpp 0.8
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
