#include "obol/base/file.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/random.h"

namespace obol {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::set<std::string> names_in(const Path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

template <class Action>
std::string data_error_of(const Action& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

std::string random_text(std::size_t size) {
  SeededBits bits(size);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(bits());
  return text;
}

// Gives up root's right to write anywhere, for as long as it lives.
class AsNobody {
 public:
  AsNobody() {
    constexpr uid_t kNobody = 65534;
    if (was_root_ && seteuid(kNobody) != 0) std::abort();
  }
  ~AsNobody() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool was_root_ = geteuid() == 0;
};

// The temporary folder of one test.
class Files : public testing::Test {
 protected:
  [[nodiscard]] Path in(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] const Path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

using FileBytesTest = Files;
using AtomicFileTest = Files;
using AtomicFolderTest = Files;

TEST_F(FileBytesTest, ReadsAnywhere) {
  write_file(in("a"), "0123456789");
  const FileBytes file(in("a"));
  EXPECT_EQ(file.name(), in("a").string());
  EXPECT_EQ(file.size(), 10U);
  std::array<std::byte, 4> out{};
  EXPECT_EQ(file.read_at(3, out), 4U);
  EXPECT_EQ(text_of(out), "3456");
  EXPECT_EQ(file.read_at(0, out), 4U);
  EXPECT_EQ(text_of(out), "0123");
}

TEST_F(FileBytesTest, ReadsLessOnlyAtTheEnd) {
  write_file(in("a"), "0123456789");
  const FileBytes file(in("a"));
  std::array<std::byte, 4> out{};
  EXPECT_EQ(file.read_at(8, out), 2U);
  EXPECT_EQ(text_of(std::span(out).first(2)), "89");
  EXPECT_EQ(file.read_at(10, out), 0U);
  EXPECT_EQ(file.read_at(std::numeric_limits<std::uint64_t>::max(), out), 0U);
}

TEST_F(FileBytesTest, NamesAFileThatIsNotThere) {
  EXPECT_EQ(data_error_of([&] { FileBytes{in("none")}; }),
            "cannot read " + in("none").string() + ": No such file or directory");
}

TEST_F(FileBytesTest, RefusesAFolder) {
  EXPECT_EQ(data_error_of([&] { FileBytes{folder()}; }),
            folder().string() + " must be a regular file, but is something else");
}

TEST_F(FileBytesTest, RefusesAPipeInsteadOfWaitingForAWriter) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_EQ(data_error_of([&] { FileBytes{in("pipe")}; }),
            in("pipe").string() + " must be a regular file, but is something else");
}

TEST_F(FileBytesTest, RefusesADevice) {
  EXPECT_EQ(data_error_of([] { FileBytes{"/dev/zero"}; }),
            "/dev/zero must be a regular file, but is something else");
}

TEST_F(FileBytesTest, NamesAFileThatMayNotBeRead) {
  write_file(in("secret"), "x");
  fs::permissions(in("secret"), fs::perms::none);
  const AsNobody nobody;
  EXPECT_EQ(data_error_of([&] { FileBytes{in("secret")}; }),
            "cannot read " + in("secret").string() + ": Permission denied");
}

TEST_F(FileBytesTest, NoticesThatAFileBecameShorter) {
  write_file(in("a"), "0123456789");
  const FileBytes file(in("a"));
  fs::resize_file(in("a"), 4);
  std::array<std::byte, 10> out{};
  EXPECT_EQ(
      data_error_of([&] { file.read_exactly(0, out, "the header"); }),
      "the header must have 10 bytes at offset 0, but ends after 4 (" + in("a").string() + ")");
}

TEST_F(FileBytesTest, LeavesNoDescriptorOpen) {
  write_file(in("a"), "x");
  const std::size_t before = names_in("/proc/self/fd").size();
  { const FileBytes closed_again(in("a")); }
  data_error_of([&] { FileBytes{folder()}; });
  data_error_of([&] { FileBytes{in("none")}; });
  EXPECT_EQ(names_in("/proc/self/fd").size(), before);
}

TEST(MemoryBytes, ReadLikeAFile) {
  const MemoryBytes memory("somewhere", bytes_of("0123456789"));
  EXPECT_EQ(memory.name(), "somewhere");
  EXPECT_EQ(memory.size(), 10U);
  std::array<std::byte, 4> out{};
  EXPECT_EQ(memory.read_at(3, out), 4U);
  EXPECT_EQ(text_of(out), "3456");
  EXPECT_EQ(memory.read_at(9, out), 1U);
  EXPECT_EQ(out[0], std::byte{'9'});
  EXPECT_EQ(memory.read_at(10, out), 0U);
  EXPECT_EQ(memory.read_at(std::numeric_limits<std::uint64_t>::max(), out), 0U);
}

TEST(ReadExactly, FillsWhatItWasGiven) {
  const MemoryBytes memory("somewhere", bytes_of("0123456789"));
  std::array<std::byte, 4> out{};
  memory.read_exactly(6, out, "the tail");
  EXPECT_EQ(text_of(out), "6789");
  EXPECT_NO_THROW(memory.read_exactly(10, std::span(out).first(0), "nothing"));
}

TEST(ReadExactly, NamesTheOffsetPastTheEnd) {
  const MemoryBytes memory("somewhere", bytes_of("0123456789"));
  std::array<std::byte, 4> out{};
  EXPECT_EQ(data_error_of([&] { memory.read_exactly(7, out, "the tail"); }),
            "the tail must have 4 bytes at offset 7, but ends after 3 (somewhere)");
  EXPECT_EQ(data_error_of([&] { memory.read_exactly(1000, out, "the tail"); }),
            "the tail must have 4 bytes at offset 1000, but ends after 0 (somewhere)");
}

TEST(ReadAll, ReadsUpToTheLimit) {
  const MemoryBytes memory("somewhere", bytes_of("0123456789"));
  EXPECT_EQ(text_of(read_all(memory, 10)), "0123456789");
  EXPECT_EQ(data_error_of([&] { read_all(memory, 9); }),
            "somewhere must be at most 9 bytes long, but is 10");
  EXPECT_TRUE(read_all(MemoryBytes("empty", {}), 0).empty());
}

TEST_F(FileBytesTest, ReadTextKeepsEveryByteAndTheLimit) {
  const std::string text("a\0\r\n\xff", 5);
  write_file(in("a"), text);
  EXPECT_EQ(read_text(in("a"), 5), text);
  EXPECT_EQ(data_error_of([&] { read_text(in("a"), 4); }),
            in("a").string() + " must be at most 4 bytes long, but is 5");
  write_file(in("empty"), "");
  EXPECT_EQ(read_text(in("empty"), 0), "");
}

TEST_F(AtomicFileTest, AppearsWithCommit) {
  AtomicFile file(in("a"));
  file.write("hello, ");
  file.write("world");
  EXPECT_EQ(file.written(), 12U);
  EXPECT_FALSE(fs::exists(in("a")));
  file.commit();
  EXPECT_EQ(read_text(in("a"), kNoLimit), "hello, world");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"a"});
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  {
    AtomicFile file(in("a"));
    file.write(std::string(200'000, 'x'));
  }
  EXPECT_TRUE(names_in(folder()).empty());
}

TEST_F(AtomicFileTest, LeavesTheOldFileWithoutCommit) {
  write_file(in("a"), "old");
  {
    AtomicFile file(in("a"));
    file.write(std::string(200'000, 'x'));
    EXPECT_EQ(read_text(in("a"), kNoLimit), "old");
  }
  EXPECT_EQ(read_text(in("a"), kNoLimit), "old");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"a"});
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenAnExceptionPasses) {
  write_file(in("a"), "old");
  EXPECT_THROW(
      {
        AtomicFile file(in("a"));
        file.write("new");
        throw Error("in between");
      },
      Error);
  EXPECT_EQ(read_text(in("a"), kNoLimit), "old");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"a"});
}

// Who has the old file open must go on to see all of it: it is replaced, not written over.
TEST_F(AtomicFileTest, ReplacesInsteadOfWritingOver) {
  write_file(in("a"), "the old content");
  const FileBytes old(in("a"));
  write_file(in("a"), "new");
  EXPECT_EQ(text_of(read_all(old, kNoLimit)), "the old content");
  EXPECT_EQ(read_text(in("a"), kNoLimit), "new");
}

TEST_F(AtomicFileTest, KeepsTheOrderOfWritesOfEverySize) {
  const std::string text = random_text(1'000'000);
  AtomicFile file(in("a"));
  std::size_t at = 0;
  // Around the size of the buffer, 65,536, and far from it on both sides.
  const std::array<std::size_t, 9> sizes = {1, 65'535, 65'536, 7, 65'537, 0, 200'000, 3, 40'000};
  for (std::size_t i = 0; at < text.size(); ++i) {
    const std::string_view piece = std::string_view(text).substr(at, sizes[i % sizes.size()]);
    file.write(piece);
    at += piece.size();
  }
  EXPECT_EQ(file.written(), text.size());
  file.commit();
  EXPECT_TRUE(read_text(in("a"), kNoLimit) == text);
}

TEST_F(AtomicFileTest, TakesManySmallWrites) {
  const std::string text = random_text(300'000);
  AtomicFile file(in("a"));
  for (const char& c : text) file.write(std::string_view(&c, 1));
  file.commit();
  EXPECT_TRUE(read_text(in("a"), kNoLimit) == text);
}

TEST_F(AtomicFileTest, TakesLargeWrites) {
  const std::string text = random_text(20'000'000);
  write_file(in("a"), text);
  EXPECT_TRUE(read_text(in("a"), kNoLimit) == text);
}

TEST_F(AtomicFileTest, MayBeEmpty) {
  AtomicFile(in("a")).commit();
  EXPECT_EQ(read_text(in("a"), kNoLimit), "");
}

TEST_F(AtomicFileTest, HasThePermissionsOfAnOrdinaryFile) {
  const mode_t mask = umask(027);
  write_file(in("a"), "x");
  umask(mask);
  EXPECT_EQ(fs::status(in("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(AtomicFileTest, LetsTwoWritersOfOneNameBothFinish) {
  AtomicFile first(in("a"));
  AtomicFile second(in("a"));
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_text(in("a"), kNoLimit), "first");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"a"});
}

TEST_F(AtomicFileTest, NamesAPathWhoseFolderIsNotThere) {
  EXPECT_EQ(data_error_of([&] { AtomicFile{in("none") / "a"}; }),
            "cannot write " + (in("none") / "a").string() + ": No such file or directory");
}

TEST_F(AtomicFileTest, NamesAPathBelowAFile) {
  write_file(in("file"), "x");
  EXPECT_EQ(data_error_of([&] { AtomicFile{in("file") / "a"}; }),
            "cannot write " + (in("file") / "a").string() + ": Not a directory");
}

TEST_F(AtomicFileTest, NamesAPathInAFolderThatMayNotBeWritten) {
  fs::permissions(folder(), static_cast<fs::perms>(0555));
  {
    const AsNobody nobody;
    EXPECT_EQ(data_error_of([&] { AtomicFile{in("a")}; }),
              "cannot write " + in("a").string() + ": Permission denied");
  }
  fs::permissions(folder(), static_cast<fs::perms>(0755));
}

// A limit on the size of files stands in for a full disk, in a process of its own.
void write_under_limit(const Path& path, std::size_t size, std::size_t piece) {
  constexpr rlim_t kMost = 100'000;
  const rlimit limit{kMost, kMost};
  std::signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
  const std::string message = data_error_of([&] {
    AtomicFile file(path);
    for (std::size_t at = 0; at < size; at += piece) file.write(std::string(piece, 'x'));
    file.commit();
  });
  _exit(message == "cannot write " + path.string() + ": File too large" ? 42 : 2);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenTheDiskIsFull) {
  write_file(in("a"), "old");
  EXPECT_EXIT(write_under_limit(in("a"), 1'000'000, 1'000'000), testing::ExitedWithCode(42), "");
  EXPECT_EXIT(write_under_limit(in("a"), 1'000'000, 1'000), testing::ExitedWithCode(42), "");
  EXPECT_EXIT(write_under_limit(in("a"), 110'000, 1'000), testing::ExitedWithCode(42), "")
      << "where only the last of it, written by commit, does not fit";
  EXPECT_EQ(read_text(in("a"), kNoLimit), "old");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"a"});
}

TEST_F(AtomicFolderTest, AppearsWithCommit) {
  AtomicFolder made(in("out"));
  write_file(made.inside() / "a", "x");
  EXPECT_FALSE(fs::exists(in("out")));
  made.commit();
  EXPECT_EQ(read_text(in("out") / "a", kNoLimit), "x");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"out"});
}

TEST_F(AtomicFolderTest, LeavesNothingWithoutCommit) {
  {
    const AtomicFolder made(in("out"));
    fs::create_directories(made.inside() / "deep" / "er");
    write_file(made.inside() / "deep" / "a", "x");
  }
  EXPECT_TRUE(names_in(folder()).empty());
}

TEST_F(AtomicFolderTest, ReplacesAnEmptyFolder) {
  fs::create_directory(in("out"));
  AtomicFolder made(in("out"));
  write_file(made.inside() / "a", "x");
  EXPECT_TRUE(fs::is_empty(in("out")));
  made.commit();
  EXPECT_EQ(names_in(in("out")), std::set<std::string>{"a"});
}

TEST_F(AtomicFolderTest, RefusesAFolderThatIsNotEmpty) {
  fs::create_directory(in("out"));
  write_file(in("out") / "precious", "x");
  EXPECT_EQ(data_error_of([&] { AtomicFolder{in("out")}; }),
            in("out").string() + " must be a new or empty folder, but is not empty");
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"out"});
  EXPECT_EQ(names_in(in("out")), std::set<std::string>{"precious"});
}

