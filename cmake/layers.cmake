# The engine: one static library per layer. A layer links only what it may use, so that a call to a layer above it does
# not link. The target `policygrad` is all of them.

# pg_layer(NAME FOLDERS folder... LINKS layer...): the library NAME of all .cpp files in these folders.
set(POLICYGRAD_LAYERS)
function(pg_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;LINKS")
  list(TRANSFORM arg_FOLDERS APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${arg_FOLDERS})
  add_library(${name} STATIC ${sources})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:include/policygrad>)
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  set(POLICYGRAD_LAYERS ${POLICYGRAD_LAYERS} ${name} PARENT_SCOPE)
endfunction()

include(cmake/quick_build.cmake)

pg_layer(pg_base FOLDERS tensor/base LINKS fmt::fmt Threads::Threads)
include(cmake/cuda.cmake)
include(cmake/mpi.cmake)
pg_layer(pg_tensor FOLDERS tensor tensor/comm tensor/cpu tensor/cpu/attention tensor/cpu/gemm LINKS pg_base)
pg_unrolled(${PROJECT_SOURCE_DIR}/tensor/cpu/gemm/gemm.cpp ${PROJECT_SOURCE_DIR}/tensor/cpu/attention/attention.cpp)
pg_mpi(pg_tensor)
pg_layer(pg_autograd FOLDERS autograd LINKS pg_tensor)
pg_layer(pg_nn FOLDERS nn LINKS pg_autograd)
pg_layer(pg_tasks FOLDERS tasks tasks/bpe tasks/grade tasks/puzzles LINKS pg_base)
target_link_libraries(pg_tasks PUBLIC GMP::gmpxx PRIVATE PCRE2::8BIT utf8proc::utf8proc)
pg_layer(pg_rl FOLDERS rl rl/text rl/control LINKS pg_nn pg_tasks)

pg_precompile(pg_tensor tensor/format.h tensor/tensor.h)
pg_precompile(pg_autograd autograd/op_util.h)
pg_precompile(pg_nn autograd/ops.h nn/module.h tensor/format.h)
pg_precompile(pg_tasks tensor/base/error.h <string> <vector>)
pg_precompile(pg_rl autograd/ops.h nn/transformer.h tensor/format.h)

# Builds with sanitizers compile without optimisation, three times as fast, but for what computes much in tests.
if(POLICYGRAD_SANITIZE)
  target_compile_options(pg_tensor PRIVATE -O1)
  target_compile_options(pg_autograd PRIVATE -O1)
  file(GLOB hot CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tasks/bpe/*.cpp ${PROJECT_SOURCE_DIR}/tasks/grade/*.cpp)
  set_property(SOURCE ${hot} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()

if(POLICYGRAD_CUDA)
  file(GLOB cuda_sources CONFIGURE_DEPENDS tensor/cuda/*.cu tensor/cuda/*/*.cu)
  target_sources(pg_tensor PRIVATE tensor/cuda/array.cpp)
  target_link_libraries(pg_tensor PUBLIC cuda_runtime)
  list(APPEND POLICYGRAD_LAYERS cuda_runtime)
  pg_cuda(pg_tensor ${cuda_sources})
  pg_cublas(pg_tensor)
  pg_nccl(pg_tensor)
else()
  target_sources(pg_tensor PRIVATE tensor/cuda/runtime/no_cuda.cpp tensor/cuda/nccl/no_nccl.cpp)
endif()

add_library(policygrad INTERFACE)
target_link_libraries(policygrad INTERFACE pg_rl)
add_library(policygrad::policygrad ALIAS policygrad)  # the name that find_package gives it
list(APPEND POLICYGRAD_LAYERS policygrad)
