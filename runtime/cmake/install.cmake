# cmake --install BUILD --prefix P: the header, the library shared and static, the emulator beside it, and what makes them
# found: find_package(warpscore) and pkg-config. Nothing of the compiler.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(warpscore::warpscore ALIAS warpscore-shared)
add_library(warpscore::warpscore-static ALIAS warpscore-static)
set_target_properties(warpscore-shared PROPERTIES EXPORT_NAME warpscore)

set(WS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/warpscore)
install(TARGETS warpscore-shared warpscore-static EXPORT warpscore-targets COMPONENT embed
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/../include/warpscore.h ${CMAKE_CURRENT_LIST_DIR}/../include/warpscore_dlpack.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT embed)
if(TARGET warpscore-emu)
  install(TARGETS warpscore-emu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT embed)
endif()

install(EXPORT warpscore-targets NAMESPACE warpscore:: DESTINATION ${WS_PACKAGE_DIR} COMPONENT embed)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpscore-config.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/warpscore-config.cmake INSTALL_DESTINATION ${WS_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/warpscore-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/warpscore-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/warpscore-config-version.cmake
        ${CMAKE_CURRENT_LIST_DIR}/warpscore-embed.cmake ${CMAKE_CURRENT_LIST_DIR}/warpscore-array.cmake
        DESTINATION ${WS_PACKAGE_DIR} COMPONENT embed)

# The folder of warpscore.pc is two below the prefix or deeper, so that an installed tree can be moved.
file(RELATIVE_PATH WS_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/warpscore.pc.in ${CMAKE_CURRENT_BINARY_DIR}/warpscore.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/warpscore.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT embed)