TEST_F(AtomicFolderTest, DoesNotReplaceAFolderThatWasFilledMeanwhile) {
  {
    AtomicFolder made(in("out"));
    fs::create_directory(in("out"));
    write_file(in("out") / "precious", "x");
    EXPECT_EQ(data_error_of([&] { made.commit(); }),
              "cannot write " + in("out").string() + ": Directory not empty");
  }
  EXPECT_EQ(names_in(folder()), std::set<std::string>{"out"});
  EXPECT_EQ(names_in(in("out")), std::set<std::string>{"precious"});
}

// At once, not after hours of work: an empty file also counts as "empty" to the library.
TEST_F(AtomicFolderTest, RefusesAFileEvenWhereItIsEmpty) {
  for (const char* content : {"", "x"}) {
    write_file(in("out"), content);
    EXPECT_EQ(data_error_of([&] { AtomicFolder{in("out")}; }),
              in("out").string() + " must be a new or empty folder, but is a file");
  }
}

TEST_F(AtomicFileTest, ReplacesALinkAndNotWhatItLeadsTo) {
  write_file(in("real"), "old");
  fs::create_symlink("real", in("link"));
  write_file(in("link"), "new");
  EXPECT_FALSE(fs::is_symlink(in("link")));
  EXPECT_EQ(read_text(in("link"), kNoLimit), "new");
  EXPECT_EQ(read_text(in("real"), kNoLimit), "old");
}

