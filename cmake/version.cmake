# Writes version.cpp at build time, and only when it would change.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=8 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "+")
  endif()
endif()
set(text "#include \"obol/base/version.h\"

namespace obol {

const char* version() { return \"${VERSION}\"; }
const char* commit() { return \"${commit}\"; }

}  // namespace obol
")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
