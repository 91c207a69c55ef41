// Must be rejected: each line by the rule it names, and the whole by clang-format.
#include <string>
#include <vector>

class badly_named {};  // rejected by readability-identifier-naming

int BadFunction(std::string text) {  // rejected by performance-unnecessary-value-param
    int   size = text.size();  // rejected by bugprone-narrowing-conversions
  if (size = 3) return 1;  // rejected by bugprone-assignment-in-if-condition
  int* nothing = 0;  // rejected by modernize-use-nullptr
  std::vector<int> moved = {1};
  std::vector<int> other = std::move(moved);
  return moved.size() + other.size() + (nothing != nullptr);  // rejected by bugprone-use-after-move
}
