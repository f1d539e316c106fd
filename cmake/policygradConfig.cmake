include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # FindPCRE2.cmake and others
find_dependency(PCRE2)
find_dependency(utf8proc)
if("@POLICYGRAD_CUDA@" STREQUAL "nvcc")
  find_dependency(CUDAToolkit)
  if("@NCCL_FOUND@")
    find_dependency(NCCL)
  endif()
endif()
<<<<<<< HEAD
list(REMOVE_ITEM CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
if(@POLICYGRAD_HAS_MPI@)
=======
if("@POLICYGRAD_HAS_MPI@")
>>>>>>> transport
  set(MPI_CXX_SKIP_MPICXX ON)
  find_dependency(MPI COMPONENTS CXX)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/policygradTargets.cmake)