TEST_F(AtomicFileTest, DoesNotReplaceALinkToADevice) {
  fs::create_symlink("/dev/null", in("link"));
  EXPECT_EQ(data_error_of([&] { write_file(in("link"), "x"); }),
            in("link").string() + " must be a regular file or new, but is something else");
  EXPECT_TRUE(fs::is_symlink(in("link")));
}

// What nobody else may read is never there for others, not even before it has its name.
TEST_F(AtomicFileTest, OfTheOwnerIsSoFromTheStart) {
  const auto owners = static_cast<fs::perms>(0600);
  const mode_t mask = umask(0);
  AtomicFile file(in("key"), Access::kOwner);
  umask(mask);
  for (const auto& entry : fs::directory_iterator(folder()))
    EXPECT_EQ(entry.status().permissions(), owners) << entry.path();
  file.commit();
  EXPECT_EQ(fs::status(in("key")).permissions(), owners);
}

class GuardedFolder : public AtomicFileTest {
 protected:
  void SetUp() override {
    AtomicFileTest::SetUp();
    fs::create_directory(in("outside"));
    write_file(in("outside") / "precious", "mine");
    fs::create_directories(run() / "sub");
    write_file(run() / "file", "own");
    fs::create_symlink(in("outside") / "precious", run() / "link");
    fs::create_symlink(in("outside"), run() / "folder");
    follow_no_links_below(run());
  }
  [[nodiscard]] Path run() const { return in("run"); }
  // What a person reads where a link was in the way.
  [[nodiscard]] std::string refusal(const char* name) const {
    return (run() / name).string() +
           " must be a file or folder of its own, but is a link, and none is followed inside a run "
           "or a release";
  }
};

