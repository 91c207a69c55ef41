// compiles
// What may be done with a private value; the snippets beside this one differ by what may not.
#include <string>

#include "obol/data/private.h"

int length_inside(const obol::Private<std::string>& secret, obol::DisclosureLog& log) {
  const obol::Private<std::size_t> length =
      secret.map([](const auto& text) { return text.size(); });
  secret.use([](const std::string& text) { (void)text; });
  return static_cast<int>(length.declassify("a test", log).value);
}

std::size_t with_a_key(const obol::Private<std::string>& secret, const obol::barrier::Key& key) {
  return secret.release(key).size();
}

class Own : public obol::barrier::Mechanism {};
Own own;
