# CUDA, in one of three ways. POLICYGRAD_CUDA is
#   (empty)  none: .cu files are not built
#   nvcc     for GPUs, by NVIDIA's compiler, found in PATH or /usr/local/cuda
#   sim      for the simulator tensor/sim, by the C++ compiler
set(POLICYGRAD_CUDA "" CACHE STRING "How .cu files are built: empty (not at all), nvcc or sim")
set_property(CACHE POLICYGRAD_CUDA PROPERTY STRINGS "" nvcc sim)

if(NOT POLICYGRAD_CUDA MATCHES "^(nvcc|sim|)$")
  message(FATAL_ERROR "POLICYGRAD_CUDA: expected nvcc, sim or nothing, got \"${POLICYGRAD_CUDA}\"")
endif()

if(POLICYGRAD_CUDA STREQUAL "nvcc")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER $ENV{CUDACXX})
  elseif(NOT CMAKE_CUDA_COMPILER)
    find_program(POLICYGRAD_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(NOT POLICYGRAD_NVCC)
      message(FATAL_ERROR "POLICYGRAD_CUDA=nvcc: no nvcc in PATH or /usr/local/cuda/bin. POLICYGRAD_CUDA=sim needs none.")
    endif()
    set(CMAKE_CUDA_COMPILER ${POLICYGRAD_NVCC})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # The usual GPUs that this nvcc can compile for; the newest also as PTX, for GPUs that come later.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known)
    foreach(arch 75-real 80-real 86-real 89-real 90)
      string(REPLACE "-real" "" number ${arch})
      if(known MATCHES "sm_${number}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${arch})
      endif()
    endforeach()
  endif()
  check_language(CUDA)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  find_package(NCCL QUIET)
  if(NCCL_FOUND)
    message(STATUS "NCCL: found ${NCCL_VERSION}")
  else()
    message(STATUS "NCCL: not found, a single GPU")
  endif()
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows CUDA's dialects up to 17
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  # cmake/flags.cmake speaks to the C++ compiler.
  get_directory_property(options COMPILE_OPTIONS)
  set(for_cxx)
  foreach(option ${options})
    list(APPEND for_cxx "$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
  set_directory_properties(PROPERTIES COMPILE_OPTIONS "${for_cxx}")
endif()

# The two ways to build .cu files. pg_cuda and pg_kernels choose.
function(pg_nvcc target)
  target_sources(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE CUDA::cudart)
  # Kernels may call constexpr functions, as those of tensor/functors.h and std::array are. -fmad=false is
  # -ffp-contract=off: a fused multiply-add happens only where the source says so, which inner loops do.
  set(options --expt-relaxed-constexpr -fmad=false -Xcompiler=-Wall,-Wextra)
  if(POLICYGRAD_WERROR)
    list(APPEND options -Werror=all-warnings)
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "${options}")
endfunction()

function(pg_simulated target)
  target_sources(${target} PRIVATE ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tensor/sim/include)
  # #pragma unroll is for nvcc; & of comparisons in tensor/functors.h is for vectors. The
  # simulator's reports name lines of the source, which -g1 records; with -g kernels take a third longer to compile.
  set(options $<IF:$<CONFIG:Debug>,-g,-g1> -O1 -Wno-unknown-pragmas
              $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed$<SEMICOLON>-Wno-bitwise-instead-of-logical>)
  if(POLICYGRAD_SIM_HOOKS)
    if(POLICYGRAD_SANITIZE MATCHES "address|leak")
      list(APPEND options -fno-sanitize=address,leak)
    endif()
    list(APPEND options -fsanitize=thread)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Without it a read just before a write of the same address would go unseen.
      list(APPEND options -mllvm -tsan-instrument-read-before-write=1)
    endif()
  elseif(POLICYGRAD_SANITIZE MATCHES "thread")
    list(APPEND options -fno-sanitize=thread)
  endif()
  # Kernels compile faster without this check; the hooks find what it finds.
  if(POLICYGRAD_SANITIZE MATCHES "undefined")
    list(APPEND options -fno-sanitize=object-size)
  endif()
  set_property(SOURCE ${ARGN} PROPERTY LANGUAGE CXX)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # their flags differ
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "${options}")
endfunction()

# pg_cuda(TARGET SOURCE.cu...): adds CUDA sources to a target, in either way. Without CUDA it does nothing.
function(pg_cuda target)
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  if(POLICYGRAD_CUDA STREQUAL "nvcc")
    pg_nvcc(${target} ${sources})
  elseif(POLICYGRAD_CUDA STREQUAL "sim")
    pg_simulated(${target} ${sources})
  endif()
endfunction()

# pg_kernels(TARGET SOURCE.cu...): as pg_cuda, for programs that bring kernels of their own and need no CUDA in the engine:
# without CUDA they run in the simulator.
function(pg_kernels target)
  if(POLICYGRAD_CUDA)
    pg_cuda(${target} ${ARGN})
    return()
  endif()
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  pg_simulated(${target} ${sources})
  target_link_libraries(${target} PUBLIC cuda_runtime)
endfunction()

# pg_cublas(TARGET): adds the matrix products of cuBLASLt, which the simulator simulates.
function(pg_cublas target)
  file(GLOB gemm CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tensor/cuda/gemm/*.cpp)
  target_sources(${target} PRIVATE ${gemm})
  if(POLICYGRAD_CUDA STREQUAL "nvcc")
    target_link_libraries(${target} PRIVATE CUDA::cublasLt)
  endif()
endfunction()

# pg_nccl(TARGET): adds the collectives of NCCL, which the simulator simulates, or what says that there is none.
function(pg_nccl target)
  set(folder ${PROJECT_SOURCE_DIR}/tensor/cuda/nccl)
  if(POLICYGRAD_CUDA STREQUAL "nvcc" AND NOT NCCL_FOUND)
    target_sources(${target} PRIVATE ${folder}/no_nccl.cpp)
    return()
  endif()
  target_sources(${target} PRIVATE ${folder}/nccl_rank.cpp ${folder}/watch.cpp)
  if(NCCL_FOUND)
    target_link_libraries(${target} PRIVATE NCCL::nccl)
  endif()
endfunction()

# The simulator sees accesses of .cu files through calls that -fsanitize=thread compiles into them, answered by hooks.cpp
# instead of ThreadSanitizer. UndefinedBehaviorSanitizer can check the same files, AddressSanitizer the others.
if(NOT POLICYGRAD_CUDA STREQUAL "nvcc")
  if(POLICYGRAD_SANITIZE MATCHES "thread|memory")
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

# What tensor/cuda/runtime/launch.h needs. Where no GPU is used it is the simulator, tensor/sim.
if(NOT POLICYGRAD_CUDA STREQUAL "nvcc")
  file(GLOB simulator CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tensor/sim/*.cpp
       ${PROJECT_SOURCE_DIR}/tensor/sim/libraries/*.cpp)
endif()
add_library(cuda_runtime STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tensor/cuda/runtime/launch.cpp ${simulator})
target_link_libraries(cuda_runtime PUBLIC pg_base)
if(POLICYGRAD_CUDA STREQUAL "nvcc")
  target_link_libraries(cuda_runtime PRIVATE CUDA::cudart)
else()
  target_include_directories(cuda_runtime PRIVATE ${PROJECT_SOURCE_DIR}/tensor/sim/include)
  target_compile_definitions(cuda_runtime PRIVATE POLICYGRAD_SIM_HOOKS=${POLICYGRAD_SIM_HOOKS}
                                                  POLICYGRAD_SIM_ASAN=${POLICYGRAD_SIM_ASAN}
                                                  POLICYGRAD_SOURCES="${PROJECT_SOURCE_DIR}/")
  if(POLICYGRAD_SANITIZE)  # it checks each access of the kernels in tests
    target_compile_options(cuda_runtime PRIVATE -O1)
  endif()
  if(POLICYGRAD_SANITIZE MATCHES "thread")  # ThreadSanitizer cannot follow a change of stacks
    target_compile_options(cuda_runtime PRIVATE -fno-sanitize=thread)
  endif()
endif()
