# What the distribution supplies. scripts/setup.sh installs it; nothing is downloaded here.
set(found)  # the targets below that another project, of which this is a part, does not have yet
foreach(target Threads::Threads fmt::fmt)
  if(NOT TARGET ${target})
    list(APPEND found ${target})
  endif()
endforeach()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
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