TEST_F(GuardedFolder, IsReadWithoutFollowingLinks) {
  EXPECT_EQ(read_text(run() / "file", kNoLimit), "own");
  EXPECT_EQ(read_text(run() / "." / "file", kNoLimit), "own");
  EXPECT_EQ(data_error_of([&] { static_cast<void>(read_text(run() / "link", kNoLimit)); }),
            refusal("link"));
  EXPECT_EQ(
      data_error_of([&] { static_cast<void>(read_text(run() / "folder/precious", kNoLimit)); }),
      refusal("folder"));
  EXPECT_EQ(data_error_of([&] { static_cast<void>(list_folder(run() / "folder")); }),
            refusal("folder"));
  EXPECT_THROW(static_cast<void>(read_text(run() / "sub/../link", kNoLimit)), DataError);
  EXPECT_EQ(data_error_of([&] { static_cast<void>(read_text(run() / "none", kNoLimit)); }),
            "cannot read " + (run() / "none").string() + ": No such file or directory");
}

TEST_F(GuardedFolder, IsWrittenToWithoutFollowingLinks) {
  write_file(run() / "file", "new");
  write_file(run() / "sub/file", "new");
  EXPECT_EQ(data_error_of([&] { write_file(run() / "link", "x"); }), refusal("link"));
  EXPECT_EQ(data_error_of([&] { write_file(run() / "folder/precious", "x"); }), refusal("folder"));
  EXPECT_EQ(data_error_of([&] { remove_file(run() / "folder/precious"); }), refusal("folder"));
  EXPECT_EQ(data_error_of([&] { make_owners_folder(run() / "folder"); }), refusal("folder"));
  EXPECT_EQ(read_text(in("outside") / "precious", kNoLimit), "mine");
  EXPECT_EQ(names_in(in("outside")), std::set<std::string>{"precious"});
  remove_file(run() / "link");  // itself
  EXPECT_FALSE(fs::is_symlink(run() / "link"));
  EXPECT_TRUE(fs::exists(in("outside") / "precious"));
}

