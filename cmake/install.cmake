# `cmake --install build`, then find_package(policygrad) and target policygrad::policygrad elsewhere.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/policygrad)
install(TARGETS ${POLICYGRAD_LAYERS} EXPORT policygradTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Every header but those of the kernels and of the simulator.
# tests/find_package compiles each alone.
set(include_dir ${CMAKE_INSTALL_INCLUDEDIR}/policygrad)
foreach(folder tensor autograd nn rl tasks)
  install(DIRECTORY ${folder}/ DESTINATION ${include_dir}/${folder}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE PATTERN sim EXCLUDE)
endforeach()
install(TARGETS pg RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(EXPORT policygradTargets NAMESPACE policygrad:: DESTINATION ${package_dir})
write_basic_package_version_file(policygradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/policygradConfig.cmake policygradConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/policygradConfig.cmake ${PROJECT_BINARY_DIR}/policygradConfigVersion.cmake
              cmake/FindPCRE2.cmake cmake/Findutf8proc.cmake cmake/FindGMP.cmake
              cmake/FindNCCL.cmake
        DESTINATION ${package_dir})
