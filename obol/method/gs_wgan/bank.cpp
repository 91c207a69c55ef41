#include "obol/method/gs_wgan/bank.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "obol/base/error.h"

namespace obol::method::gs_wgan {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

// Not synchronised: what a power cut takes is trained again.
void write_aside(const Path& path, std::span<const std::byte> bytes) {
  const Path aside = path.string() + ".partial";
  const int file = open_file(aside, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) fail_file("write", aside, errno);
  try {
    write_all(file, bytes, aside);
  } catch (...) {
    close(file);
    throw;
  }
  if (close(file) != 0) fail_file("write", aside, errno);
  if (std::rename(aside.c_str(), path.c_str()) != 0) fail_file("write", path, errno);
}

}  // namespace

CriticBank::CriticBank(BankOptions options) : options_(std::move(options)) {
  if (options_.folder.has_parent_path()) fs::create_directories(options_.folder.parent_path());
  make_owners_folder(options_.folder);
}

Path CriticBank::file_of(std::int64_t number) const {
  return options_.folder / fmt::format("{:06}.critic", number);
}

bool CriticBank::has(std::int64_t number) const {
  std::error_code error;
  const auto bytes = fs::file_size(file_of(number), error);
  return in_memory_.contains(number) ||
         (!error && bytes == static_cast<std::uintmax_t>(options_.numbers) * sizeof(float));
}

void CriticBank::write(std::int64_t number, const Private<CriticState>& state) const {
  state.use([&](const CriticState& one) {
    const Tensor numbers = one.numbers.cpu().contiguous();
    write_aside(file_of(number),
                std::as_bytes(std::span(numbers.data_ptr<float>(),
                                        static_cast<std::size_t>(numbers.numel()))));
  });
}

Private<CriticState> CriticBank::read(std::int64_t number) const {
  const FileBytes file(file_of(number));
  Tensor numbers = torch::empty({options_.numbers});
  file.read_exactly(0,
                    std::as_writable_bytes(std::span(numbers.data_ptr<float>(),
                                                     static_cast<std::size_t>(numbers.numel()))),
                    "a critic");
  return Private<CriticState>(CriticState{numbers.to(options_.device)});
}

void CriticBank::keep(std::int64_t number, const Private<CriticState>& state) {
  in_memory_.insert_or_assign(number, state);
  by_use_.remove(number);
  by_use_.push_front(number);
  const auto bytes = options_.numbers * static_cast<std::int64_t>(sizeof(float));
  while (by_use_.size() > 1 &&
         static_cast<std::int64_t>(by_use_.size()) * bytes > options_.most_bytes) {
    const std::int64_t last = by_use_.back();
    const auto found = in_memory_.find(last);
    if (taken_.erase(last) > 0) write(last, found->second);
    in_memory_.erase(found);
    by_use_.pop_back();
  }
}

void CriticBank::put(std::int64_t number, const Private<CriticState>& state) {
  write(number, state);
  taken_.erase(number);
  keep(number, state);
}

Private<CriticState> CriticBank::take(std::int64_t number) {
  const auto found = in_memory_.find(number);
  const Private<CriticState> state = found != in_memory_.end() ? found->second : read(number);
  taken_.insert(number);
  keep(number, state);
  return state;
}

void CriticBank::flush() {
  for (const std::int64_t number : taken_) write(number, in_memory_.at(number));
  taken_.clear();
}

}  // namespace obol::method::gs_wgan
