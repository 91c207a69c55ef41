// Small work on words: suggestions for misspelt names, numbers as people write them.
//
//   nearest("fashon-mnist", {"mnist", "fashion-mnist"})   // "fashion-mnist"
//   parse_number("1/1200")                                // 8.333e-4
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace obol {

// The candidate with the fewest edits to `word`, if it is close enough to be what was meant.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// ". Did you mean NEAREST?" to end a message with, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// "0.5", "1e-5", "1/1200". Nothing on anything else, on infinities and on NaN.
std::optional<double> parse_number(std::string_view text);

std::optional<std::int64_t> parse_integer(std::string_view text);

// "47.0 MB" (powers of ten, as disks and `ls --si` count).
std::string human_bytes(std::uint64_t bytes);

// "60,000"
std::string with_thousands(std::uint64_t number);
// The same of a count, which is never below zero.
std::string counted(std::int64_t number);

// A bound in so many significant digits, never rounded to less than it is: "844.309". Text that
// reads back as the same double is that double: 1e-5 is "1e-05".
std::string rounded_up(double value, int digits = 6);
// And one that is never rounded to more.
std::string rounded_down(double value, int digits = 6);

// Text from a file or a peer, for a terminal: what would move the cursor, change colours or the
// direction of writing is spelt out as "\u001b", and so are bytes that are no UTF-8 ("\xff"). In
// JSON it still means the same.
enum class Lines {
  kOne,   // line ends are spelt out as well
  kMany,  // line ends and tabs stay
};
std::string printable(std::string_view text, Lines lines = Lines::kOne);

// Text from a file, on one line of Markdown, where it is text and nothing else.
std::string markdown(std::string_view text);

// Broken into lines of at most `width` columns, at spaces.
std::string wrapped(std::string_view text, std::size_t width);

// "1.2 s", "4 min 10 s", "3 h 5 min".
std::string human_seconds(double seconds);

std::string to_lower(std::string_view text);
std::string_view trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace obol
