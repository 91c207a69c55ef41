#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/record_stream.h"
#include "obol/data/testing.h"

// The folders of these tests are full of pictures.
#if OBOL_HAS_PNG && OBOL_HAS_JPEG

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::jpeg;
using testing::plain_picture;
using testing::png;
using testing::put;
using testing::refusal;
using testing::says;
using testing::usage_refusal;

using FolderLabels = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

constexpr ImageShape kGrey{.channels = 1, .height = 2, .width = 2};
constexpr ImageShape kColour{.channels = 3, .height = 2, .width = 2};

class WithFolder {
 public:
  explicit WithFolder(const Path& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WithFolder() { std::filesystem::current_path(before_); }
  WithFolder(const WithFolder&) = delete;
  WithFolder& operator=(const WithFolder&) = delete;

 private:
  Path before_;
};

std::string grey_png(std::uint8_t value, std::int64_t height = 2, std::int64_t width = 2) {
  return png(plain_picture({.channels = 1, .height = height, .width = width}, value));
}

TEST(ImageFolder, HasAClassPerSubFolderInTheOrderOfNames) {
  const TemporaryFolder folder;
  put(folder.path(), "zebra/a.png", grey_png(30));
  put(folder.path(), "ant/b.png", grey_png(20));
  put(folder.path(), "ant/a.png", grey_png(10));
  put(folder.path(), "notes.txt", "not a picture");
  const Dataset data = read(folder.path().string());
  EXPECT_EQ(data.class_names, (Names{"ant", "zebra"}));
  EXPECT_EQ(data.labels, (FolderLabels{0, 0, 1}));
  EXPECT_EQ(data.shape, kGrey);
  EXPECT_EQ(bytes_of(data),
            (std::vector<std::uint8_t>{10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30, 30}));
  EXPECT_EQ(data.declared_size, 3);
}

TEST(ImageFolder, WithoutSubFoldersIsUnlabelled) {
  const TemporaryFolder folder;
  put(folder.path(), "b.PNG", grey_png(20));
  put(folder.path(), "a.png", grey_png(10));
  const Dataset data = read(folder.path().string());
  EXPECT_FALSE(data.is_labelled());
  EXPECT_TRUE(data.class_names.empty());
  EXPECT_EQ(bytes_of(data).front(), 10);
  EXPECT_EQ(data.count(), 2);
}

TEST(ImageFolder, IsRefusedWithPicturesBesideSubFolders) {
  const TemporaryFolder folder;
  put(folder.path(), "a.png", grey_png(10));
  put(folder.path(), "cat/a.png", grey_png(10));
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string()); }),
                   {"flat or one sub-folder per class", folder.path().string()}));
}

TEST(ImageFolder, IsRefusedWithoutPictures) {
  const TemporaryFolder folder;
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string()); }), {"PNG or JPEG"}));
  put(folder.path(), "cat/notes.txt", "x");
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string()); }), {"PNG or JPEG"}));
}

TEST(ImageFolder, KeepsAClassWithoutPictures) {
  const TemporaryFolder folder;
  put(folder.path(), "b/a.png", grey_png(10));
  std::filesystem::create_directory(folder.path() / "a");
  EXPECT_EQ(read(folder.path().string()).class_names, (Names{"a", "b"}));
  EXPECT_EQ(read(folder.path().string()).labels, FolderLabels{1});
}

TEST(ImageFolder, PassesOverHiddenFilesAndFolders) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10));
  put(folder.path(), "cat/.b.png", "not even PNG");
  put(folder.path(), ".thumbnails/a.png", grey_png(10));
  const Dataset data = read(folder.path().string());
  EXPECT_EQ(data.count(), 1);
  EXPECT_EQ(data.class_names, Names{"cat"});
}

