#include "obol/report/html.h"

#include <cstdint>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/report/plot.h"

namespace obol::report {

// The file style.css. Every pair of its colours has a contrast of 4.5 or more, which
// tests/end_to_end/report_test.py measures in a browser. Shades of the heat map: .h0 (none) to .h9
// (all).
extern const char* const kStyle;

Html::Html(std::string_view text) : markup_(escaped_for_xml(text)) {}

Html Html::markup(std::string markup) {
  Html html;
  html.markup_ = std::move(markup);
  return html;
}

Html& Html::operator+=(const Html& other) {
  markup_ += other.markup_;
  return *this;
}

Html empty_tag(std::string_view name, Attributes attributes) {
  std::string text = fmt::format("<{}", name);
  for (const auto& [key, value] : attributes)
    text += fmt::format(" {}=\"{}\"", key, escaped_for_xml(value));
  return Html::markup(text + ">");
}

Html tag(std::string_view name, Attributes attributes, const Html& content) {
  return empty_tag(name, attributes) + content + Html::markup(fmt::format("</{}>\n", name));
}

Html tag(std::string_view name, const Html& content) { return tag(name, {}, content); }

Html tag(std::string_view name, std::string_view text) { return tag(name, {}, Html(text)); }

namespace {

Html with_code(std::string_view text) {
  Html html;
  bool is_code = false;
  for (const std::string& part : split(text, '`')) {
    html += is_code ? Html::markup("<code>") + Html(part) + Html::markup("</code>") : Html(part);
    is_code = !is_code;
  }
  return html;
}

}  // namespace

Html prose(std::string_view text) { return tag("p", with_code(text)); }

Html note(std::string_view text) { return tag("p", {{"class", "note"}}, with_code(text)); }

Html warning(const Html& content) {
  return tag("div", {{"class", "warning"}, {"role", "note"}}, content);
}

Html section(std::string_view id, std::string_view title, const Html& content) {
  return tag("section", {{"id", id}}, tag("h2", title) + content);
}

Html to_html(const Table& table) {
  const auto cell = [&](std::size_t at, const Html& content) {
    const auto is = [&](Column kind) {
      return at < table.columns.size() && table.columns[at].second == kind;
    };
    if (at == 0) return tag("th", {{"scope", "row"}}, content);
    if (is(Column::kNumber)) return tag("td", {{"class", "n"}}, content);
    return is(Column::kShort) ? tag("td", {{"class", "w"}}, content) : tag("td", content);
  };
  Html head;
  for (const auto& [name, kind] : table.columns)
    head += kind == Column::kNumber ? tag("th", {{"scope", "col"}, {"class", "n"}}, Html(name))
                                    : tag("th", {{"scope", "col"}}, Html(name));
  Html rows;
  for (const auto& row : table.rows) {
    Html cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells += cell(i, row[i]);
    rows += tag("tr", cells);
  }
  Html content;
  if (!table.caption.empty()) content += tag("caption", table.caption);
  content += tag("thead", tag("tr", head)) + tag("tbody", rows);
  return tag("div", {{"class", "scroll"}, {"tabindex", "0"}}, tag("table", content));
}

Html figure(const Html& content, std::string_view caption) {
  return tag("figure", caption.empty() ? content : content + tag("figcaption", caption));
}

std::string data_uri(std::span<const std::byte> png) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:image/png;base64,";
  for (std::size_t at = 0; at < png.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < png.size() ? std::to_integer<std::uint32_t>(png[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= png.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Html image(std::span<const std::byte> png, std::string_view description, long width, long height) {
  return empty_tag("img", {{"src", data_uri(png)},
                           {"alt", description},
                           {"width", std::to_string(width)},
                           {"height", std::to_string(height)}});
}

std::string page(std::string_view title, const Html& body) {
  // The policy forbids scripts and everything from elsewhere, should anything ever slip in.
  constexpr const char* kPolicy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
  const Html head =
      Html::markup("<meta charset=\"utf-8\">\n") +
      Html::markup(
          fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy)) +
      Html::markup(
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"referrer\" content=\"no-referrer\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n") +
      tag("title", title) + Html::markup(fmt::format("<style>{}</style>\n", kStyle));
  return "<!DOCTYPE html>\n" +
         tag("html", {{"lang", "en"}}, tag("head", head) + tag("body", tag("main", body))).str();
}

}  // namespace obol::report
