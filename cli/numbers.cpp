#include "cli/numbers.h"

#include <cmath>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::cli {

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& help) {
  return app.add_option_function<std::string>(
      name,
      [&value, name](const std::string& text) {
        value = parse_number(text);
        if (!value) throw InvalidArgument(violation(name, "a number, as 0.01 or 1/1200", text));
      },
      help);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& help) {
  return app.add_option_function<std::string>(
      name,
      [&value, name](const std::string& text) {
        constexpr double kExact = 9007199254740992.0;  // 2^53
        const std::optional<double> number = parse_number(text);
        if (!number || *number != std::floor(*number) || std::abs(*number) > kExact)
          throw InvalidArgument(violation(name, "a whole number", text));
        value = static_cast<std::int64_t>(*number);
      },
      help);
}

void add_device_options(CLI::App& app, std::string& device, std::optional<std::int64_t>& threads) {
  app.add_option("--device", device, "cpu (default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_whole(app, "--threads", threads, "of the processor (all)");
}

template <class T>
T needed(const std::optional<T>& value, const std::string& name) {
  if (!value) throw InvalidArgument(violation(name, "given", "missing"));
  return *value;
}

template double needed(const std::optional<double>&, const std::string&);
template std::int64_t needed(const std::optional<std::int64_t>&, const std::string&);

}  // namespace obol::cli
