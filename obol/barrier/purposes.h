// What releases are for, as ledgers and plans name it. Without LibTorch.
#pragma once

namespace obol::barrier {

inline constexpr const char* kTraining = "training";
inline constexpr const char* kHistogram = "class histogram";
inline constexpr const char* kValidation = "validation accuracy";

}  // namespace obol::barrier
