// Which Obol this is.
#pragma once

namespace obol {

const char* version();  // "0.1.0"
const char* commit();   // "0123abcd", with "+" where files were changed; "unknown" outside git

}  // namespace obol
