# What Obol needs, what it can do without, and what was found. Nothing is downloaded.
#
# OBOL_TORCH, OBOL_CUDA, OBOL_PNG, OBOL_JPEG, OBOL_FEDERATED, OBOL_TESTS: AUTO (on when
# what they need is found), ON, OFF.
# OBOL_HEADERS: a folder of header-only libraries packed by scripts/pack-headers, for machines
# where they cannot be installed.

set(OBOL_HEADERS "${PROJECT_SOURCE_DIR}/third_party/include" CACHE PATH
    "Header-only libraries packed by scripts/pack-headers")
option(OBOL_UNITY "Compile the sources of a target as one: faster clean builds" OFF)
if(OBOL_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
endif()
set(OBOL_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=")

foreach(part IN ITEMS TORCH CUDA PNG JPEG FEDERATED TESTS)
  set(OBOL_${part} AUTO CACHE STRING "AUTO, ON or OFF")
endforeach()

# Sets OBOL_HAS_<part> to 0 or 1 from the option and from what `found` says.
macro(obol_decide part found)
  if(${found} AND NOT OBOL_${part} STREQUAL "OFF")
    set(OBOL_HAS_${part} 1)
  else()
    set(OBOL_HAS_${part} 0)
  endif()
  if(OBOL_${part} STREQUAL "ON" AND NOT OBOL_HAS_${part})
    message(FATAL_ERROR "OBOL_${part} is ON, but what it needs was not found")
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 1.1.1 REQUIRED COMPONENTS Crypto)

find_package(PNG QUIET)
obol_decide(PNG PNG_FOUND)
find_package(JPEG QUIET)
obol_decide(JPEG JPEG_FOUND)
# gRPC looks for protobuf's package, which Debian's has not: CMake's own module finds it first.
if(NOT OBOL_FEDERATED STREQUAL "OFF")
  find_package(Protobuf QUIET)
  if(Protobuf_FOUND)
    find_package(gRPC QUIET)
  endif()
endif()
if(gRPC_FOUND AND TARGET gRPC::grpc_cpp_plugin)
  set(federated_found 1)
  # Precompiled headers want one set of options, and no other dependency says -pthread.
  if(TARGET re2::re2)
    set_target_properties(re2::re2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")
  endif()
endif()
obol_decide(FEDERATED federated_found)
find_package(GTest QUIET)
obol_decide(TESTS GTest_FOUND)

# Header-only libraries, installed or packed. fmt is used header-only everywhere, so that it cannot
# clash with a copy inside LibTorch.
add_library(obol_headers INTERFACE)
foreach(header IN ITEMS fmt/format.h toml++/toml.h nlohmann/json.hpp CLI/CLI.hpp)
  string(MAKE_C_IDENTIFIER "OBOL_FOUND_${header}" variable)
  find_path(${variable} ${header} HINTS ${OBOL_HEADERS})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} was not found: run scripts/install-deps, or pack it with "
                        "scripts/pack-headers on a machine that has it")
  endif()
  # A system folder needs no mention, and mentioning it can reorder the compiler's own.
  if(NOT ${variable} STREQUAL "/usr/include")
    target_include_directories(obol_headers SYSTEM INTERFACE $<BUILD_INTERFACE:${${variable}}>)
  endif()
endforeach()
target_compile_definitions(obol_headers INTERFACE FMT_HEADER_ONLY=1)
target_compile_features(obol_headers INTERFACE cxx_std_20)

if(NOT OBOL_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(CMAKE_CUDA_COMPILER AND NOT OBOL_CUDA STREQUAL "OFF")
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no later one for nvcc 13
  find_package(CUDAToolkit QUIET)
endif()
obol_decide(CUDA CUDAToolkit_FOUND)

if(NOT OBOL_TORCH STREQUAL "OFF")
  # Torch's own package warns and prints much; what matters is in the summary.
  find_package(Torch QUIET)
endif()
obol_decide(TORCH TORCH_FOUND)
if(OBOL_HAS_TORCH)
  find_package(OpenMP QUIET COMPONENTS CXX)
endif()

# Warnings and sanitizers for our own code, not for those who use the library. GCC 12 raises false
# alarms of -Wrestrict where strings are concatenated (GCC bug 105651).
add_library(obol_warnings INTERFACE)
target_compile_options(obol_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wno-missing-field-initializers;-Wno-restrict>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # False alarms inside fmt 9, which GCC 13 inlines further.
  target_compile_options(obol_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()
if(OBOL_SANITIZE)
  add_compile_options(-fsanitize=${OBOL_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OBOL_SANITIZE})
endif()
target_compile_definitions(obol_warnings INTERFACE
  OBOL_HAS_TORCH=${OBOL_HAS_TORCH} OBOL_HAS_CUDA=${OBOL_HAS_CUDA} OBOL_HAS_PNG=${OBOL_HAS_PNG}
  OBOL_HAS_JPEG=${OBOL_HAS_JPEG})

function(obol_print_summary)
  message(STATUS "Obol ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
  foreach(part IN ITEMS TORCH CUDA PNG JPEG FEDERATED TESTS)
    if(OBOL_HAS_${part})
      message(STATUS "  ${part}: yes")
    else()
      message(STATUS "  ${part}: no (OBOL_${part}=${OBOL_${part}})")
    endif()
  endforeach()
endfunction()
