// Read by clang before a file that includes LibTorch 1.13, which holds vectors of incomplete types:
// clang refuses those where vectors are constexpr, so here they are not.
// NOLINTBEGIN(bugprone-reserved-identifier)
#pragma once

#include <memory>
#include <string>

#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_a1_of_bits  // declared constexpr by now
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
// NOLINTEND(bugprone-reserved-identifier)
