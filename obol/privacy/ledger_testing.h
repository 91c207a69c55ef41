// Ledgers as texts, for tests: taken apart, damaged, chained anew, compared.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/sha256.h"
#include "obol/privacy/ledger.h"

namespace obol::privacy {

inline LedgerHeader some_header(Neighbours neighbours = Neighbours::kAddRemove) {
  return {.neighbours = neighbours,
          .records = 60'000,
          .fingerprint = "hmac-sha256:0123",
          .randomness = "not private: fixed seed 7"};
}

inline LedgerRecord read_ledger_text(std::string_view text, const std::string& name = "memory") {
  return read_ledger(MemoryBytes(name, std::as_bytes(std::span(text))));
}

// Each with its newline, if it has one.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// Gives every line the hash that it should have: what someone does who wants a change to pass.
inline std::string chained(const std::vector<std::string>& lines) {
  constexpr std::string_view kKey = R"(,"hash":")";
  constexpr std::size_t kDigits = 64;
  std::string text;
  std::string before;
  for (std::string line : lines) {
    const std::size_t key = line.rfind(kKey);
    if (key != std::string::npos && line.size() >= key + kKey.size() + kDigits) {
      Sha256 hash;
      hash.update(before);
      hash.update(std::string_view(line).substr(0, key));
      before = hash.hex();
      line.replace(key + kKey.size(), kDigits, before);
    }
    text += line;
  }
  return text;
}

// How often `mechanism` is among the events.
inline std::int64_t times(const std::vector<Event>& events, const Event& mechanism) {
  std::int64_t sum = 0;
  for (const Event& event : events)
    if (same_mechanism(event, mechanism)) sum += count_of(event);
  return sum;
}

// Whether `recorded` counts nothing of `used` too little.
inline bool covers(const std::vector<Event>& recorded, const std::vector<Event>& used) {
  return std::all_of(used.begin(), used.end(), [&](const Event& event) {
    return times(recorded, event) >= times(used, event);
  });
}

}  // namespace obol::privacy