TEST(ImageFolder, IsRefusedWithMixedSizesUnlessResized) {
  const TemporaryFolder folder;
  put(folder.path(), "a.png", grey_png(10));
  put(folder.path(), "b.png", grey_png(20, 4, 6));
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string()); }),
                   {"2x2", "4x6", "--resize", (folder.path() / "b.png").string()}));
  const Dataset data = read(folder.path().string(), {.resize = ImageSize{.width = 3, .height = 2}});
  EXPECT_EQ(data.shape, (ImageShape{.channels = 1, .height = 2, .width = 3}));
  EXPECT_EQ(bytes_of(data),
            (std::vector<std::uint8_t>{10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20}));
}

TEST(ImageFolder, CropsBeforeItResizes) {
  const TemporaryFolder folder;
  // White sides that the square leaves out.
  put(folder.path(), "a.png",
      png({{.channels = 1, .height = 2, .width = 4}, {255, 8, 8, 255, 255, 8, 8, 255}}));
  const Dataset cropped = read(folder.path().string(), {.crop = 2});
  EXPECT_EQ(bytes_of(cropped), (std::vector<std::uint8_t>{8, 8, 8, 8}));
  const Dataset small =
      read(folder.path().string(), {.resize = ImageSize{.width = 1, .height = 1}, .crop = 2});
  EXPECT_EQ(bytes_of(small), std::vector<std::uint8_t>{8});
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string(), {.crop = 3}); }), {"crop"}));
}

TEST(ImageFolder, SpreadsGreyOverTheChannelsOfColour) {
  const TemporaryFolder folder;
  put(folder.path(), "a.png", png(plain_picture(kColour, 10)));
  put(folder.path(), "b.png", grey_png(20));
  const Dataset data = read(folder.path().string());
  EXPECT_EQ(data.shape, kColour);
  std::vector<std::uint8_t> expected(12, 10);
  expected.resize(24, 20);
  EXPECT_EQ(bytes_of(data), expected);
}

TEST(ImageFolder, ReadsJpegAmongPng) {
  const TemporaryFolder folder;
  put(folder.path(), "x/a.jpeg", jpeg(plain_picture(kGrey, 100), 100));
  put(folder.path(), "x/b.JPG", jpeg(plain_picture(kGrey, 100), 100));
  put(folder.path(), "x/c.png", grey_png(100));
  const Dataset data = read(folder.path().string());
  ASSERT_EQ(data.count(), 3);
  for (const std::uint8_t pixel : bytes_of(data)) EXPECT_NEAR(pixel, 100, 1);
}

TEST(ImageFolder, ReadsTheSplitThatIsAskedFor) {
  const TemporaryFolder folder;
  put(folder.path(), "train/a/1.png", grey_png(10));
  put(folder.path(), "train/b/1.png", grey_png(10));
  put(folder.path(), "test/a/1.png", grey_png(20));
  const std::string path = folder.path().string();
  EXPECT_EQ(read(path).class_names, (Names{"a", "b"}));
  EXPECT_EQ(bytes_of(read(path, {.split = Split::kTest})).front(), 20);
  EXPECT_TRUE(says(refusal([&] { (void)read(path, {.split = Split::kValidation}); }),
                   {"validation/", path}));
}

TEST(ImageFolder, WithoutSplitsHasNoTestData) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10));
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string(), {.split = Split::kTest}); }),
                   {"test split", folder.path().string()}));
}

TEST(ImageFolder, NamesTheDamagedPicture) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10));
  put(folder.path(), "cat/b.png", grey_png(10).substr(0, 40));
  EXPECT_TRUE(says(refusal([&] { (void)read(folder.path().string()); }), {"cat/b.png"}));
}

TEST(ImageFolder, IsRefusedBeyondTheLimitOfAllPicturesTogether) {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) put(folder.path(), std::to_string(i) + ".png", grey_png(10));
  EXPECT_TRUE(
      says(refusal([&] { (void)read(folder.path().string(), {.limits = {.max_bytes = 159}}); }),
           {"159 bytes", "160"}));
  EXPECT_EQ(read(folder.path().string(), {.limits = {.max_bytes = 160}}).count(), 40);
}

// Grey pictures of two classes, declared so.
const ReadOptions kCatsAndDogs{.declared = {.classes = 2,
                                            .class_names = {"dog", "cat"},
                                            .channels = 1,
                                            .size = ImageSize{.width = 2, .height = 2}},
                               .reading = Reading::kPrivate};

