# `cmake --install build --prefix DIR`, then find_package(policygrad) and target policygrad::policygrad elsewhere.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/policygrad)
install(TARGETS policygrad EXPORT policygradTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Every header but those of the kernels: tensor/cpu, tensor/cuda (whose runtime.h public headers use), and the list of
# functions that both include. tests/find_package compiles each alone.
set(include_dir ${CMAKE_INSTALL_INCLUDEDIR}/policygrad)
foreach(folder tensor autograd nn rl tasks)
  install(DIRECTORY ${folder}/ DESTINATION ${include_dir}/${folder}
          FILES_MATCHING PATTERN "*.h" PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE PATTERN kernel_list.h EXCLUDE)
endforeach()
install(FILES tensor/cuda/runtime.h DESTINATION ${include_dir}/tensor/cuda)
install(TARGETS pg RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(EXPORT policygradTargets NAMESPACE policygrad:: DESTINATION ${package_dir})
write_basic_package_version_file(policygradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/policygradConfig.cmake policygradConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/policygradConfig.cmake ${PROJECT_BINARY_DIR}/policygradConfigVersion.cmake
        DESTINATION ${package_dir})
