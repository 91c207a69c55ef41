// A file of lines in which a line is on disk when append returns, or nothing may be appended any
// more. One process at a time.
//
//   DurableLog log = DurableLog::create("x.jsonl", first);   // appears with its first line or not
//   log.append(second);                                       // written, fsync has returned
//
// After a write or fsync that failed, nobody knows what is on disk (the kernel may report a lost
// page only once, then call it clean); so every later call throws, and whoever wants to go on must
// open the file anew and see what is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "obol/base/file.h"

namespace obol::privacy {

class DurableLog {
 public:
  // A new file of one line. DataError where the name is taken.
  static DurableLog create(const Path& path, std::string_view first_line);
  // Locks the file first; what is read after this is changed by nobody else. What it holds, and
  // its name, are on disk when this returns: its last writer may have died before.
  static DurableLog open(const Path& path);

  ~DurableLog();
  DurableLog(DurableLog&& other) noexcept;
  DurableLog& operator=(DurableLog&& other) noexcept;

  // `line` without its newline.
  void append(std::string_view line);
  // All or nothing: the file holds `lines` instead, or what it held before.
  void replace(std::string_view lines);

  // Throws where an earlier call failed.
  void require_intact() const;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  DurableLog(const Path& path, int descriptor);
  void lock();
  void require_untouched();
  [[noreturn]] void fail(std::string_view verb, int error);

  Path path_;
  int descriptor_;
  std::uint64_t size_ = 0;
  bool is_broken_ = false;
};

}  // namespace obol::privacy
