#include "obol/report/released_recipe.h"

#include <string>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::report {
namespace {

constexpr const char* kWhere = "recipe.toml";

TEST(ReleasedRecipe, KeepsWhatDescribesTheMethod) {
  const std::string all =
      "title = \"a \\\"b\\\" # c\"\nsummary = \"two\\nlines\"\n\n[data]\nsplit = \"train\"\ncrop = "
      "64\n\n"
      "[privacy]\nbarrier = \"record\"\ndelta = 1e-05\n\n[method]\nname = \"dp-sinkhorn\"\n"
      "features = \"dct:14\"\nwarm_start = true\n";
  EXPECT_EQ(released_recipe(all, PublicData::kNo, kWhere), all);
}

TEST(ReleasedRecipe, LeavesOutEveryOtherText) {
  EXPECT_EQ(
      released_recipe("[data]\nsource = \"/vault/ward-7\"\nlabel_column = \"name\"\n\n"
                      "[method]\nname = \"gs-wgan\"\nwarm_cache = \"/home/x\"\nlater = \"?\"\n",
                      PublicData::kNo, kWhere),
      "[data]\n# source: left out\n# label_column: left out\n\n"
      "[method]\nname = \"gs-wgan\"\n# warm_cache: left out\n# later: left out\n");
  // A key counts with its section.
  EXPECT_EQ(released_recipe("[run]\ntitle = \"/vault\"\n", PublicData::kNo, kWhere),
            "[run]\n# title: left out\n");
  EXPECT_EQ(released_recipe("# /vault\n", PublicData::kNo, kWhere), "# left out\n");
}

TEST(ReleasedRecipe, NamesDataThatEveryoneHas) {
  const std::string text = "[data]\nsource = \"mnist\"\n";
  EXPECT_EQ(released_recipe(text, PublicData::kYes, kWhere), text);
  EXPECT_EQ(released_recipe(text, PublicData::kNo, kWhere), "[data]\n# source: left out\n");
}

TEST(ReleasedRecipe, RefusesWhatIsNotAKeyInALine) {
  for (const char* text :
       {"data = {source = \"/vault\"}\n", "title = \"\"\"\n/vault\"\"\"\n", "title = '/vault'\n",
        "title = \"a\" # \"/vault\"\n", "a.\"b\" = 1\n", "x = [1, 2]\n", "[[data]]\n", "title\n"})
    EXPECT_THROW(static_cast<void>(released_recipe(text, PublicData::kNo, kWhere)), DataError)
        << text;
}

}  // namespace
}  // namespace obol::report
