# The packages of the browser's build: headers only, from this machine. Their folder is not searched for others, because
# it has the headers of this machine's own C library.
set(headers ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${headers})
foreach(header fmt/core.h nlohmann/json.hpp CLI/CLI.hpp)
  get_filename_component(folder ${header} DIRECTORY)
  find_path(found_${folder} ${header} PATHS /usr/include /usr/local/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${found_${folder}}/${folder} ${headers}/${folder} SYMBOLIC)
endforeach()
foreach(target Threads::Threads fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 PCRE2::8BIT utf8proc::utf8proc GMP::gmpxx
               yaml-cpp::yaml-cpp)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endforeach()
include_directories(SYSTEM ${headers})
add_compile_definitions(FMT_HEADER_ONLY)
# No fused multiply-add: an element of the browser's results has other last digits than one of the CPU's own build.
add_compile_options(-msimd128 -fwasm-exceptions -include ${PROJECT_SOURCE_DIR}/tools/web/shim.h)
add_link_options(-fwasm-exceptions)
