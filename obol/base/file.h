// Files that cannot surprise: random-access reading with a name for messages, and writing aside
// so that an interrupted write leaves the old file or none, never half of one.
//
//   AtomicFile out("x.npz");
//   out.write(bytes);
//   out.commit();          // without it, nothing appears
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "obol/base/error.h"

namespace obol {

using Path = std::filesystem::path;

// From now on this process follows no link below `folder`, neither for reading nor for writing nor
// for removing: a run or a release may come from anyone, and a link in it could lead to any file of
// whoever opens it. The folder itself may be reached through links.
void follow_no_links_below(const Path& folder);

// As open(2), with O_CLOEXEC: a descriptor, or -1 and errno. DataError where that would follow a
// link below such a folder. Whoever opens a file that may lie in a run opens it by this.
int open_file(const Path& path, int flags, mode_t mode = 0666);

// DataError: "cannot VERB PATH: " and what the system calls the error with that number.
[[noreturn]] void fail_file(std::string_view verb, const Path& path, int error);

// Writes all of it, whatever cuts a call short, or fails in the name of `path`.
void write_all(int descriptor, std::span<const std::byte> bytes, const Path& path);
inline void write_all(int descriptor, std::string_view text, const Path& path) {
  write_all(descriptor, std::as_bytes(std::span(text)), path);
}

// Puts a file's content on disk.
void synchronise(int descriptor, const Path& path);

// The names in a folder, in order, without "." and ".."; none where it is not there.
std::vector<std::string> list_folder(const Path& folder);

// Removes one file, or a link itself; not being there is no error.
void remove_file(const Path& path);

// Who may read a new file, or enter a new folder.
enum class Access {
  kUsual,  // whom the umask lets
  kOwner,  // from the first moment, nobody but the owner
};

// Makes the folder where it is not there, and shuts it to everybody but its owner.
void make_owners_folder(const Path& folder);

// A file's content where the system keeps it, to be read in place; it outlives the file's name.
class Mapping {
 public:
  explicit Mapping(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// Bytes that can be read anywhere, and the name that messages about them carry.
class Bytes {
 public:
  virtual ~Bytes() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Reads up to out.size() bytes at `offset`; fewer only at the end.
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  // Reads exactly out.size() bytes or throws DataError: "WHAT must have ... bytes at offset ...".
  void read_exactly(std::uint64_t offset, std::span<std::byte> out, std::string_view what) const;

  // The whole, or nothing where this is no file, or is empty, or the system will not.
  [[nodiscard]] virtual std::shared_ptr<const Mapping> map() const { return nullptr; }
};

class FileBytes final : public Bytes {
 public:
  explicit FileBytes(const Path& path);
  ~FileBytes() override;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] std::shared_ptr<const Mapping> map() const override;

 private:
  std::string name_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

class MemoryBytes final : public Bytes {
 public:
  MemoryBytes(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

// The whole of a file that is expected to be small; larger than `limit` is a DataError.
std::vector<std::byte> read_all(const Bytes& bytes, std::uint64_t limit);
std::string read_text(const Path& path, std::uint64_t limit);

// A file written under a temporary name in the same folder, synchronised, then renamed. A link of
// that name is replaced itself, and what it led to stays as it was.
class AtomicFile {
 public:
  explicit AtomicFile(const Path& path, Access access = Access::kUsual);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  // Writes over what was written at `offset` before: a checksum that is known only at the end.
  void rewrite(std::uint64_t offset, std::string_view text);
  void commit();

 private:
  void flush();

  Path path_;
  std::string aside_;  // in the same folder
  int folder_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

void write_file(const Path& path, std::string_view text, Access access = Access::kUsual);

// Puts the names in a folder on disk; an empty path is the working folder.
void synchronise_folder(const Path& folder);

// A new folder filled under a temporary name, then renamed. The final name must not exist, or
// must be an empty folder.
class AtomicFolder {
 public:
  explicit AtomicFolder(const Path& path, Access access = Access::kUsual);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  [[nodiscard]] const Path& inside() const noexcept { return aside_; }
  void commit();

 private:
  Path path_;
  Path aside_;
};

// A folder for passing files, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const Path& path() const noexcept { return path_; }

 private:
  Path path_;
};

}  // namespace obol
