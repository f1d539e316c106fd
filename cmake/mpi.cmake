# MPI, for ranks on several machines. POLICYGRAD_MPI is
#   AUTO  used if CMake finds one
#   ON    needed
#   OFF   not used
set(POLICYGRAD_MPI AUTO CACHE STRING "Ranks over MPI: AUTO (if found), ON or OFF")
set_property(CACHE POLICYGRAD_MPI PROPERTY STRINGS AUTO ON OFF)

if(NOT POLICYGRAD_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "POLICYGRAD_MPI: expected AUTO, ON or OFF, got \"${POLICYGRAD_MPI}\"")
endif()

set(POLICYGRAD_HAS_MPI OFF)
# A compiler for another machine would find this machine's.
if(POLICYGRAD_MPI STREQUAL "ON" OR (POLICYGRAD_MPI STREQUAL "AUTO" AND NOT CMAKE_CROSSCOMPILING))
  set(MPI_CXX_SKIP_MPICXX ON)  # the interface of C++ that MPI 3 removed
  find_package(MPI QUIET COMPONENTS CXX)
  set(POLICYGRAD_HAS_MPI ${MPI_CXX_FOUND})
  if(MPI_CXX_FOUND)
    if(NOT PROJECT_IS_TOP_LEVEL)
      set_target_properties(MPI::MPI_CXX PROPERTIES IMPORTED_GLOBAL TRUE)  # the other project links it too
    endif()
    message(STATUS "MPI: found ${MPI_CXX_VERSION}")
  elseif(POLICYGRAD_MPI STREQUAL "ON")
    message(FATAL_ERROR "POLICYGRAD_MPI=ON: no MPI is found; install libopenmpi-dev and openmpi-bin")
  else()
    message(STATUS "MPI: not found, ranks of one machine only")
  endif()
endif()

# pg_mpi(TARGET): its Links over MPI, or the sentence that this build has none.
function(pg_mpi target)
  if(POLICYGRAD_HAS_MPI)
    target_sources(${target} PRIVATE tensor/comm/mpi/mpi_links.cpp)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
    if(NOT APPLE)
      target_link_options(${target} INTERFACE LINKER:--as-needed)  # programs without ranks do not load it
    endif()
  else()
    target_sources(${target} PRIVATE tensor/comm/mpi/no_mpi.cpp)
  endif()
endfunction()
