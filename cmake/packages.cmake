# What the distribution supplies. scripts/setup.sh installs it; nothing is downloaded here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # the target's name before yaml-cpp 0.8
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
