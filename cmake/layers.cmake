# The engine: one static library per layer. A layer links only what it may use, so that a call to a layer above it does
# not link. The target `policygrad` is all of them.

# pg_layer(NAME [FOLDERS folder...] [WITHOUT file...] [FILES file...] LINKS layer...): the library NAME of all .cpp
# files in these folders WITHOUT some, and of these FILES. Paths begin at the repository's root.
include(cmake/core.cmake)
set(POLICYGRAD_LAYERS)
function(pg_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;WITHOUT;FILES;LINKS")
  set(sources)
  foreach(folder ${arg_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  list(REMOVE_ITEM sources "" ${arg_WITHOUT})  # CMake asks for an item
  set(core)
  foreach(source ${sources} ${arg_FILES})
    if(source IN_LIST POLICYGRAD_CORE)
      list(APPEND core ${source})
    endif()
  endforeach()
  list(APPEND sources ${arg_FILES})
  list(REMOVE_ITEM sources "" ${core})
  add_library(${name} STATIC ${sources})
  if(core)
    pg_core_part(${name} LINKS ${arg_LINKS} FILES ${core})
  endif()
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:include/policygrad>)
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
  set(POLICYGRAD_LAYERS ${POLICYGRAD_LAYERS} ${name} PARENT_SCOPE)
endfunction()

include(cmake/quick_build.cmake)

# Files that are in another layer than the rest of their folder, so that a lesson need not compile what it does not use.
set(comm_interface tensor/comm/collective_call.cpp tensor/comm/comm.cpp)
set(model_readers nn/files/gguf_config.cpp nn/files/hf_config.cpp nn/files/peft.cpp nn/files/peft_pattern.cpp
                  nn/files/pretrained.cpp)
set(token_files tasks/data/token_file.cpp tasks/data/token_windows.cpp)
set(answer_reader tasks/grade/extract.cpp)
set(other_puzzles tasks/puzzles/chat_task.cpp tasks/puzzles/math.cpp tasks/puzzles/math_kinds.cpp)

pg_layer(pg_base FOLDERS tensor/base LINKS fmt::fmt Threads::Threads)
target_link_libraries(pg_base PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)  # for tensor/base/json_text.cpp
pg_layer(pg_base_files FOLDERS tensor/base/files LINKS pg_base)
include(cmake/cuda.cmake)
include(cmake/mpi.cmake)
pg_layer(pg_tensor FOLDERS tensor tensor/measure tensor/plain tensor/cpu tensor/cpu/attention tensor/cpu/gemm
                   FILES ${comm_interface} LINKS pg_base)
pg_unrolled(${PROJECT_SOURCE_DIR}/tensor/cpu/gemm/gemm.cpp ${PROJECT_SOURCE_DIR}/tensor/cpu/attention/attention.cpp)
pg_layer(pg_comm FOLDERS tensor/comm WITHOUT ${comm_interface} LINKS pg_tensor)
pg_mpi(pg_comm)
pg_layer(pg_autograd FOLDERS autograd autograd/fused LINKS pg_tensor)
pg_layer(pg_check FOLDERS autograd/check LINKS pg_autograd)
pg_layer(pg_nn FOLDERS nn nn/decode nn/ranks nn/train nn/variants LINKS pg_autograd)
pg_layer(pg_files FOLDERS nn/files WITHOUT ${model_readers} LINKS pg_nn pg_base_files)
pg_layer(pg_models FILES ${model_readers} LINKS pg_files)
target_link_libraries(pg_models PRIVATE PCRE2::8BIT)
pg_layer(pg_act FOLDERS tasks/act LINKS pg_base)
pg_layer(pg_text FOLDERS tasks/data WITHOUT ${token_files} LINKS pg_base)
pg_layer(pg_text_tasks FOLDERS tasks/puzzles tasks/text WITHOUT ${other_puzzles} FILES ${answer_reader} LINKS pg_text)
pg_layer(pg_bpe FOLDERS tasks/bpe LINKS pg_text pg_base_files)
target_link_libraries(pg_bpe PRIVATE PCRE2::8BIT utf8proc::utf8proc)
pg_layer(pg_tasks FOLDERS tasks tasks/chat tasks/grade tasks/jinja WITHOUT ${answer_reader}
                  FILES ${other_puzzles} ${token_files} LINKS pg_act pg_bpe pg_text_tasks)
target_link_libraries(pg_tasks PUBLIC GMP::gmpxx PRIVATE utf8proc::utf8proc)
pg_layer(pg_rl FOLDERS rl rl/methods LINKS pg_autograd)
pg_layer(pg_rl_text FOLDERS rl/text LINKS pg_rl pg_files pg_text_tasks)
pg_layer(pg_rl_control FOLDERS rl/control LINKS pg_rl pg_files pg_act)

pg_precompile(pg_tensor tensor/format.h tensor/tensor.h)
pg_precompile(pg_tensor_core tensor/format.h tensor/tensor.h)
pg_precompile(pg_comm tensor/base/error.h tensor/tensor.h)
pg_precompile(pg_autograd_core autograd/op_util.h)
pg_precompile(pg_bpe tensor/base/error.h <algorithm> <string> <vector>)
pg_precompile(pg_text_tasks tensor/base/error.h <algorithm> <fmt/format.h> <fmt/ranges.h> <functional> <map> <string>
                            <vector>)
pg_precompiled_by(pg_tasks pg_text_tasks)
# The headers of what is built on the operations, compiled once for all of it.
pg_headers(quick_headers pg_autograd autograd/ops.h tensor/format.h)
pg_quick(quick_headers)
pg_hardened(quick_headers)
foreach(layer pg_check pg_nn pg_files pg_models pg_rl pg_rl_text pg_rl_control)
  pg_precompiled_by(${layer} quick_headers)
endforeach()

# Above the operations little time is spent outside of kernels, but for these files.
foreach(layer pg_check pg_nn pg_files pg_models pg_act pg_text pg_text_tasks pg_bpe pg_tasks pg_rl pg_rl_text
              pg_rl_control)
  pg_quick(${layer})
  pg_hardened(${layer})
endforeach()
pg_hardened(pg_base)
pg_hardened(pg_base_files)
pg_hardened(pg_comm)
file(GLOB graders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tasks/grade/*.cpp)
pg_hot(${graders}
       nn/files/tensor_source.cpp
       rl/advantages.cpp rl/methods/advantages_methods.cpp
       rl/control/actor_critic.cpp rl/control/trainer.cpp rl/control/vector_env.cpp
       tasks/act/bandit.cpp tasks/bpe/bpe_merge.cpp tasks/bpe/bpe_tokenizer.cpp tasks/bpe/bpe_train.cpp
       tasks/bpe/byte_level.cpp tasks/bpe/piece_counts.cpp tasks/bpe/pretokenizer.cpp tasks/bpe/regex.cpp
       tasks/act/control.cpp tasks/data/tokenizer.cpp tasks/data/utf8.cpp)
if(POLICYGRAD_SANITIZE)  # compiles the rest without optimisation
  foreach(layer pg_tensor pg_tensor_core pg_autograd pg_autograd_core)
    target_compile_options(${layer} PRIVATE -O1)
  endforeach()
endif()

if(POLICYGRAD_CUDA)
  file(GLOB cuda_sources CONFIGURE_DEPENDS tensor/cuda/*.cu tensor/cuda/*/*.cu)
  target_sources(pg_tensor PRIVATE tensor/cuda/base/array.cpp)
  target_link_libraries(pg_tensor PUBLIC cuda_runtime)
  list(APPEND POLICYGRAD_LAYERS cuda_runtime)
  pg_cuda(pg_tensor ${cuda_sources})
  pg_cublas(pg_tensor)
  pg_nccl(pg_tensor)
else()
  target_sources(pg_tensor PRIVATE tensor/cuda/runtime/no_cuda.cpp tensor/cuda/nccl/no_nccl.cpp)
endif()

pg_core(pg_core nn/core/alone.cpp)

add_library(policygrad INTERFACE)
target_link_libraries(policygrad INTERFACE pg_check pg_comm pg_models pg_tasks pg_rl_text pg_rl_control)
add_library(policygrad::policygrad ALIAS policygrad)  # the name that find_package gives it
list(APPEND POLICYGRAD_LAYERS policygrad)
