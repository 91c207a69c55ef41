#include "obol/report/html.h"

#include <gtest/gtest.h>

#include "obol/report/testing.h"

namespace obol::report {
namespace {

std::string encoded(std::string_view bytes) {
  return data_uri(std::as_bytes(std::span(bytes)))
      .substr(std::string("data:image/png;base64,").size());
}

TEST(Html, TextNeverBecomesMarkup) {
  EXPECT_EQ(tag("p", "<script>alert('&')</script>").str(),
            "<p>&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;</p>\n");
  EXPECT_EQ(tag("td", {{"class", "\" onclick=\"x"}}, Html("a")).str(),
            "<td class=\"&quot; onclick=&quot;x\">a</td>\n");
}

TEST(Html, SetsWhatIsBetweenBackticksAsCode) {
  EXPECT_EQ(prose("run `obol <x>` now").str(), "<p>run <code>obol &lt;x&gt;</code> now</p>\n");
  EXPECT_EQ(prose("one ` alone").str(), "<p>one <code> alone</code></p>\n");
}

TEST(Html, EncodesPicturesAsRfc4648Does) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe\xfd"), "//79");
}

TEST(Html, TablesNameTheirRowsAndColumns) {
  const std::string html = to_html({.caption = "c",
                                    .columns = {{"a", Column::kText}, {"b", Column::kNumber}},
                                    .rows = {{Html("x"), Html("1")}}})
                               .str();
  EXPECT_TRUE(has(html, "<caption>c</caption>"));
  EXPECT_TRUE(has(html, "<th scope=\"col\" class=\"n\">b</th>"));
  EXPECT_TRUE(has(html, "<th scope=\"row\">x</th>"));
  EXPECT_TRUE(has(html, "<td class=\"n\">1</td>"));
}

TEST(Page, AllowsNoScriptAndNothingFromElsewhere) {
  const std::string html = page("<t>", Html("body"));
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_TRUE(has(html, "default-src 'none'"));
  EXPECT_TRUE(has(html, "<title>&lt;t&gt;</title>"));
  EXPECT_TRUE(has(html, "name=\"viewport\""));
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "http:"));
  EXPECT_FALSE(has(html, "https:"));
  EXPECT_FALSE(has(html, "url("));
  EXPECT_FALSE(has(html, "@import"));
}

}  // namespace
}  // namespace obol::report