ReadOptions mapped(ReadOptions options) {
  options.declared.outside = Outside::kMap;
  return options;
}

TEST(ImageFolder, HasTheDeclaredClassesInTheirOrder) {
  const TemporaryFolder folder;
  put(folder.path(), "declaration.toml", "channels = 1\n");
  put(folder.path(), "cat/a.png", grey_png(10));
  const Dataset data = read(folder.path().string(), kCatsAndDogs);
  EXPECT_EQ(data.class_names, (Names{"dog", "cat"}));
  EXPECT_EQ(data.labels, FolderLabels{1});
  std::filesystem::create_directory(folder.path() / "emu");  // without pictures, no record
  EXPECT_EQ(read(folder.path().string(), kCatsAndDogs).class_names, data.class_names);
  EXPECT_EQ(testing::opened(stream(folder.path().string(), kCatsAndDogs)->labels()).labels,
            FolderLabels{1});
}

TEST(ImageFolder, MustBeDeclaredToBePrivate) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10));
  const auto lacks = [&](auto remove) {
    ReadOptions options = kCatsAndDogs;
    remove(options.declared);
    return usage_refusal([&] { (void)read(folder.path().string(), options); });
  };
  EXPECT_TRUE(says(lacks([](Declaration& d) { d.classes.reset(); }),
                   {"data.classes must be declared", "declaration.toml"}));
  EXPECT_TRUE(says(lacks([](Declaration& d) { d.channels.reset(); }), {"data.channels"}));
  EXPECT_TRUE(says(lacks([](Declaration& d) { d.size.reset(); }), {"data.size"}));
}

TEST(ImageFolder, TellsNothingOfThePictureThatIsNotAsDeclared) {
  std::string expected;
  for (const auto& [name, content] : std::vector<std::pair<std::string, std::string>>{
           {"cat/0.png", grey_png(10, 3, 2)},
           {"cat/z.png", grey_png(10, 9, 9)},
           {"dog/a.png", png(plain_picture(kColour, 10))},
           {"dog/b.png", "not a picture"},
           {"emu/a.png", grey_png(10)},
           {"loose.png", grey_png(10)}}) {
    const TemporaryFolder parent;
    const WithFolder inside(parent.path());
    put("photos", "cat/a.png", grey_png(10));
    put("photos", "dog/c.png", grey_png(10));
    put("photos", name, content);
    const std::string said = refusal([] { (void)read("photos", kCatsAndDogs); });
    if (expected.empty()) expected = said;
    EXPECT_EQ(said, expected) << name;
  }
  EXPECT_TRUE(says(expected, {"photos", "as declared", "2 classes, 2x2, 1 channel"}));
}

TEST(ImageFolder, MapsWhatIsNotAsDeclared) {
  const TemporaryFolder folder;
  put(folder.path(), "dog/a.png", "not a picture");
  put(folder.path(), "dog/b.png", grey_png(20, 6, 5));
  put(folder.path(), "dog/c.png", png(plain_picture(kColour, 30)));
  put(folder.path(), "emu/a.png", grey_png(40));
  put(folder.path(), "loose.png", grey_png(50));
  const Dataset data = read(folder.path().string(), mapped(kCatsAndDogs));
  EXPECT_EQ(data.labels, (FolderLabels{0, 0, 0, 1, 1}));
  EXPECT_EQ(bytes_of(data), (std::vector<std::uint8_t>{0,  0,  0,  0,  20, 20, 20, 20, 30, 30,
                                                       30, 30, 40, 40, 40, 40, 50, 50, 50, 50}));
}

TEST(ImageFolder, IsGreyOrInColourWhateverTheFirstPictureIs) {
  for (const std::string name : {"cat/0.png", "cat/z.png"}) {
    const TemporaryFolder folder;
    put(folder.path(), "cat/a.png", grey_png(10));
    put(folder.path(), name, png(plain_picture(kColour, 30)));
    ReadOptions colour = kCatsAndDogs;
    colour.declared.channels = 3;
    EXPECT_EQ(read(folder.path().string(), colour).shape, kColour);
    EXPECT_EQ(read(folder.path().string(), mapped(kCatsAndDogs)).shape, kGrey);
  }
}

