# One folder is one module is one target.
#
#   obol_module(data SOURCES idx.cpp ... DEPENDS base recipe LINKS ZLIB::ZLIB TESTS idx_test.cpp)
#
# makes the library obol_data (obol::data for others) and, with tests on, the program data_test
# whose cases CTest lists under the label `unit`. TORCH gives it LibTorch and the precompiled
# header, and makes its tests one entry of that list: loading LibTorch takes longer than most cases.

if(OBOL_HAS_TORCH)
  add_library(obol_torch INTERFACE)
  # The standard library first: some builds of LibTorch export parts of theirs.
  target_link_libraries(obol_torch INTERFACE stdc++ torch)
  # LibTorch's parallel_for is a template: compiled without OpenMP, it runs on one thread.
  if(OpenMP_CXX_FOUND)
    target_link_libraries(obol_torch INTERFACE OpenMP::OpenMP_CXX)
  endif()
  # Torch's headers compile in some 15 s; this does it once.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch_pch.cpp CONTENT "")
  add_library(obol_torch_pch OBJECT ${PROJECT_BINARY_DIR}/torch_pch.cpp)
  target_link_libraries(obol_torch_pch PRIVATE obol_headers obol_warnings obol_torch)
  target_precompile_headers(obol_torch_pch PRIVATE <torch/torch.h>)
endif()

function(obol_module name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS;LINKS;TESTS" ${ARGN})
  set(target obol_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(obol::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:include>)
  list(TRANSFORM ARG_DEPENDS PREPEND obol_)
  target_link_libraries(${target} PUBLIC obol_headers ${ARG_DEPENDS} ${ARG_LINKS}
                                  PRIVATE $<BUILD_INTERFACE:obol_warnings>)
  if(ARG_TORCH)
    obol_use_torch(${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY OBOL_MODULES ${target})
  if(OBOL_HAS_TESTS AND ARG_TESTS)
    if(ARG_TORCH)
      obol_test(${name}_test TORCH SOURCES ${ARG_TESTS} LINKS ${target})
    else()
      obol_test(${name}_test SOURCES ${ARG_TESTS} LINKS ${target})
    endif()
  endif()
endfunction()

function(obol_use_torch target)
  target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:obol_torch> $<INSTALL_INTERFACE:torch>
                                         $<INSTALL_INTERFACE:$<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_CXX>>)
  target_precompile_headers(${target} REUSE_FROM obol_torch_pch)
  target_compile_options(${target} PRIVATE -fPIC)  # as the header was; programs would have -fPIE
endfunction()

# A GoogleTest program; LABEL is `unit` unless given. TORCH as above. Suites with tensors on a GPU have
# names that end in Gpu: an entry of their own, labelled `gpu`, where LibTorch has CUDA.
function(obol_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  include(GoogleTest)
  if(NOT TARGET obol_test_ledgers)
    add_library(obol_test_ledgers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/ledgers.cpp)
    target_link_libraries(obol_test_ledgers PRIVATE obol_base obol_warnings)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} obol_test_ledgers obol_base obol_warnings
                                        GTest::gtest_main)
  # Tests compile faster, and with fewer of GCC 12's false alarms, when hardly optimised.
  # (GCC 13 wants the precompiled header's own level, GCC 12 one that is optimised as well or not.)
  if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT OBOL_SANITIZE AND
     NOT (ARG_TORCH AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13))
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  endif()
  if(ARG_TORCH)
    obol_use_torch(${name})
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=-*Gpu*)
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 900)
    if(OBOL_HAS_CUDA AND TARGET torch_cuda)
      add_test(NAME ${name}.gpu COMMAND ${name} --gtest_filter=*Gpu*)
      set_tests_properties(${name}.gpu PROPERTIES LABELS gpu TIMEOUT 900)
    endif()
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
  endif()
endfunction()
