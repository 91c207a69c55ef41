# One snippet, compiled as far as its meaning:
#
#   cmake -DCOMPILER=c++ -DFLAGS="-I;..." -DSNIPPET=forged_key.cpp -P check.cmake
#
# Its first line is `// compiles`, or `// refused: REGEX` with what GCC must say.
file(STRINGS ${SNIPPET} first LIMIT_COUNT 1)
set(ENV{LC_ALL} C)  # plain quotation marks
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${FLAGS} ${SNIPPET}
                RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_VARIABLE said)
if(first STREQUAL "// compiles")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${SNIPPET} must compile, but does not:\n${said}")
  endif()
elseif(first MATCHES "^// refused: (.+)$")
  set(expected "${CMAKE_MATCH_1}")
  if(code EQUAL 0)
    message(FATAL_ERROR "${SNIPPET} must be refused, but compiles")
  endif()
  if(NOT COMPILER_ID STREQUAL "GNU")
    set(expected "error:")
  endif()
  if(NOT said MATCHES "${expected}")
    message(FATAL_ERROR "${SNIPPET} must be refused with '${expected}', but is with:\n${said}")
  endif()
else()
  message(FATAL_ERROR "the first line of ${SNIPPET} must say 'compiles' or 'refused: REGEX'")
endif()