TEST(ImageFolder, DeclaredUnlabelledIsSoWhereverThePicturesLie) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10));
  put(folder.path(), "b.png", grey_png(20));
  ReadOptions options = kCatsAndDogs;
  options.declared.classes = 0;
  options.declared.class_names.clear();
  const Dataset data = read(folder.path().string(), options);
  EXPECT_FALSE(data.is_labelled());
  EXPECT_EQ(data.count(), 2);
}

TEST(ImageFolder, IsNotRefusedForASizeThatTheResizingMakes) {
  const TemporaryFolder folder;
  put(folder.path(), "cat/a.png", grey_png(10, 3, 5));
  put(folder.path(), "cat/b.png", grey_png(20, 7, 2));
  ReadOptions options = kCatsAndDogs;
  options.declared.size.reset();
  options.resize = ImageSize{.width = 2, .height = 2};
  EXPECT_EQ(read(folder.path().string(), options).shape, kGrey);
}

// Faces of three sizes of grey, one in each split and two in the first.
class CelebA : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 4; ++i)
      put(path(), "img_align_celeba/00000" + std::to_string(i) + ".jpg",
          jpeg(plain_picture({.channels = 3, .height = 44, .width = 36},
                             static_cast<std::uint8_t>(i * 20)),
               100));
    put(path(), "list_eval_partition.txt",
        "000001.jpg 0\n000002.jpg 2\n000003.jpg 1\n000004.jpg 0\n");
    put(path(), "list_attr_celeba.txt",
        "4\nBald Male Smiling \n000001.jpg -1  1 -1\n000002.jpg  1  1 -1\n"
        "000003.jpg -1 -1 -1\n000004.jpg -1 -1  1\n");
  }
  [[nodiscard]] const Path& path() const { return folder_.path(); }
  [[nodiscard]] Dataset read_it(const ReadOptions& options = {}) const {
    return read(path().string(), options);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CelebA, IsCroppedAndResizedToThePapersSizeUnlessToldOtherwise) {
  EXPECT_EQ(read_it().shape, (ImageShape{.channels = 3, .height = 32, .width = 32}));
  const ReadOptions options{.resize = ImageSize{.width = 8, .height = 4}, .crop = 20};
  EXPECT_EQ(read_it(options).shape, (ImageShape{.channels = 3, .height = 4, .width = 8}));
  EXPECT_TRUE(says(refusal([&] { (void)read_it({.crop = 37}); }), {"between 1 and 36"}));
}

TEST_F(CelebA, HasTheOfficialSplits) {
  const Dataset train = read_it();
  EXPECT_EQ(train.count(), 2);
  EXPECT_NEAR(bytes_of(train).front(), 20, 1);
  EXPECT_NEAR(bytes_of(train).back(), 80, 1);
  EXPECT_NEAR(bytes_of(read_it({.split = Split::kValidation})).front(), 60, 1);
  EXPECT_NEAR(bytes_of(read_it({.split = Split::kTest})).front(), 40, 1);
}

TEST_F(CelebA, TakesAnAttributeAsTheLabel) {
  const Dataset data = read_it({.attribute = "Male"});
  EXPECT_EQ(data.class_names, (Names{"not Male", "Male"}));
  EXPECT_EQ(data.labels, (FolderLabels{1, 0}));
  EXPECT_EQ(read_it({.attribute = "Smiling"}).labels, (FolderLabels{0, 1}));
  EXPECT_FALSE(read_it().is_labelled());
}

