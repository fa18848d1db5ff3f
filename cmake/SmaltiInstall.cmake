# The install tree: libsmalti.so, the public headers, the tools, and what find_package(smalti) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS smalti smalti_kernels EXPORT smaltiTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET smalti_mpi)
  install(TARGETS smalti_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET tools)
    add_dependencies(tools smalti_mpi)  # ./do build builds all that is installed
  endif()
endif()
install(DIRECTORY include/smalti kernels/include/smalti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY chips DESTINATION ${CMAKE_INSTALL_DATADIR}/smalti FILES_MATCHING PATTERN "*.toml")
install(EXPORT smaltiTargets NAMESPACE smalti:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smalti)
configure_package_config_file(cmake/smaltiConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/smaltiConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smalti)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/smaltiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# find_package(smalti) finds the build tree, too: -Dsmalti_DIR=build/release
export(EXPORT smaltiTargets NAMESPACE smalti:: FILE ${CMAKE_CURRENT_BINARY_DIR}/smaltiTargets.cmake)
configure_file(cmake/SmaltiKernels.cmake ${CMAKE_CURRENT_BINARY_DIR}/SmaltiKernels.cmake COPYONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/smaltiConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/smaltiConfigVersion.cmake
              cmake/SmaltiKernels.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/smalti)
