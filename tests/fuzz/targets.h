// The readers of untrusted files, each as a function of bytes. A reader may refuse its input with
// an obol::Error; whatever else leaves it is a bug.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace obol::fuzz {

struct Target {
  std::string name;
  std::function<void(std::span<const std::byte>)> read;
  // Makes a mutated file pass its checksums, so that what lies behind them is reached too.
  std::function<void(std::vector<std::byte>&)> repair;
};

const std::vector<Target>& targets();

// Calls the reader and swallows obol::Error. True: the input was accepted.
bool accepts(const Target& target, std::span<const std::byte> input);

}  // namespace obol::fuzz
