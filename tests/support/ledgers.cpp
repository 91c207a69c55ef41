// Linked into every test program: what its runs cost is kept in a folder of its own, and not with
// the user's.
#include <cstdlib>

#include "obol/base/file.h"

namespace obol {
namespace {

class OwnLedgers {
 public:
  OwnLedgers() { setenv("OBOL_LEDGERS", (folder_.path() / "ledgers").c_str(), 1); }

 private:
  TemporaryFolder folder_;
};

const OwnLedgers kOwnLedgers;

}  // namespace
}  // namespace obol
