#include "obol/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace obol {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 200;  // edit distance is quadratic, and words are typed
  if (word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(to_lower(word), to_lower(candidate));
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto best = nearest(word, candidates);
  return best ? fmt::format(". Did you mean {}?", *best) : std::string{};
}

std::optional<double> parse_number(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return parse_decimal(text);
  const auto numerator = parse_decimal(text.substr(0, slash));
  const auto denominator = parse_decimal(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator == 0) return std::nullopt;
  const double value = *numerator / *denominator;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string with_thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string counted(std::int64_t number) {
  return with_thousands(static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)));
}

namespace {

enum class Direction { kUp, kDown };

// By decimal digits: dividing by a power of ten would round once more, to the wrong side.
std::string rounded(double value, int digits, Direction direction) {
  const std::string nearest = fmt::format("{:.{}g}", value, digits);
  if (!std::isfinite(value)) return nearest;
  const double read = std::stod(nearest);
  if (direction == Direction::kUp ? read >= value : read <= value) return nearest;
  // One more or less in the last digit, away from zero or towards it.
  const std::string shown = fmt::format("{:.{}e}", std::abs(value), digits - 1);
  const auto e = shown.find('e');
  std::string mantissa = shown.substr(0, e);
  std::erase(mantissa, '.');
  const bool grows = (direction == Direction::kUp) == (value > 0);
  int exponent = std::stoi(shown.substr(e + 1)) - (digits - 1);
  if (!grows && mantissa.find_first_not_of('0', 1) == std::string::npos &&
      mantissa.front() == '1') {
    mantissa += '0';  // below a power of ten the digits are worth a tenth
    --exponent;
  }
  const std::int64_t next = std::stoll(mantissa) + (grows ? 1 : -1);
  const double found = std::stod(fmt::format("{}{}e{}", value < 0 ? "-" : "", next, exponent));
  return fmt::format("{:.{}g}", found, digits);
}

// The code point that `text` starts with, and its length; 0 long where the bytes are no UTF-8.
struct Decoded {
  std::uint32_t code = 0;
  std::size_t size = 0;
};
Decoded decoded(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const std::size_t size = byte(0) < 0x80   ? 1
                           : byte(0) < 0xc2 ? 0
                           : byte(0) < 0xe0 ? 2
                           : byte(0) < 0xf0 ? 3
                           : byte(0) < 0xf5 ? 4
                                            : 0;
  if (size == 0 || size > text.size()) return {};
  std::uint32_t code = size == 1 ? byte(0) : byte(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast.at(size) || code > 0x10ffff || is_surrogate) return {};
  return {.code = code, .size = size};
}

// Control characters, line separators, and what changes the direction of writing.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string rounded_up(double value, int digits) { return rounded(value, digits, Direction::kUp); }

std::string rounded_down(double value, int digits) {
  return rounded(value, digits, Direction::kDown);
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  while (!text.empty()) {
    const Decoded next = decoded(text);
    const std::size_t size = std::max<std::size_t>(next.size, 1);
    const bool stays = lines == Lines::kMany && (next.code == '\n' || next.code == '\t');
    if (next.size == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else if (is_control(next.code) && !stays)
      out += fmt::format("\\u{:04x}", next.code);
    else
      out += text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

std::string markdown(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\`*_[]<>|&~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return printable(escaped);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      result += '\n';
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string human_seconds(double seconds) {
  constexpr double kLongest = 1e15;  // beyond it a count of seconds says nothing
  if (!(seconds >= 0 && seconds <= kLongest)) return "?";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace obol
