# CUDA, in one of three ways. POLICYGRAD_CUDA is
#   (empty)  none: .cu files are not built
#   nvcc     for GPUs, by NVIDIA's compiler, found in PATH or /usr/local/cuda
#   sim      for the simulator tensor/cuda/sim, by the C++ compiler
set(POLICYGRAD_CUDA "" CACHE STRING "How .cu files are built: empty (not at all), nvcc or sim")
set_property(CACHE POLICYGRAD_CUDA PROPERTY STRINGS "" nvcc sim)

if(NOT POLICYGRAD_CUDA MATCHES "^(nvcc|sim|)$")
  message(FATAL_ERROR "POLICYGRAD_CUDA: expected nvcc, sim or nothing, got \"${POLICYGRAD_CUDA}\"")
endif()

if(POLICYGRAD_CUDA STREQUAL "nvcc")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
    if(nvcc)
      set(CMAKE_CUDA_COMPILER ${nvcc})
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Of the usual GPUs those that this nvcc can compile for; the newest also as PTX, for GPUs that come later.
    set(wanted 75-real 80-real 86-real 89-real 90)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
    set(CMAKE_CUDA_ARCHITECTURES "")
    foreach(arch ${wanted})
      string(REGEX REPLACE "-real" "" number ${arch})
      if(known MATCHES "sm_${number}")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${arch})
      endif()
    endforeach()
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "POLICYGRAD_CUDA=nvcc: no nvcc in PATH or /usr/local/cuda/bin. POLICYGRAD_CUDA=sim needs none.")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no later one
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # cmake/flags.cmake speaks to the C++ compiler.
  get_directory_property(options COMPILE_OPTIONS)
  set(for_cxx)
  foreach(option ${options})
    list(APPEND for_cxx "$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
  set_directory_properties(PROPERTIES COMPILE_OPTIONS "${for_cxx}")
endif()

# pg_cuda(TARGET SOURCE.cu...): adds CUDA sources to a target, in either way. Without CUDA it does nothing.
function(pg_cuda target)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  if(POLICYGRAD_CUDA)
    target_sources(${target} PRIVATE ${ARGN})
  endif()
  if(POLICYGRAD_CUDA STREQUAL "nvcc")
    target_link_libraries(${target} PUBLIC CUDA::cudart)
    # 20: lambdas and concepts as in the rest of the tree. 20012: defaulted functions have implied annotations.
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-std=c++20;--extended-lambda;-Xcompiler=-Wall,-Wextra;-Werror=all-warnings")
  elseif(POLICYGRAD_CUDA STREQUAL "sim")
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tensor/cuda/sim/include)
    # Paths in messages are relative to the repository.
    set(options -g -O1 -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    if(POLICYGRAD_SIM_HOOKS)
      list(APPEND options -fsanitize=thread)
      if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        # Without it a read just before a write of the same address would go unseen.
        list(APPEND options "SHELL:-mllvm -tsan-instrument-read-before-write=1")
      endif()
    elseif(POLICYGRAD_SANITIZE MATCHES "thread")
      list(APPEND options -fno-sanitize=thread)
    endif()
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}")
  endif()
endfunction()

# The simulator sees accesses of .cu files through calls that -fsanitize=thread compiles into them, answered by hooks.cpp
# instead of ThreadSanitizer. No other sanitizer can be had in the same file.
if(POLICYGRAD_CUDA STREQUAL "sim")
  if(POLICYGRAD_SANITIZE MATCHES "address|thread|memory|leak")
    set(POLICYGRAD_SIM_HOOKS 0)
  else()
    set(POLICYGRAD_SIM_HOOKS 1)
  endif()
  if(POLICYGRAD_SANITIZE MATCHES "address")
    set(POLICYGRAD_SIM_ASAN 1)
  else()
    set(POLICYGRAD_SIM_ASAN 0)
  endif()
endif()

# pg_cuda_runtime(TARGET): what launch.h needs, which in a simulated build is the simulator.
function(pg_cuda_runtime target)
  if(POLICYGRAD_CUDA)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tensor/cuda/launch.cpp)
  endif()
  if(POLICYGRAD_CUDA STREQUAL "nvcc")
    target_link_libraries(${target} PUBLIC CUDA::cudart)
  elseif(POLICYGRAD_CUDA STREQUAL "sim")
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tensor/cuda/sim/*.cpp)
    target_sources(${target} PRIVATE ${sources})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tensor/cuda/sim/include)
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    set_source_files_properties(${sources} PROPERTIES COMPILE_DEFINITIONS
      "POLICYGRAD_SIM_HOOKS=${POLICYGRAD_SIM_HOOKS};POLICYGRAD_SIM_ASAN=${POLICYGRAD_SIM_ASAN}")
    if(POLICYGRAD_SANITIZE MATCHES "thread")  # ThreadSanitizer cannot follow a change of stacks
      set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=thread)
    endif()
  endif()
endfunction()
