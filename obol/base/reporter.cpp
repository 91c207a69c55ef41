#include "obol/base/reporter.h"

#include <atomic>

namespace obol {
namespace {

std::atomic<Reporter*> in_use = nullptr;  // null: the console

class Unheard final : public Reporter::Work {
 public:
  void advance(std::int64_t /*count*/, std::string_view /*note*/) override {}
};

}  // namespace

void SilentReporter::log(LogLevel /*level*/, std::string_view /*text*/) {}

std::unique_ptr<Reporter::Work> SilentReporter::begin(std::string /*label*/, std::int64_t /*total*/,
                                                      std::string /*unit*/) {
  return std::make_unique<Unheard>();
}

Reporter& reporter() noexcept {
  Reporter* found = in_use.load();
  return found == nullptr ? console_reporter() : *found;
}

ReporterScope::ReporterScope(Reporter* next) noexcept : before_(in_use.load()) {
  if (next != nullptr) in_use.store(next);
}

ReporterScope::~ReporterScope() { in_use.store(before_); }

}  // namespace obol
