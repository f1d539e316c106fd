# compare_gemm: our matrix product beside OpenBLAS and oneDNN (Debian: libopenblas-dev, libdnnl-dev). Only a measurement:
# nothing else needs these libraries. Newer ones elsewhere are found through CMAKE_PREFIX_PATH.
option(POLICYGRAD_COMPARE_GEMM "Build compare_gemm, which needs OpenBLAS and oneDNN" OFF)
if(NOT POLICYGRAD_COMPARE_GEMM)
  return()
endif()
find_package(OpenBLAS REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED)  # to set oneDNN's threads
add_executable(compare_gemm tools/compare/compare_gemm.cpp)
target_include_directories(compare_gemm SYSTEM PRIVATE ${OpenBLAS_INCLUDE_DIRS})
target_link_libraries(compare_gemm PRIVATE policygrad CLI11::CLI11 DNNL::dnnl OpenMP::OpenMP_CXX ${OpenBLAS_LIBRARIES})