// People keep their runs on other disks.
TEST_F(GuardedFolder, MayItselfBeReachedThroughALink) {
  fs::create_directory_symlink(run(), in("elsewhere"));
  follow_no_links_below(in("elsewhere"));
  EXPECT_EQ(read_text(in("elsewhere") / "file", kNoLimit), "own");
  write_file(in("elsewhere") / "file", "new");
  EXPECT_EQ(read_text(run() / "file", kNoLimit), "new");
  EXPECT_THROW(static_cast<void>(read_text(in("elsewhere") / "link", kNoLimit)), DataError);
}

TEST_F(AtomicFolderTest, OfTheOwnerIsSoFromTheStart) {
  AtomicFolder made(in("out"), Access::kOwner);
  EXPECT_EQ(fs::status(made.inside()).permissions(), fs::perms::owner_all);
}

TEST_F(AtomicFileTest, ReplacesNothingButRegularFiles) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  fs::create_directory(in("folder"));
  for (const char* name : {"pipe", "folder"})
    EXPECT_EQ(data_error_of([&] { write_file(in(name), "x"); }),
              in(name).string() + " must be a regular file or new, but is something else");
  EXPECT_TRUE(fs::is_fifo(in("pipe")));
  EXPECT_EQ(names_in(folder()), (std::set<std::string>{"folder", "pipe"}));
}

TEST_F(AtomicFolderTest, RefusesAFolderWithoutANameOfItsOwn) {
  fs::create_directory(in("out"));
  for (const char* name : {".", ".."})
    EXPECT_EQ(data_error_of([&] { AtomicFolder{in("out") / name}; }),
              (in("out") / name).string() +
                  " must be a new or empty folder given by its name, but is not");
}

TEST_F(AtomicFolderTest, TakesATrailingSlash) {
  AtomicFolder made(in("out/"));
  made.commit();
  EXPECT_TRUE(fs::is_directory(in("out")));
}

TEST_F(AtomicFolderTest, MakesTheFoldersAbove) {
  AtomicFolder made(in("a") / "b" / "out");
  made.commit();
  EXPECT_TRUE(fs::is_directory(in("a") / "b" / "out"));
}

TEST_F(AtomicFolderTest, NamesAPathThatCannotBeWritten) {
  write_file(in("file"), "x");
  EXPECT_EQ(data_error_of([&] { AtomicFolder{in("file") / "out"}; }),
            "cannot write " + (in("file") / "out").string() + ": Not a directory");
}

TEST(TemporaryFolder, IsNewAndPrivateAndRemovedWithAllInIt) {
  Path path;
  {
    const TemporaryFolder folder;
    const TemporaryFolder other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_TRUE(fs::is_empty(path));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directory(path / "deep");
    write_file(path / "deep" / "a", "x");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  const char* old = std::getenv("TMPDIR");
  const std::optional<std::string> kept = old == nullptr ? std::nullopt : std::optional(old);
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_NE(data_error_of([] { TemporaryFolder{}; }), "no error");
  if (kept)
    setenv("TMPDIR", kept->c_str(), 1);
  else
    unsetenv("TMPDIR");
}

}  // namespace
}  // namespace obol
