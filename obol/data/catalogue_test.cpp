#include "obol/data/catalogue.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/data/reader.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::gzip;
using testing::idx;
using testing::put;
using testing::refusal;
using testing::says;
using testing::usage_refusal;
using testing::WithVariable;

// Ten tiny records, one of each class, in the four files of MNIST.
void place_tiny(const Path& folder, bool is_packed) {
  const auto place = [&](const std::string& name, const std::string& content) {
    put(folder, is_packed ? name + ".gz" : name, is_packed ? gzip(content) : content);
  };
  const std::vector<std::uint8_t> ten = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  place("train-images-idx3-ubyte", idx({10, 1, 1}, ten));
  place("train-labels-idx1-ubyte", idx({10}, ten));
  place("t10k-images-idx3-ubyte", idx({1, 1, 1}, {200}));
  place("t10k-labels-idx1-ubyte", idx({1}, {4}));
}

TEST(Catalogue, KnowsItsDataSetsByName) {
  for (const char* name : {"mnist", "fashion-mnist", "cifar10", "celeba"}) {
    const KnownDataset* known = find_known(name);
    ASSERT_NE(known, nullptr) << name;
    EXPECT_EQ(known->name, name);
    EXPECT_FALSE(known->summary.empty());
    EXPECT_FALSE(known->by_hand.empty());
  }
  EXPECT_EQ(find_known("MNIST"), nullptr);
  EXPECT_EQ(find_known(""), nullptr);
}

TEST(Catalogue, HasASumForEveryFile) {
  std::set<std::string> sums;
  for (const KnownDataset& known : catalogue())
    for (const auto& files : {known.files, known.made_of})
      for (const KnownFile& file : files) {
        EXPECT_EQ(file.sha256.size(), 64U) << known.name;
        EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
        EXPECT_TRUE(sums.insert(file.sha256).second) << "the same sum twice: " << file.sha256;
      }
  EXPECT_EQ(sums.size(), 4U + 4U + 4U + 8U);
}

TEST(Catalogue, IsKeptWhereTheVariableSays) {
  const WithVariable here("OBOL_DATA", "/some/where");
  EXPECT_EQ(data_folder(), Path("/some/where"));
  EXPECT_EQ(folder_of(*find_known("mnist")), Path("/some/where/mnist"));
}

TEST(Catalogue, IsKeptInTheCacheOfTheHomeFolderOtherwise) {
  for (const std::optional<std::string>& unset :
       {std::optional<std::string>{}, std::optional<std::string>{""}}) {
    const WithVariable nowhere("OBOL_DATA", unset);
    const WithVariable home("HOME", "/home/somebody");
    EXPECT_EQ(data_folder(), Path("/home/somebody/.cache/obol"));
  }
}

TEST(Catalogue, NeedsTheVariableWhereThereIsNoHome) {
  const WithVariable nowhere("OBOL_DATA", std::nullopt);
  const WithVariable homeless("HOME", std::nullopt);
  EXPECT_TRUE(says(usage_refusal([] { (void)data_folder(); }), {"OBOL_DATA"}));
}

TEST(Catalogue, HasADataSetWhenAllItsFilesAreThere) {
  for (const bool is_packed : {false, true}) {
    const TemporaryFolder folder;
    const WithVariable here("OBOL_DATA", folder.path().string());
    const KnownDataset& mnist = *find_known("mnist");
    EXPECT_FALSE(is_present(mnist));
    place_tiny(folder_of(mnist), is_packed);
    EXPECT_TRUE(is_present(mnist));
    std::filesystem::remove(folder_of(mnist) /
                            (is_packed ? "t10k-labels-idx1-ubyte.gz" : "t10k-labels-idx1-ubyte"));
    EXPECT_FALSE(is_present(mnist));
    EXPECT_FALSE(is_present(*find_known("celeba")));
    std::filesystem::create_directory(folder.path() / "celeba");
    EXPECT_TRUE(is_present(*find_known("celeba")));
  }
}

TEST(Catalogue, IsReadByNameWithItsClassNames) {
  const TemporaryFolder folder;
  const WithVariable here("OBOL_DATA", folder.path().string());
  place_tiny(folder.path() / "fashion-mnist", true);
  const Dataset train = read("fashion-mnist");
  EXPECT_EQ(train.count(), 10);
  EXPECT_EQ(train.class_names.at(8), "Bag");
  EXPECT_EQ(describe("fashion-mnist").class_names, train.class_names);
  const Splits splits = open("fashion-mnist");
  EXPECT_EQ(splits.train.facts().declared_size, 10);
  EXPECT_EQ(testing::bytes_of(splits.test), std::vector<std::uint8_t>{200});
}

TEST(Catalogue, ReadsCifarInColour) {
  const TemporaryFolder folder;
  const WithVariable here("OBOL_DATA", folder.path().string());
  const Path cifar = folder.path() / "cifar10";
  put(cifar, "train-images-idx4-ubyte", idx({2, 1, 1, 3}, {1, 2, 3, 4, 5, 6}));
  put(cifar, "train-labels-idx1-ubyte", idx({2}, {9, 0}));
  put(cifar, "t10k-images-idx4-ubyte", idx({1, 1, 1, 3}, {7, 8, 9}));
  EXPECT_FALSE(is_present(*find_known("cifar10")));
  put(cifar, "t10k-labels-idx1-ubyte", idx({1}, {3}));
  EXPECT_TRUE(is_present(*find_known("cifar10")));
  const Splits splits = open("cifar10");
  EXPECT_EQ(splits.train.facts().shape.channels, 3);
  EXPECT_EQ(splits.train.facts().num_classes, 10);
  EXPECT_EQ(testing::bytes_of(splits.test), (std::vector<std::uint8_t>{7, 8, 9}));
  EXPECT_EQ(splits.test.class_names.at(static_cast<std::size_t>(splits.test.labels[0])), "cat");
}

TEST(Catalogue, SaysHowToGetWhatIsMissing) {
  const TemporaryFolder folder;
  const WithVariable here("OBOL_DATA", folder.path().string());
  EXPECT_TRUE(says(refusal([] { (void)read("mnist"); }),
                   {"obol data get mnist", (folder.path() / "mnist").string()}));
  EXPECT_TRUE(says(refusal([] { (void)describe("celeba"); }), {"obol data get celeba"}));
}

TEST(Catalogue, SuggestsTheNameThatWasMeant) {
  EXPECT_TRUE(says(refusal([] { (void)read("fashon-mnist"); }),
                   {"fashon-mnist", "obol data list", "Did you mean fashion-mnist?"}));
  EXPECT_TRUE(says(usage_refusal([] { (void)fetch("celebb"); }),
                   {"mnist, fashion-mnist, cifar10, celeba", "Did you mean celeba?"}));
}

TEST(Fetch, ReturnsTheFolderOfWhatIsThere) {
  const TemporaryFolder folder;
  const WithVariable here("OBOL_DATA", folder.path().string());
  place_tiny(folder.path() / "mnist", false);
  EXPECT_EQ(fetch("mnist"), folder.path() / "mnist");
}

TEST(Fetch, SaysHowToPlaceWhatCannotBeFetched) {
  const TemporaryFolder folder;
  const WithVariable here("OBOL_DATA", folder.path().string());
  EXPECT_TRUE(says(refusal([] { (void)fetch("celeba"); }),
                   {"celeba", folder.path().string(), "licence", "img_align_celeba/"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace obol::data
