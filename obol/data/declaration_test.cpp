#include "obol/data/declaration.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/testing.h"
#include "obol/data/writer.h"

namespace obol::data {
namespace {

using testing::counting_bytes;
using testing::floats_of;
using testing::npy;
using testing::opened;
using testing::put;
using testing::raw;
using testing::refusal;
using testing::says;
using testing::usage_refusal;
using testing::zip;

using Names = std::vector<std::string>;

constexpr ImageShape kTiny{.channels = 1, .height = 1, .width = 2};

// Two pixels a record, floats, labelled.
std::string float_npz(const std::vector<float>& pixels, const std::vector<std::int32_t>& labels) {
  const auto shape = fmt::format("({}, 1, 2)", labels.size());
  return zip({{.name = "images.npy", .content = npy("<f4", shape, raw(pixels))},
              {.name = "labels.npy",
               .content = npy("<i4", fmt::format("({},)", labels.size()), raw(labels))}});
}

TEST(Declaration, IsWrittenAndReadTheSame) {
  const Declaration declared{.range = ValueRange{.low = -1, .high = 2.5},
                             .classes = 2,
                             .class_names = {"cat", "Ankle boot"},
                             .channels = 3,
                             .size = ImageSize{.width = 4, .height = 5},
                             .outside = Outside::kMap};
  EXPECT_EQ(parse_declaration(to_toml(declared), "here"), declared);
  const Declaration numbered{.classes = 10};
  EXPECT_EQ(parse_declaration(to_toml(numbered), "here"), numbered);
  EXPECT_EQ(numbered.names().back(), "9");
  EXPECT_EQ(parse_declaration("", "here"), Declaration{});
  EXPECT_TRUE(says(usage_refusal([] { (void)to_toml({.classes = 1, .class_names = {"a,b"}}); }),
                   {"class name", "a,b"}));
}

TEST(Declaration, IsRefusedWithValuesThatCannotBeMeant) {
  for (const std::string text :
       {"range = '1,0'", "classes = -1", "classes = 65537", "classes = 'ten'", "channels = 2",
        "size = '5'", "outside = 'drop'", "class_names = 'a,a'", "class_names = 'a,,b'",
        "classes = 3\nclass_names = 'a,b'", "clases = 3", "include = 'other.toml'",
        "[data]\nclasses = 1"})
    EXPECT_TRUE(says(usage_refusal([&] { (void)parse_declaration(text, "x.toml"); }), {"x.toml"}))
        << text;
}

TEST(Declaration, LiesBesideAFileOrInAFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(declaration_path("a/x.npz"), Path("a/x.npz.declaration.toml"));
  EXPECT_EQ(declaration_path(folder.path()), folder.path() / "declaration.toml");
  EXPECT_TRUE(is_declaration("a/x.npz.declaration.toml") && is_declaration("declaration.toml"));
  EXPECT_FALSE(is_declaration("mydeclaration.toml"));
  const Path file = put(folder.path(), "x.npz", "");
  EXPECT_EQ(declared_at(file), Declaration{});
  put(folder.path(), "declaration.toml", "classes = 2\n");
  EXPECT_EQ(declared_at(folder.path()).classes, 2);
  EXPECT_EQ(declared_at(file).classes, 2);
  put(folder.path(), "x.npz.declaration.toml", "classes = 3\n");
  EXPECT_EQ(declared_at(file).classes, 3);
}

TEST(Declaration, MayBeMadeUpOfTwoThatAgree) {
  const Declaration both =
      joined({.classes = 2}, "a", {.classes = 2, .class_names = {"x", "y"}, .channels = 1}, "b");
  EXPECT_EQ(both, (Declaration{.classes = 2, .class_names = {"x", "y"}, .channels = 1}));
  EXPECT_TRUE(says(
      usage_refusal([] { (void)joined({.classes = 3}, "the recipe", {.classes = 2}, "x.toml"); }),
      {"data.classes of the recipe must be 2, as in x.toml, but is 3"}));
  EXPECT_TRUE(says(usage_refusal([] {
                     (void)joined({.classes = 1, .class_names = {"a"}}, "one",
                                  {.classes = 1, .class_names = {"b"}}, "other");
                   }),
                   {"class_names", "one", "other"}));
}

TEST(ReadPrivate, NamesWhatIsNotDeclared) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "x.npz", float_npz({0, 1, 1, 0}, {0, 1}));
  EXPECT_EQ(usage_refusal([&] { (void)read_private(path.string()); }),
            fmt::format("data.classes must be declared in the recipe or in {0}.declaration.toml "
                        "('obol data declare {0}' writes one), but is missing",
                        path.string()));
  EXPECT_TRUE(
      says(usage_refusal([&] { (void)read_private(path.string(), {.declared = {.classes = 2}}); }),
           {"data.range must be declared"}));
  put(folder.path(), "x.npz.declaration.toml", "classes = 2\nrange = '0,1'\n");
  EXPECT_EQ(read_private(path.string()).facts().num_classes, 2);
  EXPECT_TRUE(
      says(usage_refusal([&] { (void)read_private(path.string(), {.declared = {.classes = 3}}); }),
           {"data.classes of the recipe must be 2", "x.npz"}));
}

TEST(ReadPrivate, GivesTheOthersTheSameWhateverOneRecordIs) {
  const TemporaryFolder folder;
  const ReadOptions options{
      .declared = {.range = ValueRange{}, .classes = 3, .outside = Outside::kMap}};
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto others = [&](float pixel, std::int32_t label) {
    const Path path = put(folder.path(), "x.npz", float_npz({0, 1, 1, 0, pixel, 1}, {0, 1, label}));
    const Dataset data = opened(read_private(path.string(), options));
    EXPECT_EQ(data.num_classes(), 3);
    const std::vector<float>& pixels = floats_of(data);
    return std::vector<float>(pixels.begin(), pixels.begin() + 4);
  };
  for (const float pixel : {0.0F, 2.0F, 255.0F, -1.0F, kNan})
    for (const std::int32_t label : {0, 2, 9, -5})
      EXPECT_EQ(others(pixel, label), (std::vector<float>{0, 1, 1, 0})) << pixel << ' ' << label;
}

