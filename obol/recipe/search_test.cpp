#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/recipe/recipe.h"

namespace obol::recipe {
namespace {

namespace fs = std::filesystem;

// Two folders of recipes: the one that OBOL_RECIPES names, and ./recipes.
class Search : public ::testing::Test {
 protected:
  Search() : old_folder_(fs::current_path()) {
    if (const char* old = std::getenv("OBOL_RECIPES")) old_variable_ = old;
    setenv("OBOL_RECIPES", given().c_str(), 1);
    fs::current_path(folder_.path());
  }
  ~Search() override {
    fs::current_path(old_folder_);
    if (old_variable_)
      setenv("OBOL_RECIPES", old_variable_->c_str(), 1);
    else
      unsetenv("OBOL_RECIPES");
  }

  [[nodiscard]] Path given() const { return folder_.path() / "given"; }
  static void write(const Path& path, const std::string& text) {
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    write_file(path, text);
  }
  // What list() gives, without the recipes that lie beside the test program.
  static std::vector<Listed> list_own() {
    std::vector<Listed> listed = list();
    const std::string installed = search_folders().back().string();
    std::erase_if(listed,
                  [&](const Listed& one) { return one.path.string().starts_with(installed); });
    return listed;
  }
  static std::string refusal_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
  Path old_folder_;
  std::optional<std::string> old_variable_;
};

TEST_F(Search, GoesFromTheGivenFolderToTheInstalledOne) {
  const auto folders = search_folders();
  ASSERT_EQ(folders.size(), 3U);
  EXPECT_EQ(folders[0], given());
  EXPECT_EQ(folders[1], "recipes");
  const Path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(folders[2], program.parent_path().parent_path() / "share/obol/recipes");
}

TEST_F(Search, DoesWithoutAGivenFolder) {
  unsetenv("OBOL_RECIPES");
  EXPECT_EQ(search_folders().size(), 2U);
  EXPECT_EQ(search_folders().front(), "recipes");
}

TEST_F(Search, ListsNamesAndTitlesInOrder) {
  write("recipes/data/mnist.toml", "title = 'Digits'");
  write("recipes/b.toml", "");
  write(given() / "a.toml", "title = 3");
  write("recipes/notes.txt", "not a recipe");
  const auto listed = list_own();
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[0].name, "a");
  EXPECT_EQ(listed[0].path, given() / "a.toml");
  EXPECT_EQ(listed[0].title, "");
  EXPECT_EQ(listed[1].name, "b");
  EXPECT_EQ(listed[1].title, "");
  EXPECT_EQ(listed[2].name, "data/mnist");
  EXPECT_EQ(listed[2].path, "recipes/data/mnist.toml");
  EXPECT_EQ(listed[2].title, "Digits");
}

TEST_F(Search, ListsTheFirstOfTwoWithOneName) {
  write("recipes/a.toml", "title = 'second'");
  write(given() / "a.toml", "title = 'first'");
  ASSERT_EQ(list_own().size(), 1U);
  EXPECT_EQ(list_own()[0].title, "first");
}

TEST_F(Search, ListsNothingWhereThereIsNothing) { EXPECT_TRUE(list_own().empty()); }

TEST_F(Search, PassesOverAFolderThatIsNamedLikeARecipe) {
  write("recipes/odd.toml/inside.toml", "title = 'inside'");
  const auto listed = list_own();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, "odd.toml/inside");
}

TEST_F(Search, FindsByNameFirstFolderFirst) {
  write("recipes/data/a.toml", "");
  EXPECT_EQ(find("data/a"), "recipes/data/a.toml");
  write(given() / "data" / "a.toml", "");
  EXPECT_EQ(find("data/a"), given() / "data" / "a.toml");
}

TEST_F(Search, FindsByPathBeforeName) {
  write("mine", "");
  write("recipes/mine.toml", "");
  EXPECT_EQ(find("mine"), "mine");
  write("elsewhere/x.toml", "");
  EXPECT_EQ(find("elsewhere/x.toml"), "elsewhere/x.toml");
}

TEST_F(Search, DoesNotTakeAFolderForARecipe) {
  fs::create_directory("data");
  write("recipes/data.toml", "");
  EXPECT_EQ(find("data"), "recipes/data.toml");
}

TEST_F(Search, OffersTheNearestName) {
  write("recipes/data/mnist.toml", "");
  EXPECT_EQ(refusal_of([] { find("data/mnst"); }),
            "a recipe must be a file or a name from 'obol recipes list', but is data/mnst. Did you "
            "mean data/mnist?");
  EXPECT_EQ(refusal_of([] { find("temperature"); }),
            "a recipe must be a file or a name from 'obol recipes list', but is temperature");
}

TEST_F(Search, OffersTheNearestNameThoughAnotherRecipeIsBroken) {
  write("recipes/broken.toml", "[");
  write("recipes/mnist.toml", "");
  EXPECT_NE(refusal_of([] { find("mnst"); }).find("Did you mean mnist?"), std::string::npos);
}

TEST_F(Search, NamesABrokenRecipeWhenListing) {
  write("recipes/broken.toml", "[");
  EXPECT_NE(refusal_of([] { list(); }).find("recipes/broken.toml:1"), std::string::npos);
}

TEST_F(Search, RefusesANameThatNoFileCanHave) {
  EXPECT_EQ(refusal_of([] { find(std::string(5000, 'x')); }),
            "a recipe must be a file or a name from 'obol recipes list', but is " +
                std::string(5000, 'x'));
}

}  // namespace
}  // namespace obol::recipe
