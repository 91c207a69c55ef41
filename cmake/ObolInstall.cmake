# `cmake --install`, and a package so that another project can find_package(Obol).
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY OBOL_MODULES)
set(exported ${modules} obol_headers)
set_target_properties(obol_headers PROPERTIES EXPORT_NAME headers)
install(TARGETS ${exported} EXPORT ObolTargets)
install(TARGETS obol RUNTIME)
if(TARGET obol_tensor)
  install(TARGETS obol_tensor LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/obol)
endif()
include(PublicHeaders)
foreach(header IN LISTS OBOL_PUBLIC_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES obol/${header} DESTINATION include/obol/${folder})
endforeach()
install(DIRECTORY recipes DESTINATION share/obol)
install(FILES obol/evaluate/suite.py DESTINATION share/obol)
install(PROGRAMS scripts/convert-generator DESTINATION share/obol)
install(EXPORT ObolTargets NAMESPACE obol:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Obol)
configure_package_config_file(cmake/ObolConfig.cmake.in ${PROJECT_BINARY_DIR}/ObolConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Obol)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ObolConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ObolConfig.cmake ${PROJECT_BINARY_DIR}/ObolConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Obol)