TEST(ReadPrivate, TellsNothingOfTheRecordThatIsNotAsDeclared) {
  const TemporaryFolder folder;
  const ReadOptions options{.declared = {.range = ValueRange{}, .classes = 2}};
  const auto said = [&](const std::vector<std::int32_t>& labels) {
    const Path path = put(folder.path(), "x.npz", float_npz({0, 1, 1, 0, 0, 0}, labels));
    return refusal([&] { (void)read_private(path.string(), options); });
  };
  const std::string expected = said({0, 1, 2});
  EXPECT_TRUE(says(expected, {"x.npz", "as declared", "2 classes"}));
  EXPECT_EQ(said({7, 1, 1}), expected);
  EXPECT_EQ(said({-1, 65536, 1}), expected);
}

TEST(ReadPrivate, LeavesOutTheLabelsOfWhatIsDeclaredUnlabelled) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "x.npz", float_npz({0, 1}, {9}));
  const Dataset data =
      opened(read_private(path.string(), {.declared = {.range = ValueRange{}, .classes = 0}}));
  EXPECT_TRUE(data.labels.empty());
  EXPECT_FALSE(data.is_labelled());
}

TEST(ReadPrivate, RefusesAFileWithoutTheLabelsOrOfAnotherShapeThanDeclared) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "x.npy", npy("|u1", "(2, 1, 2)", "abcd"));
  EXPECT_EQ(read_private(path.string(), {.declared = {.classes = 0}}).facts().declared_size, 2);
  EXPECT_TRUE(
      says(refusal([&] { (void)read_private(path.string(), {.declared = {.classes = 2}}); }),
           {"x.npy", "with labels", "2 classes"}));
  const ReadOptions wide{.declared = {.classes = 0, .size = ImageSize{.width = 3, .height = 1}}};
  EXPECT_TRUE(says(refusal([&] { (void)read_private(path.string(), wide); }), {"3x1", "2x1"}));
  const ReadOptions colour{.declared = {.classes = 0, .channels = 3}};
  EXPECT_TRUE(says(refusal([&] { (void)read_private(path.string(), colour); }), {"channels"}));
}

TEST(Private, OfADataSetMadeByHandHasSoundRecords) {
  const Private<Dataset> data(Dataset{
      .shape = kTiny,
      .pixels = std::vector<float>{1, 0.5F, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1},
      .labels = {1, 5, 0},
      .class_names = {"a", "b"},
      .declared_size = 3});
  EXPECT_EQ(floats_of(opened(data)), (std::vector<float>{1, 0.5F, 0, 0, 1, 1}));
  EXPECT_EQ(opened(data).labels, (std::vector<std::int32_t>{1, 1, 0}));
}

TEST(Propose, LooksUpWhatIsNotDeclared) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "x.npz", float_npz({0, 1, 1, 0}, {0, 2}));
  const Proposal proposal = propose(path.string());
  EXPECT_EQ(proposal.looked_up, (Names{"range", "classes"}));
  EXPECT_EQ(proposal.declaration, (Declaration{.range = ValueRange{},
                                               .classes = 3,
                                               .channels = 1,
                                               .size = ImageSize{.width = 2, .height = 1}}));
  const Proposal given = propose(
      path.string(), {.declared = {.range = ValueRange{.low = -1, .high = 1}, .classes = 5}});
  EXPECT_TRUE(given.looked_up.empty());
  EXPECT_EQ(given.declaration.classes, 5);
}

TEST(Propose, TakesARangeThatHoldsTheNumbers) {
  const TemporaryFolder folder;
  const auto range = [&](const std::vector<float>& values) {
    const Path path = put(folder.path(), "x.npz", float_npz(values, {0}));
    return *propose(path.string()).declaration.range;
  };
  EXPECT_EQ(range({0, 0.5}), (ValueRange{.low = 0, .high = 1}));
  EXPECT_EQ(range({0, 7}), (ValueRange{.low = 0, .high = 255}));
  EXPECT_EQ(range({-0.5, 0.5}), (ValueRange{.low = -1, .high = 1}));
  EXPECT_EQ(range({-4, 1000}), (ValueRange{.low = -4, .high = 1000}));
  EXPECT_EQ(range({-4, -4}), (ValueRange{.low = 0, .high = 1}));
  EXPECT_EQ(range({std::numeric_limits<float>::quiet_NaN(), 9}),
            (ValueRange{.low = 0, .high = 255}));
}

#if OBOL_HAS_PNG
TEST(Propose, NamesTheClassesAndTheSizeOfPictures) {
  const TemporaryFolder folder;
  Dataset data = counting_bytes(4, {.channels = 3, .height = 2, .width = 5}, 2);
  data.class_names = {"cat", "dog"};
  write(data, folder.path().string() + "/photos", Format::kPng);
  const Proposal proposal = propose(folder.path().string() + "/photos");
  EXPECT_EQ(proposal.looked_up, (Names{"classes", "channels", "size"}));
  EXPECT_EQ(proposal.declaration, (Declaration{.classes = 2,
                                               .class_names = {"cat", "dog"},
                                               .channels = 3,
                                               .size = ImageSize{.width = 5, .height = 2}}));
}
#endif

}  // namespace
}  // namespace obol::data