TEST_F(CelebA, IsDeclaredByItsAttributeAndSize) {
  ReadOptions options{.attribute = "Male", .reading = Reading::kPrivate};
  EXPECT_TRUE(says(usage_refusal([&] { (void)read_it(options); }), {"data.size"}));
  options.declared = {.channels = 3, .size = ImageSize{.width = 36, .height = 44}};
  EXPECT_EQ(read_it(options).class_names, (Names{"not Male", "Male"}));
  options.declared.classes = 3;
  EXPECT_TRUE(says(usage_refusal([&] { (void)read_it(options); }),
                   {"data.classes", "2", "data.attribute", "3"}));
}

TEST_F(CelebA, TellsNothingOfThePictureThatIsNotAsDeclared) {
  ReadOptions options{.declared = {.channels = 3, .size = ImageSize{.width = 36, .height = 44}},
                      .attribute = "Male",
                      .reading = Reading::kPrivate};
  const auto said = [&] { return refusal([&] { (void)read_it(options); }); };
  put(path(), "list_attr_celeba.txt", "1\nMale\n000001.jpg -1\n");
  const std::string expected = said();
  EXPECT_TRUE(says(expected, {path().string(), "as declared"}));
  put(path(), "list_attr_celeba.txt", "1\nMale\n000001.jpg -1\n000004.jpg 7\n");
  EXPECT_EQ(said(), expected);
  put(path(), "list_eval_partition.txt", "000001.jpg 0\n");
  EXPECT_EQ(said(), expected);
  options.declared.outside = Outside::kMap;
  EXPECT_EQ(read_it(options).labels, (FolderLabels{0, 1, 1, 1}));
}

TEST_F(CelebA, SuggestsTheAttributeThatWasMeant) {
  EXPECT_TRUE(says(usage_refusal([&] { (void)read_it({.attribute = "Smilling"}); }),
                   {"Smilling", "Did you mean Smiling?", "list_attr_celeba.txt"}));
}

TEST_F(CelebA, NamesTheLineThatIsMalformed) {
  put(path(), "list_attr_celeba.txt", "2\nBald Male\n000001.jpg -1 1\n000002.jpg 1\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_it({.attribute = "Male"}); }),
                   {"list_attr_celeba.txt:4", "2 values"}));
  put(path(), "list_attr_celeba.txt", "2\nBald Male\n000001.jpg -1 2\n");
  EXPECT_TRUE(
      says(refusal([&] { (void)read_it({.attribute = "Male"}); }), {"list_attr_celeba.txt:3"}));
  put(path(), "list_attr_celeba.txt", "2\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_it({.attribute = "Male"}); }), {"2 lines"}));
  for (const std::string line : {"000002.jpg 3", "000002.jpg", "000002.jpg 0 0"}) {
    put(path(), "list_eval_partition.txt", "000001.jpg 0\n" + line + "\n");
    EXPECT_TRUE(says(refusal([&] { (void)read_it(); }), {"list_eval_partition.txt:2", line}));
  }
}

TEST_F(CelebA, IsRefusedWhereAPictureIsNotListed) {
  put(path(), "list_attr_celeba.txt", "1\nMale\n000001.jpg -1\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_it({.attribute = "Male"}); }),
                   {"000004.jpg", "list_attr_celeba.txt"}));
  put(path(), "list_eval_partition.txt", "000001.jpg 0\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_it(); }), {"000002.jpg", "list_eval_partition.txt"}));
}

TEST_F(CelebA, IsRefusedWithoutItsListsOrWithAnEmptySplit) {
  put(path(), "list_eval_partition.txt",
      "000001.jpg 0\n000002.jpg 0\n000003.jpg 0\n000004.jpg 0\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_it({.split = Split::kTest}); }), {"split", "test"}));
  std::filesystem::remove(path() / "list_eval_partition.txt");
  EXPECT_TRUE(says(refusal([&] { (void)read_it(); }), {"list_eval_partition.txt"}));
}

TEST_F(CelebA, ReadsListsWithWindowsLineEnds) {
  put(path(), "list_eval_partition.txt",
      "000001.jpg 0\r\n000002.jpg 2\r\n000003.jpg 1\r\n000004.jpg 0\r\n");
  EXPECT_EQ(read_it().count(), 2);
}

}  // namespace
}  // namespace obol::data

#endif
