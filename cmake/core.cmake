# The core: a GPT-2 that learns by GRPO on the plain kernels, and nothing else (docs/ARCHITECTURE.md). Its files are
# compiled once: a layer takes the objects of its part of them, and pg_core has the objects of all parts, with
# nn/core/alone.cpp in the place of the rest of the layers. pg_core links fmt and no layer.
set(POLICYGRAD_CORE
    tensor/base/random.cpp
    tensor/backend.cpp tensor/reclaim.cpp tensor/sample.cpp tensor/shape.cpp tensor/storage.cpp tensor/tensor.cpp
    tensor/plain/adamw.cpp tensor/plain/attention.cpp tensor/plain/cross_entropy.cpp tensor/plain/elementwise.cpp
    tensor/plain/matmul.cpp tensor/plain/norm.cpp tensor/plain/random.cpp tensor/plain/reduce.cpp
    tensor/plain/softmax.cpp tensor/plain/table.cpp
    autograd/attention.cpp autograd/elementwise.cpp autograd/index_ops.cpp autograd/leaf.cpp autograd/linear.cpp
    autograd/matmul.cpp autograd/node_memory.cpp autograd/norm.cpp autograd/op_util.cpp autograd/reduce.cpp
    autograd/shape_ops.cpp autograd/softmax.cpp autograd/tape.cpp
    nn/check_config.cpp nn/layers.cpp nn/module.cpp nn/optim.cpp nn/param_slab.cpp nn/transformer.cpp
    rl/advantages.cpp rl/policy_loss.cpp)

# pg_core_part(LAYER LINKS layer... FILES file...): the objects of the layer that belong to the core, LAYER_core.
function(pg_core_part layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;FILES")
  add_library(${layer}_core OBJECT ${arg_FILES})
  target_compile_features(${layer}_core PUBLIC cxx_std_20)
  target_include_directories(${layer}_core PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${layer}_core PUBLIC ${arg_LINKS})
  target_sources(${layer} PRIVATE $<TARGET_OBJECTS:${layer}_core>)
  set_property(GLOBAL APPEND PROPERTY POLICYGRAD_CORE_PARTS ${layer}_core)
endfunction()

# pg_core(NAME FILE...): the library NAME of all parts and of these files.
function(pg_core name)
  get_property(parts GLOBAL PROPERTY POLICYGRAD_CORE_PARTS)
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} STATIC ${ARGN} ${parts})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC fmt::fmt)
endfunction()
