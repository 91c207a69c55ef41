// What the system says about this process's memory.
//
//   double peak = status_bytes("VmHWM");   // the most so far; "VmRSS": now
//
// Not getrusage: its peak outlives exec, so that it may be the parent's.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace obol::bench {

inline double status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace obol::bench
