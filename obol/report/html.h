// HTML in which text cannot become markup: whatever comes from a file enters as text, and is
// escaped on the way.
//
//   Html page = tag("h2", "Ledger") + prose("Run `obol evaluate RUN` first.");
//   page += tag("td", {{"class", "number"}}, Html(text_from_a_file));
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace obol::report {

class Html {
 public:
  Html() = default;
  explicit Html(std::string_view text);  // escaped

  // As it is: for what this module or plot_svg wrote.
  static Html markup(std::string markup);

  Html& operator+=(const Html& other);
  friend Html operator+(Html first, const Html& second) { return first += second; }
  [[nodiscard]] const std::string& str() const noexcept { return markup_; }
  [[nodiscard]] bool empty() const noexcept { return markup_.empty(); }

 private:
  std::string markup_;
};

using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

Html tag(std::string_view name, Attributes attributes, const Html& content);
Html tag(std::string_view name, const Html& content);
Html tag(std::string_view name, std::string_view text);
Html empty_tag(std::string_view name, Attributes attributes);  // <img ...>

// A paragraph; what stands between `backticks` is set as code.
Html prose(std::string_view text);
// A note to the side, and a box that cannot be overlooked.
Html note(std::string_view text);
Html warning(const Html& content);

// A heading with what belongs to it; `id` is for links within the page.
Html section(std::string_view id, std::string_view title, const Html& content);

enum class Column {
  kText,
  kShort,  // never broken into lines
  kNumber,
};

struct Table {
  std::string caption;
  std::vector<std::pair<std::string, Column>> columns;
  std::vector<std::vector<Html>> rows;  // the first cell of a row is its heading
};

// Scrolls sideways within its box where the page is narrow.
Html to_html(const Table& table);

// A plot, or any other thing of its own, with an optional line of text below.
Html figure(const Html& content, std::string_view caption = {});

// "data:image/png;base64,..."
std::string data_uri(std::span<const std::byte> png);
// The size keeps the place while a page is built.
Html image(std::span<const std::byte> png, std::string_view description, long width, long height);

// The whole file: no script, and nothing is loaded from anywhere.
std::string page(std::string_view title, const Html& body);

}  // namespace obol::report
